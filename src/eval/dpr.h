/* DPR's results of retrieval, as runs and as judgements. Private to the module. */
#ifndef EVAL_DPR_H
#define EVAL_DPR_H

#include <gabbro/eval.h>

/* A passage of a question. */
typedef struct dpr_hit {
    uint32_t passage; /* row */
    double score;     /* NAN: there is none */
    int8_t held;      /* it holds an answer: 1, 0, or -1 where the file does not say */
} dpr_hit;
/* Takes the passages of a question, in the order of the file; no passage is there twice. */
typedef bool eval_dpr_take(void *ctx, const gb_lines *lines, uint32_t query, const dpr_hit *hits,
                           uint32_t count, gb_status *status);
/* Does a first line begin such a file? */
bool eval_dpr_begins(const char *line, size_t length);
/* How such a file is read. */
typedef struct eval_dpr_params {
    const gb_run_names *names; /* ids */
    gb_answer_rule rule;       /* by which `held` is known */
    eval_dpr_take *take;       /* called for every question */
    void *ctx;                 /* its first argument */
} eval_dpr_params;
/* Reads the rest of a file whose first line is at hand. No question is there twice. */
bool eval_dpr_read(gb_lines *lines, char *line, size_t length, const eval_dpr_params *how,
                   gb_status *status);

#endif
