/* Figures module: makes the figures of the papers as drawings, tables and pages: which tokens [CLS]
 * vectors cover, how a query and its candidates lie in the plane and in space, and measures as
 * curves. */
#ifndef GABBRO_FIGURES_H
#define GABBRO_FIGURES_H

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>
#include <gabbro/plot.h>
#include <gabbro/store.h>
#include <gabbro/text.h>

/* ---- models that are shown ---- */

#define GB_MODEL_NAME 64
/* Splits "NAME=MODEL" into the name and the path behind the '=', which *item points to afterwards.
 * Without a '=' the name is the last component of the path. GB_USAGE if the name has a tab or a
 * character that cannot be printed. */
bool gb_model_name(const char **item, char name[GB_MODEL_NAME], gb_status *status);
/* Splits a list of `count` such items, whose names must differ. Returns what an artifact adds to
 * its settings, {"names": [...]}, or NULL. */
json_t *gb_model_names(const char **items, size_t count, char (*names)[GB_MODEL_NAME],
                       gb_status *status);

/* ---- vocabulary projection ---- */

/* An encoder and its masked-LM head, which projects [CLS] vectors of texts to the vocabulary. */
typedef struct gb_vocab_projection {
    gb_model_input model; /* model folder */
    gb_params *params;    /* parameters of encoder and head */
    gb_bert bert;         /* encoder and head */
    float *values;        /* values of the parameters */
    bool has_head;        /* the folder has the head */
} gb_vocab_projection;
/* Opens the model at `path`, an artifact or a folder. tokens are the ids that it will read, or NULL
 * for other text. */
bool gb_vocab_projection_open(gb_vocab_projection *p, const char *path, const gb_tokens *tokens,
                              gb_status *status);
void gb_vocab_projection_close(gb_vocab_projection *p);

/* Texts to encode. */
typedef struct gb_projected_texts {
    const gb_row_file *file; /* row file of ids */
    const uint32_t *rows;    /* [count] rows of it; NULL: the first ones */
    uint32_t count;          /* texts */
    uint32_t max_length;     /* tokens of a text with [CLS] and [SEP]; longer texts are cut */
} gb_projected_texts;
/* Encodes texts to [CLS] vectors: *out [count, H], which the caller frees. */
bool gb_vocab_projection_encode(const gb_vocab_projection *p, gb_device *device,
                                const gb_projected_texts *texts, float **out, gb_status *status);

/* Vectors to project. */
typedef struct gb_projected_vectors {
    const float *values;   /* [count, width] */
    uint32_t count, width; /* vectors; floats of a vector */
    bool full;             /* the whole head: transform, GELU, LN, E^T, bias; otherwise only E^T */
} gb_projected_vectors;
/* Finds the `depth` tokens with the largest logits of every vector: top [count, depth], best first,
 * and the lower id first among equals. GB_USAGE if the head is missing or has another width. */
bool gb_vocab_projection_top(const gb_vocab_projection *head, gb_device *device,
                             const gb_projected_vectors *vectors, uint32_t depth, uint32_t *top,
                             gb_status *status);

/* ---- token coverage ---- */

/* BoW prediction, Algorithm 1: a text's vector is projected to the vocabulary, and one counts how
 * many of its k best tokens occur in the text. T is the tokens of the text without special ones. */

/* What is counted; the paper leaves it open. */
typedef enum gb_coverage_reading {
    GB_COVERAGE_SET,      /* share of the distinct tokens of T that are among the top k */
    GB_COVERAGE_MULTISET, /* the same, every token as often as it occurs in T */
    GB_COVERAGE_OF_TOP,   /* share of the top k that occur in T */
    GB_COVERAGE_RARE,     /* like the first, but only of the rare tokens of T; not in the paper */
    GB_COVERAGE_READINGS
} gb_coverage_reading;
/* "set", "multiset", "top", "rare" */
const char *gb_coverage_reading_name(gb_coverage_reading reading);

/* Counts the coverage of one model, as means over texts for every k from 1 to depth. */
typedef struct gb_coverage gb_coverage;
/* Makes one without texts. rare [size of the vocabulary] says which tokens are rare, and must
 * outlive the coverage; if it is NULL, GB_COVERAGE_RARE is NAN. */
gb_coverage *gb_coverage_create(const gb_vocab *vocab, uint32_t depth, const bool *rare,
                                gb_status *status);
void gb_coverage_destroy(gb_coverage *coverage);
/* Adds a text: its ids [length], and the model's best ids [depth], best first. All ids are below
 * the size of the vocabulary. A text that has only special tokens does not count. */
void gb_coverage_add(gb_coverage *coverage, const uint32_t *top, const uint32_t *ids,
                     size_t length);
uint32_t gb_coverage_texts(const gb_coverage *coverage); /* texts that counted */
/* Mean at k (1..depth) over the texts, or over those with rare tokens; NAN if there are none. */
double gb_coverage_at(const gb_coverage *coverage, gb_coverage_reading reading, uint32_t k);

/* A text that is shown. */
typedef struct gb_coverage_text {
    const char *name;           /* id of the passage, or another name */
    const uint32_t *ids;        /* [length] without the special tokens around them */
    size_t length;              /* tokens */
    const uint32_t *const *top; /* [models][depth] best ids by every model */
} gb_coverage_text;

/* How vectors can be projected: by the embeddings alone or by the whole head, and each by those of
 * the model itself or of the reference. */
enum { GB_COVERAGE_VARIANTS = 4 };

/* Coverage of several models, for a page. Nothing is copied. */
typedef struct gb_coverage_view {
    const gb_vocab *vocab;              /* vocabulary of all models */
    const char *const *models;          /* [model_count] names */
    size_t model_count;                 /* models */
    uint32_t depth;                     /* largest k */
    const gb_coverage *const *coverage; /* [model_count] means */
    gb_coverage_reading reading;        /* what the curve shows */
    const gb_coverage *frequent;   /* coverage of a list of the most frequent tokens, or NULL */
    const bool *rare;              /* [vocabulary] tokens that few passages have; NULL: not known */
    const char *about;             /* sentences that say how it was made */
    const gb_coverage_text *texts; /* [text_count] texts that are shown */
    size_t text_count;             /* texts */
    /* [model_count] coverage by the other projections (NULL where there is none), or NULL */
    const gb_coverage *const (*variants)[GB_COVERAGE_VARIANTS];
} gb_coverage_view;
const char *gb_coverage_variant_name(size_t variant); /* "plain, own" ... */

#define GB_COVERAGE_LISTED 20 /* best tokens listed for a text */

/* Writes a folder: the curves over k (curve.svg, .png), a table of all readings, the first text
 * with its best tokens as a drawing (tokens.svg, .png), variants.tsv if there are any, and one page
 * with curves, texts and best tokens. The page needs no other file, and works without scripts. */
bool gb_coverage_write(const gb_coverage_view *view, const char *folder, gb_status *status);
/* Prints the texts for a terminal: the best tokens by every model, those that the text has as
 * [token] or, with colors, in green. */
void gb_coverage_terminal(const gb_coverage_view *view, bool colors, gb_text *out);

/* What to count. Nothing is copied. */
typedef struct gb_coverage_params {
    const char *const *models;          /* [model_count] artifacts or model folders */
    const char (*names)[GB_MODEL_NAME]; /* [model_count] names to show */
    size_t model_count;                 /* at least 1 */
    const char *collection, *tokens;    /* artifacts of the passages to draw from, or both NULL */
    const char *texts, *text;           /* otherwise: a file with one text a line, or one text */
    const char *reference;              /* model whose head projects for all; NULL: each its own */
    bool full;                          /* project by the whole head, not the embeddings alone */
    gb_coverage_reading reading;        /* what the curve shows; RARE only of a collection */
    uint32_t depth;                     /* largest k, at least 1 */
    uint32_t passages;                  /* passages drawn from a collection; 0: all */
    uint32_t show;                      /* texts shown in the page; at least one is shown */
    uint64_t seed;                      /* seed of the draw */
    bool variants;                      /* count the other projections too */
} gb_coverage_params;

/* A finished count of the token coverage of several models. */
typedef struct gb_coverage_study gb_coverage_study;
/* Encodes the texts by every model on the device, and counts. The params must outlive the study.
 * `file` is a path for a row file of the ids of texts that are not a collection's; the file must
 * stay as long as the study. GB_USAGE if the models have different vocabularies; GB_DATA if a text
 * has no token. */
gb_coverage_study *gb_coverage_study_create(const gb_coverage_params *params, gb_device *device,
                                            const char *file, gb_status *status);
void gb_coverage_study_destroy(gb_coverage_study *study);
/* What gb_coverage_write needs; it belongs to the study. */
const gb_coverage_view *gb_coverage_study_view(const gb_coverage_study *study);
/* Writes all files of gb_coverage_write, and coverage.json with the values. */
bool gb_coverage_study_write(const gb_coverage_study *study, const char *folder, gb_status *status);
/* Makes the coverage at 10, 20, 50 and 100 of the first model a row of a table: an object of
 * measure -> number. NULL without memory. The caller calls json_decref. */
json_t *gb_coverage_study_metrics(const gb_coverage_study *study);

/* ---- scatter plots ---- */

/* Computes the first `dims` principal components of the rows of x [count, width]: scores in out
 * [count, dims], by descending variance, each with the sign that makes its largest absolute score
 * positive. shares [dims] (may be NULL) gets their shares of the variance. count should be small,
 * as the Gram matrix [count, count] is decomposed by Jacobi's method. */
bool gb_pca(const float *x, uint32_t count, uint32_t width, uint32_t dims, double *out,
            double *shares, gb_status *status);

/* Settings of t-SNE. */
typedef struct gb_tsne_params {
    double perplexity;   /* effective number of neighbours, above 1, and cut at (count - 1) / 3 */
    uint32_t iterations; /* iterations of gradient descent */
    uint64_t seed;       /* seed of the initial positions */
} gb_tsne_params;
#define GB_TSNE_DEFAULTS ((gb_tsne_params){30, 1000, 42})

/* Computes the exact t-SNE (van der Maaten and Hinton, 2008) of x [count, width] in the plane: out
 * [count, 2], centred. Distances are Euclidean; early exaggeration is 12 in the first 250
 * iterations; momentum is .5, then .8, with gains; the step is max(count / 48, 50). The same input
 * gives the same bits. *divergence (may be NULL) gets the Kullback-Leibler divergence. */
bool gb_tsne(const float *x, uint32_t count, uint32_t width, const gb_tsne_params *params,
             double *out, double *divergence, gb_status *status);

/* A query (point 0) and its candidates as one model sees them. Nothing is copied. */
typedef struct gb_scatter {
    const char *model;        /* name of the model */
    uint32_t count;           /* points */
    const char *const *ids;   /* [count] id of the query, then of the passages */
    const char *const *texts; /* [count] their texts */
    const uint32_t *ranks;    /* [count] rank of a passage, from 1; 0: the query, or not ranked */
    const int32_t *grades;    /* [count] judged relevance */
    int32_t relevant; /* smallest grade of a passage that answers the query; lower ones above 0 are
                         about the same subject */
    const double *distances;  /* [count] distance from the query, in the model's space */
    const double *plane;      /* [count, 2] positions by t-SNE */
    const double *components; /* [count, 3] principal components */
    const double *shares;     /* [3] their shares of the variance */
    double divergence;        /* Kullback-Leibler divergence of the t-SNE */
} gb_scatter;

/* Writes a folder: tsne.svg, pca.svg and turning.svg (and .png) with a panel for each model,
 * tsne.tsv, and tsne.html with all of them and a turning view of the components in space. `about`
 * has sentences that say how it was made. */
bool gb_scatter_write(const gb_scatter *scatters, size_t count, const char *about,
                      const char *folder, gb_status *status);

/* What to draw: a query and its candidates as several retrievers see them. Nothing is copied. */
typedef struct gb_candidates_params {
    const char *const *models;          /* [model_count] artifacts or folders of retrievers */
    const char (*names)[GB_MODEL_NAME]; /* [model_count] names in the drawing */
    size_t model_count;                 /* at least 1 */
    const char *collection, *tokens;    /* artifacts */
    const char *split;                  /* of the query; NULL: dl19 if there, else dev */
    const char *query;                  /* its id; NULL: drawn among those with a positive */
    uint32_t depth;                     /* best passages of each model, at least 3 */
    bool missed;                        /* relevant passages that a model did not find too */
    gb_tsne_params tsne;                /* how they are projected; its seed draws the query too */
} gb_candidates_params;
/* Ranks the passages of the collection by every model, and writes the files of gb_scatter_write
 * into the artifact that is being made. */
bool gb_candidates_draw(const gb_candidates_params *params, gb_maker *maker, gb_status *status);

/* ---- a measure against a number ---- */

/* Draws curves of a measure from a file of JSON lines. The first line
 * says what is shown,
 *   {"figure": "llm/fig3", "title": ..., "x": "<label>", "log_x":
 * true, "measure": "dev:MRR@10", "y": "<label>"} and each further
 * line is a point, or a level (a dashed line) if it has no "x":
 *   {"series": "curriculum", "x": 200, "seed": 42, "evaluation":
 * "<folder with metrics.json>"} Writes figure.svg, figure.png,
 * figure.tsv (series, x, seeds, mean, interval), figure.json and
 * figure.html into out_dir, with means over seeds and 95%
 * t-intervals. */
bool gb_curves_write(const char *path, const char *out_dir, gb_status *status);

#endif
