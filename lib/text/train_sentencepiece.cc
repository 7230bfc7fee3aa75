#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sentencepiece_trainer.h>

extern "C" {
#include "base/file.h"
#include "base/utf8.h"
#include "text/train_sentencepiece.h"
}

namespace
{
/* The sums over a text are cut by threads, and rounded: their number is part of the result. */
const char THREADS[] = "4";
const char LOG_ONLY_FATAL[] = "3";

/* The library skips sentences that are longer than it takes, or hold the sign (U+2585) that it marks unknown
 * text with: it does not get them, so that it never ends up without any. */
const char RESERVED[] = "\xE2\x96\x85";

bool is_fit(std::string_view text)
{
    return clf__utf8_valid_prefix(text.data(), text.size()) == text.size() &&
           text.find(RESERVED) == std::string_view::npos;
}

/* The library's way to ask for sentences. */
class Sentences final : public sentencepiece::SentenceIterator
{
  public:
    explicit Sentences(const clf__piece_training *training) : training_(training)
    {
        Next();
    }
    bool done() const override
    {
        return done_;
    }
    void Next() override
    {
        do {
            if (line_.empty() && !next_line()) {
                value_.clear();
                return;
            }
        } while (!cut());
    }
    const std::string &value() const override
    {
        return value_;
    }
    sentencepiece::util::Status status() const override
    {
        return sentencepiece::util::Status();
    }
    int64_t long_words() const
    {
        return long_words_;
    }

  private:
    bool next_line()
    {
        const char *text = nullptr;
        size_t size = 0;
        do {
            done_ = training_->next(training_->user, &text, &size) == 0;
            line_ = done_ ? std::string_view() : std::string_view(text, size);
        } while (!done_ && (size == 0 || !is_fit(line_)));
        return !done_;
    }

    /* Takes what fits off the line, or drops a word that does not. */
    bool cut()
    {
        size_t size = line_.size(), after = size;
        if (size > CLF__SENTENCE_BYTES) {
            size = line_.rfind(' ', CLF__SENTENCE_BYTES);
            bool fits = size != std::string_view::npos;
            after = fits ? size + 1 : std::min(line_.find(' '), line_.size());
            if (!fits) {
                long_words_++;
                line_.remove_prefix(after);
                return false;
            }
        }
        value_.assign(line_.data(), size);
        line_.remove_prefix(after);
        return true;
    }

    const clf__piece_training *training_;
    std::string_view line_; /* what is left of it */
    std::string value_;
    int64_t long_words_ = 0;
    bool done_ = false;
};

typedef std::unordered_map<std::string, std::string> Options;

Options options(int pieces)
{
    return {
        {"vocab_size", std::to_string(pieces)},
        {"model_type", "unigram"},
        {"character_coverage", "1"},
        {"bos_id", "-1"},
        {"eos_id", "-1"},
        {"pad_id", "-1"},
        {"max_sentence_length", std::to_string(CLF__SENTENCE_BYTES)},
        {"num_threads", THREADS},
        {"minloglevel", LOG_ONLY_FATAL},
    };
}

/* One sentence of one letter. */
int give_letter(void *user, const char **text, size_t *size)
{
    int *left = static_cast<int *>(user);
    *text = "a";
    *size = 1;
    return (*left)-- > 0;
}

/* The library ends the process where no sentence has a word left once it is normalised. Which has, a model of
 * one letter tells, with the same normaliser. */
clf_status find_word(bool *found, Sentences *sentences)
{
    int left = 1;
    clf__piece_training letter = {};
    letter.next = give_letter;
    letter.user = &left;
    Sentences only(&letter);
    std::string bytes;
    sentencepiece::SentencePieceProcessor processor;
    if (!sentencepiece::SentencePieceTrainer::Train(options(3), &only, &bytes).ok() ||
        !processor.LoadFromSerializedProto(bytes).ok()) {
        return clf__fail(CLF_TEXT, "SentencePiece cannot learn a single letter");
    }
    const std::string space = "\xE2\x96\x81"; /* U+2581 */
    for (*found = false; !sentences->done() && !*found; sentences->Next()) {
        std::vector<std::string> pieces;
        if (processor.Encode(sentences->value(), &pieces).ok()) {
            for (const std::string &piece : pieces) {
                *found = *found || piece.find_first_not_of(space) != std::string::npos;
            }
        }
    }
    return CLF_OK;
}

/* The number behind a mark in the library's message, or 0. */
int number_after(const std::string &message, const char *mark)
{
    size_t at = message.find(mark);
    return at == std::string::npos ? 0 : std::atoi(message.c_str() + at + std::strlen(mark));
}

clf_status explain(const clf__piece_training *training, const std::string &message)
{
    int others = training->others, asked = training->pieces + others;
    int most = number_after(message, "to a value <= ");
    int least = number_after(message, " vs ");
    if (most > 0) {
        return clf__fail(CLF_TEXT, "so little text has no vocabulary of %d; there can be %d at most", asked,
                         most + others);
    }
    if (least > 0) {
        return clf__fail(CLF_TEXT, "a vocabulary of %d cannot hold the characters of the text; %d can", asked,
                         least + others);
    }
    return clf__fail(CLF_TEXT, "SentencePiece cannot learn from this text: %s", message.c_str());
}

clf_status train(clf__piece_training *training)
{
    Sentences first(training);
    bool found = false;
    CLF__TRY(find_word(&found, &first));
    if (!found) {
        const char *empty = "there is no text to learn pieces from";
        return first.long_words() == 0
                   ? clf__fail(CLF_TEXT, "%s", empty)
                   : clf__fail(
                         CLF_TEXT,
                         "%s: lines of more than %d bytes have no space where they can be cut; break them",
                         empty, (int)CLF__SENTENCE_BYTES);
    }
    training->rewind(training->user);
    Sentences sentences(training);
    std::string bytes;
    auto trained = sentencepiece::SentencePieceTrainer::Train(options(training->pieces), &sentences, &bytes);
    training->long_words = sentences.long_words();
    if (!trained.ok()) {
        return explain(training, trained.ToString());
    }
    return clf__file_write(training->output, bytes.data(), bytes.size());
}
} // namespace

clf_status clf__sentencepiece_train(struct clf__piece_training *training)
{
    try {
        return train(training);
    } catch (const std::bad_alloc &) {
        return clf__fail(CLF_OUT_OF_MEMORY, "SentencePiece has no host memory left to learn pieces");
    } catch (const std::exception &error) {
        return clf__fail(CLF_TEXT, "SentencePiece cannot learn from this text: %s", error.what());
    } catch (...) {
        return clf__fail(CLF_TEXT, "SentencePiece cannot learn from this text");
    }
}
