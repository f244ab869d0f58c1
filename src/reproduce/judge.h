/* Tables of what others have run or trained. */
#ifndef GABBRO_REPRODUCE_JUDGE_H
#define GABBRO_REPRODUCE_JUDGE_H

#include "process.h"
#include "session.h"

/* Measures what is in the folder params->runs, ROW/ or ROW/SEED/ with files SPLIT.trec (.txt, .tsv,
 * .gz) or a model, without training, and writes and prints the table's report. Runs are judged by
 * runs/qrels/SPLIT.*, or by the splits of params->collection, which models need. GB_USAGE where no
 * row of the table is there. */
bool repro_judge(const repro_session *session, gb_status *status);

#endif
