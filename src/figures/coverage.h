/* What the files of token coverage share. */
#ifndef FIGURES_COVERAGE_H
#define FIGURES_COVERAGE_H

#include "gabbro/figures.h"

/* Place of an id among the best, from 1; 0 when it is none of them or special. */
uint32_t figures_coverage_rank(const gb_coverage_view *view, const uint32_t *top, uint32_t id);
bool figures_coverage_has(const gb_coverage_view *view, const gb_coverage_text *text, uint32_t id);
uint32_t figures_coverage_listed(const gb_coverage_view *view); /* best tokens listed */
/* tokens.svg, tokens.png: the first text, and the best tokens of every model, hits marked. */
bool figures_coverage_tokens(const gb_coverage_view *view, const char *folder, gb_status *status);

/* Texts to count. */
typedef struct coverage_texts {
    gb_collection *collection; /* NULL: texts of one's own */
    gb_tokens tokens;          /* of the collection */
    gb_row_file *own;          /* ids of one's own texts */
    const gb_row_file *file;   /* ids: either of them; NULL: not open */
    uint32_t *rows;            /* [count] of the file */
    uint32_t count;            /* texts */
} coverage_texts;
/* Draws passages of the params' collection. Close after a failure too. */
bool figures_coverage_texts_draw(coverage_texts *t, const gb_coverage_params *params,
                                 gb_status *status);
/* Texts of one's own, tokenized as `model` wants it into the file `file`. */
bool figures_coverage_texts_tokenize(coverage_texts *t, const gb_coverage_params *params,
                                     const gb_model_input *model, const char *file,
                                     gb_status *status);
void figures_coverage_texts_close(coverage_texts *t);

#endif
