/* Inside the export of an evaluation: what its files are written from. */
#ifndef GABBRO_REPORT_EXPORT_H
#define GABBRO_REPORT_EXPORT_H

#include "site.h"

/* An evaluation and all behind it. */
typedef struct exported {
    const gb_export_params *params; /* what is asked for */
    chain steps;                    /* all artifacts, inputs before what needs them */
    const chain_step *evaluation;   /* the last of them */
    const chain_step *model;        /* what was evaluated, or NULL: BM25 or a fusion */
    json_t *metrics;                /* metrics.json of the evaluation */
    json_t *collection;             /* collection.json of its collection, or an empty object */
    const char *tag, *task;         /* as given, or what stands for them */
} exported;

/* Appends the ir_metadata of a run of a split: lines that begin with '#'. */
void report_export_metadata(const exported *e, const char *split, gb_text *out);
/* Writes mteb/TASK.json and mteb/model_meta.json below `out`. */
bool report_export_mteb(const exported *e, const char *out, gb_status *status);
/* Appends README.md. `card` is that of the model's folder, or NULL. */
void report_export_card(const exported *e, const char *card, gb_text *out);
/* The settings of an artifact that are not at their defaults; a new reference. */
json_t *report_export_settings(const json_t *run);
/* MTEB's name of a measure, "ndcg_at_10" of "nDCG@10"; false for one that it does not have. */
bool report_export_measure(const char *name, char out[40]);

#endif
