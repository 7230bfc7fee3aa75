#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <sentencepiece_processor.h>

extern "C" {
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/tokenizers/segmenters/sentencepiece_library.h"
#include "text/tokenizers/segmenters/spm_check.h"
}

/* Exported by the library, but not declared in the public header. */
namespace sentencepiece
{
namespace logging
{
void SetMinLogLevel(int level);
}
} // namespace sentencepiece

struct clf__sentencepiece {
    sentencepiece::SentencePieceProcessor processor;
    std::string path;
    std::vector<bool> user_defined;                   /* per token, in file order */
    std::string normaliser_bytes, denormaliser_bytes; /* storage that the tables below borrow */
    clf__spm_tables tables;
};

namespace
{
const int LOG_ONLY_FATAL = 3;
const size_t MOST_FILE_BYTES = size_t(1) << 28;
const size_t MOST_IN_BUCKET = 64; /* among a million random tokens, about nine share a bucket */
/* Natural text never grows 32-fold: NFKC's longest replacement has 18 letters for a letter of three bytes. */
const int GROWTH = 32, LEAST_FIT = CLF__NORMALISED_BYTES / GROWTH;

/* Runs `body` and converts exceptions to a status, because exceptions must not reach C. */
template <typename Body> clf_status guard(const char *path, Body body) noexcept
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return clf__fail(CLF_OUT_OF_MEMORY, "%s: not enough host memory for SentencePiece", path);
    } catch (const std::exception &error) {
        return clf__fail(CLF_FORMAT, "%s: SentencePiece failed: %s", path, error.what());
    } catch (...) {
        return clf__fail(CLF_FORMAT, "%s: SentencePiece fails", path);
    }
}

/* The library keeps tokens in a hash table like this one. The hash is unseeded, so tokens crafted to fall
 * into one bucket would make loading quadratic. */
struct Buckets {
    std::unordered_set<std::string_view> pieces;
    std::vector<bool> user_defined; /* whether each token is user-defined */
    const char *path;
};

clf_status add_to_bucket(void *user, const clf__spm_piece *piece)
{
    auto buckets = static_cast<Buckets *>(user);
    buckets->user_defined.push_back(piece->is_user_defined != 0);
    auto place = buckets->pieces.insert(std::string_view(piece->text, piece->size)).first;
    if (buckets->pieces.bucket_size(buckets->pieces.bucket(*place)) > MOST_IN_BUCKET) {
        return clf__fail(CLF_FORMAT,
                         "%s: loading takes too long (hash collisions of the tokens); use another model",
                         buckets->path);
    }
    return CLF_OK;
}

/* Lets a checked table own a copy of its bytes. */
void own_table(clf__charsmap *table, std::string *bytes)
{
    size_t units = 4 * table->unit_count;
    if (units > 0) {
        bytes->assign(reinterpret_cast<const char *>(table->units), units + table->texts.size);
        table->units = reinterpret_cast<const uint8_t *>(bytes->data());
        table->texts.bytes = table->units + units;
    }
}
} // namespace

clf_status clf__sentencepiece_load(struct clf__sentencepiece **out, const void *bytes, size_t size,
                                   const char *path)
{
    *out = nullptr;
    clf__spm_tables tables;
    CLF__TRY(clf__spm_check(&tables, static_cast<const uint8_t *>(bytes), size, path));
    clf__sentencepiece *model = nullptr;
    clf_status status = guard(path, [&] {
        Buckets buckets = {{}, {}, path};
        CLF__TRY(clf__spm_pieces(static_cast<const uint8_t *>(bytes), size, add_to_bucket, &buckets));
        sentencepiece::logging::SetMinLogLevel(LOG_ONLY_FATAL);
        model = new clf__sentencepiece;
        model->path = path;
        model->user_defined = buckets.user_defined;
        model->tables = tables;
        own_table(&model->tables.normaliser, &model->normaliser_bytes);
        own_table(&model->tables.denormaliser, &model->denormaliser_bytes);
        auto loaded = model->processor.LoadFromSerializedProto({static_cast<const char *>(bytes), size});
        if (!loaded.ok()) {
            clf__log(CLF_LOG_DEBUG, "%s: %s", path, loaded.ToString().c_str());
            return clf__fail(CLF_FORMAT, "%s: not a SentencePiece model, or damaged; download the file again",
                             path);
        }
        return CLF_OK;
    });
    if (status != CLF_OK) {
        clf__sentencepiece_free(model);
        return status;
    }
    *out = model;
    return CLF_OK;
}

clf_status clf__sentencepiece_read(struct clf__sentencepiece **out, const char *path)
{
    char *bytes = nullptr;
    size_t size = 0;
    *out = nullptr;
    CLF__TRY(clf__file_read(&bytes, &size, path, MOST_FILE_BYTES));
    clf_status status = clf__sentencepiece_load(out, bytes, size, path);
    clf__free(bytes);
    return status;
}

void clf__sentencepiece_free(struct clf__sentencepiece *model)
{
    delete model;
}

clf_status clf__sentencepiece_pieces(const struct clf__sentencepiece *model, clf__token_function *function,
                                     void *user)
{
    return guard(model->path.c_str(), [&] {
        for (int id = 0; id < model->processor.GetPieceSize(); id++) {
            if (!model->processor.IsUnknown(id) && !model->processor.IsControl(id) &&
                !model->processor.IsUnused(id)) {
                const std::string &piece = model->processor.IdToPiece(id);
                CLF__TRY(function(user, piece.data(), piece.size()));
            }
        }
        return CLF_OK;
    });
}

clf_status clf__sentencepiece_add_pieces(const struct clf__sentencepiece *model,
                                         struct clf__token_list *pieces, int skipped)
{
    const sentencepiece::SentencePieceProcessor &processor = model->processor;
    auto user_defined = [&](int id) {
        size_t index = static_cast<size_t>(id);
        return index < model->user_defined.size() && model->user_defined[index];
    };
    return guard(model->path.c_str(), [&] {
        for (int id = skipped; id < processor.GetPieceSize(); id++) {
            const std::string &piece = processor.IdToPiece(id);
            int marks = processor.IsControl(id) ? CLF__TOKEN_FOUND | CLF__TOKEN_SPECIAL
                        : user_defined(id)      ? CLF__TOKEN_FOUND
                                                : 0;
            CLF__TRY(clf__token_list_add(pieces, piece.data(), piece.size(), marks));
        }
        return CLF_OK;
    });
}

clf_status clf__sentencepiece_fit(const struct clf__sentencepiece *model, size_t *fit, const char *text,
                                  size_t size)
{
    size_t room = CLF__NORMALISED_BYTES;
    *fit = clf__charsmap_fit(&model->tables.normaliser, text, size, &room);
    if (*fit < size && *fit < LEAST_FIT) {
        return clf__fail(CLF_TEXT,
                         "%s: the normalizer produces more than %d bytes from %zu; download the file again",
                         model->path.c_str(), static_cast<int>(CLF__NORMALISED_BYTES), size);
    }
    return CLF_OK;
}

clf_status clf__sentencepiece_encode(const struct clf__sentencepiece *model, const char *text, size_t size,
                                     clf__token_function *function, void *user)
{
    return guard(model->path.c_str(), [&] {
        std::vector<std::string> pieces;
        auto encoded = model->processor.Encode({text, size}, &pieces);
        if (!encoded.ok()) {
            return clf__fail(CLF_TEXT, "%s: SentencePiece cannot segment the text: %s", model->path.c_str(),
                             encoded.message());
        }
        for (const std::string &piece : pieces) {
            CLF__TRY(function(user, piece.data(), piece.size()));
        }
        return CLF_OK;
    });
}

namespace
{
/* Limits the output of the denormaliser table before the library applies the table to joined tokens. */
clf_status check_output(const clf__sentencepiece *model, const std::vector<std::string> &pieces)
{
    const std::string space = "\xE2\x96\x81"; /* U+2581 */
    std::string text;
    if (model->tables.denormaliser.unit_count == 0) {
        return CLF_OK;
    }
    for (const std::string &piece : pieces) {
        size_t from = 0;
        for (size_t at; (at = piece.find(space, from)) != std::string::npos; from = at + space.size()) {
            text.append(piece, from, at - from) += ' ';
        }
        text.append(piece, from, std::string::npos);
    }
    size_t room = CLF__NORMALISED_BYTES + GROWTH * text.size();
    if (clf__charsmap_fit(&model->tables.denormaliser, text.data(), text.size(), &room) < text.size()) {
        return clf__fail(CLF_FORMAT,
                         "%s: the output normalizer expands %zu bytes too far; download the file again",
                         model->path.c_str(), text.size());
    }
    return CLF_OK;
}
} // namespace

clf_status clf__sentencepiece_decode(const struct clf__sentencepiece *model, char **text,
                                     const char *const *pieces, int count)
{
    *text = nullptr;
    return guard(model->path.c_str(), [&] {
        std::vector<std::string> list(pieces, pieces + count);
        CLF__TRY(check_output(model, list));
        std::string joined;
        auto decoded = model->processor.Decode(list, &joined);
        if (!decoded.ok()) {
            return clf__fail(CLF_TEXT, "%s: SentencePiece cannot join the tokens: %s", model->path.c_str(),
                             decoded.message());
        }
        /* Only malformed tables in the model can produce invalid UTF-8. */
        if (clf__utf8_valid_prefix(joined.data(), joined.size()) != joined.size()) {
            return clf__fail(CLF_FORMAT, "%s: decoded text is not UTF-8; download the file again",
                             model->path.c_str());
        }
        for (char &byte : joined) {
            byte = byte == '\0' ? ' ' : byte; /* the piece <0x00> */
        }
        return clf__copy_bytes(text, joined.data(), joined.size());
    });
}
