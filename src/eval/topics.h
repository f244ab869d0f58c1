/* Layouts of topics beyond those of topics.c. Private to the module. */
#ifndef EVAL_TOPICS_H
#define EVAL_TOPICS_H

#include <gabbro/eval.h>

/* TREC's ad hoc topics: <top> <num> Number: 301 <title> words ... </top>. The title is the query;
 * of the other fields nothing is read. */
typedef struct topics_top {
    bool open;    /* between <top> and </top> */
    int field;    /* that words belong to (topics_top.c) */
    gb_text id;   /* of <num> */
    gb_text text; /* of <title> */
} topics_top;
/* *ended: the topic in `top` is complete. */
bool eval_topics_top_line(topics_top *top, const gb_lines *lines, const char *line, bool *ended,
                          gb_status *status);
void eval_topics_top_free(topics_top *top);

/* TREC CAsT: a JSON array of conversations {"number", "turn": [{"number", "raw_utterance"}]}; the
 * id of a turn is CONVERSATION_TURN. A rewritten utterance is taken before the raw one. text: the
 * whole file; `lines` is named in messages. */
bool eval_topics_cast(const gb_lines *lines, const gb_text *text, gb_text_fn *each, void *ctx,
                      gb_status *status);

#endif
