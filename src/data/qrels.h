/* Lines of judgements in the forms people have. */
#ifndef GABBRO_DATA_QRELS_H
#define GABBRO_DATA_QRELS_H

#include <gabbro/base.h>

enum { GB_MOST_GRADE = 1000 }; /* and -1000 is the least */

/* One judgement as text; the strings lie in the line it was parsed from. */
typedef struct gb_qrel_line {
    const char *query;   /* external id */
    const char *passage; /* external id */
    int32_t grade;       /* relevance */
} gb_qrel_line;

/* Next judgement of a file: BEIR (query-id, corpus-id, score; with or without its header), MS MARCO
 * or TREC (query, 0, passage, grade), separated by tabs or, without tabs, by blanks. 1, 0 at the
 * end, -1 with status on a damaged line. Empty lines are passed over. */
int data_qrel_next(gb_lines *lines, gb_qrel_line *judgement, gb_status *status);

#endif
