/* What the page, the terminal and the drawing of token coverage share. */
#ifndef FIGURES_COVERAGE_H
#define FIGURES_COVERAGE_H

#include "gabbro/figures.h"

/* Place of an id among the best, from 1; 0 when it is none of them or special. */
uint32_t coverage_rank(const gb_coverage_view *view, const uint32_t *top, uint32_t id);
bool coverage_has(const gb_coverage_view *view, const gb_coverage_text *text, uint32_t id);
uint32_t coverage_listed(const gb_coverage_view *view); /* best tokens listed */
/* tokens.svg, tokens.png: the first text, and the best tokens of every model, hits marked. */
bool coverage_tokens(const gb_coverage_view *view, const char *folder, gb_status *status);

#endif
