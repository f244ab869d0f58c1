/* What the parts share: sizes, cases, and one way to measure. */
#ifndef BENCH_PRIVATE_H
#define BENCH_PRIVATE_H

#include "gabbro/bench.h"
#include "gabbro/data.h"
#include "gabbro/finetune.h"
#include "gabbro/nn.h"

#include <gabbro/json.h>

/* A model and its batch, as users meet them. */
typedef struct bench_size {
    const char *name;                      /* --size */
    uint32_t layers, hidden, heads, ffn;   /* of the encoder */
    uint32_t vocabulary;                   /* entries */
    uint32_t texts, max_length;            /* texts of a pre-training step, tokens of each */
    uint32_t queries, query_tokens;        /* of a fine-tuning step */
    uint32_t negatives;                    /* hard negatives of a query */
    uint32_t rows;                         /* tokens that products, attention and norms see */
    uint32_t labelled;                     /* rows of a vocabulary head */
    uint32_t encoded;                      /* texts that `encode` encodes */
    uint32_t search_queries, search_texts; /* what `search` searches */
    double dropout;                        /* of states and attention */
} bench_size;
#define BENCH_SIZES 3
extern const bench_size bench_sizes[BENCH_SIZES];

/* What the device reaches on this machine, measured before everything else. */
typedef struct bench_ceiling {
    double gflops; /* best product of a few square ones; 0: unknown */
    double gbs;    /* bytes read and written by a large copy, GB/s */
} bench_ceiling;

typedef struct bench {
    const gb_config *config; /* what the environment asks for */
    gb_device *device;       /* open; NULL in a dry run */
    uint32_t repeats;        /* timed runs of a case at most */
    double seconds;          /* most of the timed runs of a case */
    bool sizes[BENCH_SIZES]; /* chosen ones */
    uint32_t texts;          /* --texts: of a step, instead of the size's; 0: as there */
    const char *only;        /* cases whose name contains it; NULL: all */
    bool dry;                /* list the cases only */
    bool kernels;            /* print the times of each case's kernels, too */
    bool survey;             /* the device runs nothing: make the cases' pipelines */
    const char *operands;    /* of matmuls, said behind the names of a survey's programs */
    uint32_t refusals;       /* programs that a survey could not make */
    FILE *out;               /* the table */
    double load;             /* of the host before the start */
    void (*sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int,
                  float, float *, int); /* of OpenBLAS, or NULL */
    bench_ceiling ceiling;              /* of the device */
    const char *part;                   /* being measured */
    json_t *results;                    /* array of cases */
    uint32_t measured;                  /* cases with numbers */
    gb_status refused;                  /* why the last one that was not run was not */
} bench;

/* Times of one case. All are of one time the work is done. */
typedef struct bench_times {
    uint32_t runs;                  /* timed runs */
    double best_s;                  /* wall time, from the host's call to the result */
    double low_s, median_s, high_s; /* quartiles of the wall time */
    double device_s;                /* median of the sums of kernel times; 0: no timestamps */
    double flops, bytes;            /* as the kernels count them; 0 if unknown */
    uint32_t kernels;               /* dispatches */
    json_t *variants;               /* names of the shaders, array; owned, may be NULL */
    double peer_s;                  /* median of the peer in process; 0: none */
} bench_times;

typedef struct bench_case {
    const char *name;       /* unique in its part */
    const bench_size *size; /* it belongs to, or NULL */
    json_t *shape;          /* sizes, for peers; taken over */
    double flops;           /* arithmetic; 0: what the kernels say */
    double bytes;           /* least traffic; 0: what the kernels say */
    double expected;        /* arithmetic to foresee the time by; 0: flops */
    bool whole;             /* rates are of wall time (steps), not of the device's */
} bench_case;

typedef bool bench_fn(bench *b, void *context, bench_times *times, gb_status *status);
/* Measure a case and print and note its row. A case that cannot run (memory, limits) or would take
 * too long is noted with the reason, and true returned. */
bool bench_case_run(bench *b, const bench_case *c, bench_fn *measure, void *context,
                    gb_status *status);
/* False when neither the repeats nor the seconds are used up; `start_s` of the first timed run. */
bool bench_enough(const bench *b, uint32_t runs, double start_s);
/* Order statistics of the wall times; sorts them. */
void bench_summarise(double *seconds, uint32_t count, bench_times *times);

/* Runs that are not counted: so many, and on GPUs for so long, since one that was idle has a
 * fraction of its clock (an H200 a sixth) until it has worked for a while. */
#define BENCH_WARM_UP 2
double bench_warm_up_s(const bench *b);

/* A program to be measured: parameters, then nodes. */
typedef struct bench_program {
    bool (*declare)(void *context, gb_params *params, gb_status *status); /* parameters */
    void (*build)(void *context, gb_tape *tape);                          /* nodes */
    bool (*fill)(void *context, gb_executable *exec, gb_status *status);  /* inputs, or NULL */
    void *context;                                                        /* of the three */
    bool training;  /* with gradients and moments */
    uint32_t times; /* how often the work is in the program; 0: once */
} bench_program;
bool bench_program_measure(bench *b, bench_program *program, bench_times *times, gb_status *status);
/* A parameter as if it were an activation: its gradient is not added to an older one. */
gb_tensor bench_activation(gb_tape *tape, uint32_t param);
/* Anything that runs on the device: `run` does it once, from nothing. */
typedef bool bench_call(void *context, gb_status *status);
bool bench_call_measure(bench *b, bench_call *run, void *context, bench_times *times,
                        gb_status *status);

/* Shaders that were timed since the profile was reset, each once; owned by the caller. */
json_t *bench_variants(const gb_device *device);
bool bench_ceiling_measure(bench *b, gb_status *status);
/* Sets what a list names; NULL: what suits the device. */
bool bench_sizes_choose(bench *b, const char *list, gb_status *status);
bool bench_blas_open(bench *b, gb_status *status);

/* ---- texts without meaning ---- */

/* Passages, queries and generated queries of random ids, all as long as they may be. Query i is
 * judged relevant to passage i, as the split "train". */
typedef struct bench_texts {
    gb_collection collection; /* documents alone; not to be closed */
    gb_tokens tokens;         /* ids */
    gb_vocab *vocab;          /* as many words as the size has */
    uint32_t *documents;      /* of each passage */
    char *folder;             /* of the files */
} bench_texts;
bool bench_texts_make(bench_texts *texts, const gb_config *config, const bench_size *size,
                      uint32_t passages, gb_status *status);
void bench_texts_free(bench_texts *texts);
gb_bert_config bench_config(const bench_size *size);

/* A small masked LM of the size's vocabulary and heads, of zeros; NULL on failure. */
gb_folder *bench_generator(const bench *b, const bench_size *size, const gb_vocab *vocab,
                           gb_status *status);
/* Steps that `bench` does not time: of the other objectives, and of batches in parts. */
bool bench_other_steps(bench *b, const bench_size *size, gb_status *status);
/* Those of a generator and of a cross-encoder. */
bool bench_learning(bench *b, const bench_size *size, gb_status *status);
/* Query i of `count` with passage i as its positive and the next ones as negatives. The lists are
 * the caller's to free, also after a failure. */
bool bench_training_set(gb_training_set *set, uint32_t count, uint32_t negatives,
                        gb_status *status);
bool bench_masked_lm(bench *b, const bench_size *size, const char *name, gb_status *status);
bool bench_search_in(bench *b, const bench_size *size, const char *name, gb_status *status);

/* ---- parts: one file each ---- */

bool bench_matmul(bench *b, gb_status *status);
bool bench_attention(bench *b, gb_status *status);
bool bench_bandwidth(bench *b, gb_status *status);
bool bench_loss(bench *b, gb_status *status);
bool bench_scores(bench *b, gb_status *status);
bool bench_step(bench *b, gb_status *status);
bool bench_growth(bench *b, gb_status *status);
bool bench_encode(bench *b, gb_status *status);
bool bench_search(bench *b, gb_status *status);
bool bench_generate(bench *b, gb_status *status);

#endif
