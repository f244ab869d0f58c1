/* Options of commands whose run can be written as a training file. */
#ifndef GABBRO_CLI_TRAINING_JSONL_H
#define GABBRO_CLI_TRAINING_JSONL_H

#include "cli.h"

/* A training file beside an artifact of a run. */
typedef struct cli_training {
    const char *path;       /* file, or NULL: none */
    const char *collection; /* artifact */
    const char *split;      /* of the positives */
    uint32_t skip, depth;   /* see gb_training_file */
} cli_training;
/* Writes it, of the run in an artifact's folder. */
bool cli_write_training(const cli_training *how, const char *folder, gb_status *status);

/* Its options, for the places of a const char * and a uint32_t. */
#define CLI_TRAINING_OPTIONS(file, after)                                                          \
    {"jsonl", GB_OPTION_TEXT,                                                                      \
     file,    GB_OPTION_NO_KEY,                                                                    \
     "FILE",  "also write queries, positives and negatives as Tevatron's JSON lines"},             \
    {                                                                                              \
        "jsonl-skip", GB_OPTION_U32, after, GB_OPTION_NO_KEY, NULL,                                \
            "negatives of the file begin behind so many passages of a query", .with = "jsonl"      \
    }

#endif
