/* Rules of Japanese, which continues a sentence after a quotation by a particle or a reporting clause. */
#ifndef CLF_TEXT_SENTENCES_JAPANESE_H
#define CLF_TEXT_SENTENCES_JAPANESE_H

#include "text/sentences/marks.h"

/* Returns whether a particle continues a Japanese sentence after a quotation, or after a mark that belongs to
 * a name or an unmarked quotation. Other words begin with the same letters, so without quotation marks a
 * particle counts only if no hiragana follows. */
int clf__japanese_particle(const struct clf__passage *passage, size_t at, int is_quoted);

/* Returns the end of the quotations that follow each other from an offset on: 「はい」「いいえ」. */
size_t clf__japanese_skip_quotations(const struct clf__passage *passage, size_t at);

/* Returns whether the words after a Japanese quotation name the speaker: 「誰？」彼は聞いた。 */
int clf__japanese_reports(const struct clf__passage *passage, size_t at);

/* Returns whether a sentence about a person begins after the quotations from an offset on, which have no mark
 * at their end: 「雨か」彼は空を見上げた. */
int clf__japanese_narrates(const struct clf__passage *passage, size_t quotation);

/* Returns whether the sentence [start, end) is an exclamation that is repeated and then quoted:
 * すごい!すごい!と言った. */
int clf__japanese_repeats(const struct clf__passage *passage, size_t start, size_t end);

#endif
