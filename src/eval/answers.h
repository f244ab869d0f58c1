/* Answers as they are gathered from files. Private to the module. */
#ifndef EVAL_ANSWERS_H
#define EVAL_ANSWERS_H

#include <gabbro/eval.h>

/* Without answers yet. rule: not GB_ANSWERS_GIVEN. */
gb_answers *eval_answers_create(gb_answer_rule rule, gb_status *status);
/* Adds a query, which has none of the answers before. */
bool eval_answers_begin(gb_answers *answers, uint32_t query, gb_status *status);
/* Adds an answer of the last query. One without a word, or without a character of a regular
 * expression, is left out: it would be everywhere. lines: where it was read. */
bool eval_answers_add(gb_answers *answers, const char *answer, const gb_lines *lines,
                      gb_status *status);

#endif
