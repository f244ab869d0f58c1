/* Judgements of a file that is imported, or was. */
#ifndef GABBRO_DATA_QRELS_H
#define GABBRO_DATA_QRELS_H

#include <gabbro/data.h>

/* Next judgement of a file of UTF-8. 1, 0 at the end, -1 with status on a damaged line. */
int data_qrel_next(gb_lines *lines, gb_qrel_line *judgement, gb_status *status);

#endif
