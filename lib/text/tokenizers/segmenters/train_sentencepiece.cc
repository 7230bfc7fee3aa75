#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sentencepiece_trainer.h>

extern "C" {
#include "base/file.h"
#include "base/utf8.h"
#include "text/tokenizers/segmenters/train_sentencepiece.h"
}

namespace
{
/* Each thread sums over a part of the text with rounding, so the result depends on the number of threads. */
const char THREADS[] = "4";
const char LOG_ONLY_FATAL[] = "3";

/* The library skips sentences that are too long or contain U+2585, its mark for unknown text: they are
 * filtered here, so that the library always gets a sentence. */
const char RESERVED[] = "\xE2\x96\x85";

bool is_fit(std::string_view text)
{
    return clf__utf8_valid_prefix(text.data(), text.size()) == text.size() &&
           text.find(RESERVED) == std::string_view::npos;
}

struct Interrupted {
};

/* State shared by the training thread and the thread that waits for it. */
struct Job {
    explicit Job(const clf__sentencepiece_training *given) : training(*given)
    {
    }
    void check()
    {
        std::lock_guard<std::mutex> guard(lock);
        if (is_stopped) {
            throw Interrupted();
        }
    }
    void set_reads(bool value)
    {
        std::lock_guard<std::mutex> guard(lock);
        if (value && is_stopped) {
            throw Interrupted();
        }
        reads = value;
        changed.notify_all();
    }
    void finish(clf_status outcome) noexcept
    {
        std::lock_guard<std::mutex> guard(lock);
        failure = clf__failure_keep(outcome); /* error state is per thread */
        reads = false;
        is_finished = true;
        changed.notify_all();
    }

    const clf__sentencepiece_training training; /* its borrowed pointers are valid while they are read */
    std::mutex lock;
    std::condition_variable changed;
    bool reads = false, is_stopped = false, is_finished = false;
    clf__failure failure = {}; /* valid once `is_finished` is set */
    std::string bytes;
};

/* The first pass checks that there is any text; the last one trains. */
enum class Pass { FIRST, LAST };

/* The library's interface for reading sentences. Reading ends after the last pass. */
class Sentences final : public sentencepiece::SentenceIterator
{
  public:
    Sentences(const clf__sentencepiece_training *training, Job *job, Pass pass)
        : training_(training), job_(job), pass_(pass)
    {
        Next();
    }
    bool done() const override
    {
        return done_;
    }
    void Next() override
    {
        if (line_.empty() && !next_line()) {
            value_.clear();
            return;
        }
        cut();
    }
    const std::string &value() const override
    {
        return value_;
    }
    sentencepiece::util::Status status() const override
    {
        return sentencepiece::util::Status();
    }

  private:
    bool next_line()
    {
        const char *text = nullptr;
        size_t size = 0;
        while (!done_ && (size == 0 || !is_fit(line_))) {
            job_->check();
            done_ = training_->next(training_->user, &text, &size) == 0;
            line_ = done_ ? std::string_view() : std::string_view(text, size);
        }
        if (done_ && pass_ == Pass::LAST) {
            job_->set_reads(false);
        }
        return !done_;
    }

    /* Splits off a part of the line that fits. */
    void cut()
    {
        size_t size = line_.size(), after = size;
        if (size > CLF__SENTENCE_BYTES) {
            size = line_.rfind(' ', CLF__SENTENCE_BYTES);
            after = size + 1;
            if (size == std::string_view::npos) {
                size = after = clf__utf8_cut(line_.data(), CLF__SENTENCE_BYTES);
            }
        }
        value_.assign(line_.data(), size);
        line_.remove_prefix(after);
    }

    const clf__sentencepiece_training *training_;
    Job *job_;
    Pass pass_;
    std::string_view line_; /* the unread rest of the line */
    std::string value_;
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

/* Returns a single sentence of one letter. */
int give_letter(void *user, const char **text, size_t *size)
{
    int *left = static_cast<int *>(user);
    *text = "a";
    *size = 1;
    return (*left)-- > 0;
}

/* The library exits the process if no sentence has a word after normalization, so a one-letter model with the
 * same normalizer first looks for such a word. */
clf_status find_word(bool *found, Sentences *sentences, Job *job)
{
    int left = 1;
    clf__sentencepiece_training letter = {};
    letter.next = give_letter;
    letter.user = &left;
    Sentences only(&letter, job, Pass::FIRST);
    std::string bytes;
    sentencepiece::SentencePieceProcessor processor;
    if (!sentencepiece::SentencePieceTrainer::Train(options(3), &only, &bytes).ok() ||
        !processor.LoadFromSerializedProto(bytes).ok()) {
        return clf__fail(CLF_TEXT, "SentencePiece cannot train on a single letter");
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

/* Returns the number after a mark in the library's message, or 0. */
int number_after(const std::string &message, const char *mark)
{
    size_t at = message.find(mark);
    return at == std::string::npos ? 0 : std::atoi(message.c_str() + at + std::strlen(mark));
}

clf_status explain(const clf__sentencepiece_training *training, const std::string &message)
{
    int others = training->others, asked = training->pieces + others;
    int most = number_after(message, "to a value <= ");
    int least = number_after(message, " vs ");
    if (most > 0) {
        return clf__fail(CLF_TEXT,
                         "the text is too short for a vocabulary of %d tokens; use at most %d, or more text",
                         asked, most + others);
    }
    if (least > 0) {
        return clf__fail(
            CLF_TEXT,
            "a vocabulary of %d tokens is too small for the characters of the text; use at least %d", asked,
            least + others);
    }
    return clf__fail(CLF_TEXT, "SentencePiece cannot train on this text: %s", message.c_str());
}

/* On the job's thread. */
clf_status learn(Job *job)
{
    const clf__sentencepiece_training *training = &job->training;
    bool found = false;
    Sentences first(training, job, Pass::FIRST);
    CLF__TRY(find_word(&found, &first, job));
    if (!found) {
        return clf__fail(CLF_TEXT, "there is no text to train on; pass text");
    }
    training->rewind(training->user);
    Sentences sentences(training, job, Pass::LAST);
    auto trained =
        sentencepiece::SentencePieceTrainer::Train(options(training->pieces), &sentences, &job->bytes);
    return trained.ok() ? CLF_OK : explain(training, trained.ToString());
}

/* Serialises training: SentencePiece does not document its trainer as reentrant, and an abandoned thread may
 * still be training. */
std::mutex one_at_a_time;

clf_status try_to_learn(Job *job) noexcept
{
    try {
        std::lock_guard<std::mutex> alone(one_at_a_time);
        job->set_reads(true);
        return learn(job);
    } catch (const Interrupted &) {
        return CLF_INTERRUPTED;
    } catch (const std::bad_alloc &) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for SentencePiece training");
    } catch (const std::exception &error) {
        return clf__fail(CLF_TEXT, "SentencePiece cannot train on this text: %s", error.what());
    } catch (...) {
        return clf__fail(CLF_TEXT, "SentencePiece cannot train on this text");
    }
}

/* Abandoned threads, joined at process exit: library state that they use must outlive them. */
struct Abandoned {
    ~Abandoned()
    {
        for (std::thread &thread : threads) {
            thread.join();
        }
    }
    std::mutex lock;
    std::vector<std::thread> threads;
};

void abandon(std::thread *thread)
{
    try {
        static Abandoned abandoned;
        std::lock_guard<std::mutex> guard(abandoned.lock);
        abandoned.threads.push_back(std::move(*thread));
    } catch (const std::bad_alloc &) {
        thread->join();
    }
}

/* Waits until training has finished or, after an interruption, the caller's text is no longer read. Returns
 * true if training has finished. */
bool wait_for(Job *job)
{
    std::unique_lock<std::mutex> guard(job->lock);
    do {
        job->changed.wait_for(guard, std::chrono::milliseconds(100), [job] { return job->is_finished; });
        guard.unlock();
        bool stops = job->training.interrupted && job->training.interrupted(job->training.interrupted_user);
        guard.lock();
        job->is_stopped = stops;
    } while (!job->is_finished && !job->is_stopped);
    job->changed.wait(guard, [job] { return !job->reads; });
    return job->is_finished;
}

clf_status train(clf__sentencepiece_training *training)
{
    auto job = std::make_shared<Job>(training);
    std::thread thread([job] { job->finish(try_to_learn(job.get())); });
    if (wait_for(job.get())) {
        thread.join();
    } else {
        abandon(&thread);
    }
    if (job->is_stopped) {
        return clf__fail(CLF_INTERRUPTED, "tokenizer training was interrupted");
    }
    if (job->failure.status != CLF_OK) {
        return clf__failure_again(&job->failure);
    }
    return clf__file_write(training->output, job->bytes.data(), job->bytes.size());
}
} // namespace

clf_status clf__sentencepiece_train(struct clf__sentencepiece_training *training)
{
    try {
        return train(training);
    } catch (const std::bad_alloc &) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for SentencePiece training");
    } catch (const std::system_error &error) {
        return clf__fail(CLF_OUT_OF_MEMORY, "cannot start a training thread: %s", error.what());
    }
}
