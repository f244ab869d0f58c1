/* Figures module: what the figures of the papers show, as drawings, tables and pages: the tokens
 * that [CLS] vectors cover, queries and their candidates in the plane and in space, and measures
 * against a number. */
#ifndef GABBRO_FIGURES_H
#define GABBRO_FIGURES_H

#include <gabbro/artifact.h>
#include <gabbro/plot.h>
#include <gabbro/store.h>
#include <gabbro/text.h>

/* ---- models that are shown ---- */

/* Cuts "NAME=MODEL" into its name and the path behind the '=', which *item points to afterwards.
 * Without a '=' the name is the last part of the path. Names are printable and without tabs; others
 * fail with GB_USAGE. */
#define GB_MODEL_NAME 64
bool gb_model_name(const char **item, char name[GB_MODEL_NAME], gb_status *status);
/* The same for a list of `count`; no name may come twice. Returns what an artifact adds to its
 * settings, {"names": [...]}, or NULL. */
json_t *gb_model_names(const char **items, size_t count, char (*names)[GB_MODEL_NAME],
                       gb_status *status);

/* ---- vocabulary projection ---- */

/* An encoder and its masked-LM head, which projects the [CLS] vector of a text to the vocabulary.
 */
typedef struct gb_vocab_projection {
    gb_model_input model; /* its folder */
    gb_params *params;    /* of encoder and head */
    gb_bert bert;         /* both */
    float *values;        /* parameters */
    bool has_head;        /* the folder has the head */
} gb_vocab_projection;
/* path: artifact or model folder; tokens: artifact of the ids it will read, NULL: text of one's
 * own. */
bool gb_vocab_projection_open(gb_vocab_projection *p, const char *path, const char *tokens,
                              gb_status *status);
void gb_vocab_projection_close(gb_vocab_projection *p);

/* Texts to encode. */
typedef struct gb_projected_texts {
    const gb_table *table; /* ids */
    const uint32_t *rows;  /* [count] of the table, or NULL: the first ones */
    uint32_t count;        /* texts */
    uint32_t max_length;   /* tokens of a text with [CLS] and [SEP]; longer ones are cut */
} gb_projected_texts;
/* Their [CLS] vectors [count, H]; free(*out). */
bool gb_vocab_projection_encode(const gb_vocab_projection *p, gb_device *device,
                                const gb_projected_texts *texts, float **out, gb_status *status);

/* Vectors to project. */
typedef struct gb_projected_vectors {
    const float *values;   /* [count, width] */
    uint32_t count, width; /* vectors; floats of each */
    bool full;             /* transform, GELU, LN, E^T and bias; else the bare E^T */
} gb_projected_vectors;
/* The `depth` tokens with the largest logits of every vector, best first, among equal ones the
 * lower id: top [count, depth]. Fails with GB_USAGE where the head is missing or of another width.
 */
bool gb_vocab_projection_top(const gb_vocab_projection *head, gb_device *device,
                             const gb_projected_vectors *vectors, uint32_t depth, uint32_t *top,
                             gb_status *status);

/* ---- token coverage ---------------------------------------------------------------------------
 * BoW prediction, Algorithm 1: a text's vector is projected to the vocabulary; of its k best
 * tokens, how many does the text have? T are the tokens of the text without special ones. */

/* The readings that the paper leaves open. */
typedef enum gb_coverage_reading {
    GB_COVERAGE_SET,      /* distinct tokens of T among the top k, of all distinct tokens of T */
    GB_COVERAGE_MULTISET, /* the same, every token as often as it occurs in T */
    GB_COVERAGE_OF_TOP,   /* share of the top k that T has */
    GB_COVERAGE_RARE,     /* as the first, of the rare tokens of T alone: ours, not the paper's */
    GB_COVERAGE_READINGS
} gb_coverage_reading;
/* "set", "multiset", "top", "rare" */
const char *gb_coverage_reading_name(gb_coverage_reading reading);

typedef struct gb_coverage gb_coverage; /* means over texts for k = 1..depth, one model */
/* rare: [size of the vocabulary] which tokens are, borrowed; or NULL, and that reading is NAN. */
gb_coverage *gb_coverage_create(const gb_vocab *vocab, uint32_t depth, const bool *rare,
                                gb_status *status);
void gb_coverage_destroy(gb_coverage *coverage);
/* Adds a text: its ids [length] and the model's best ids, best first [depth]; ids below the size of
 * the vocabulary. A text with no tokens but special ones is left out. */
void gb_coverage_add(gb_coverage *coverage, const uint32_t *top, const uint32_t *ids,
                     size_t length);
uint32_t gb_coverage_texts(const gb_coverage *coverage); /* texts that counted */
/* Mean over the texts (over those with rare tokens) at k, 1..depth; NAN without any. */
double gb_coverage_at(const gb_coverage *coverage, gb_coverage_reading reading, uint32_t k);

/* A text to look at. */
typedef struct gb_coverage_text {
    const char *name;           /* id of the passage, or the like */
    const uint32_t *ids;        /* [length] without the special tokens around it */
    size_t length;              /* tokens */
    const uint32_t *const *top; /* [models][depth] best ids of every model */
} gb_coverage_text;

/* Ways to project: bare embeddings or the full head, the model's own or the reference's. */
enum { GB_COVERAGE_VARIANTS = 4 };

/* Models side by side. Nothing is copied. */
typedef struct gb_coverage_view {
    const gb_vocab *vocab;              /* of all models */
    const char *const *models;          /* [model_count] names */
    size_t model_count;                 /* models */
    uint32_t depth;                     /* K */
    const gb_coverage *const *coverage; /* [model_count] means */
    gb_coverage_reading reading;        /* of the curve */
    const gb_coverage *frequent;   /* a list of the most frequent tokens for all texts, or NULL */
    const char *about;             /* how it was made, sentences */
    const gb_coverage_text *texts; /* shown */
    size_t text_count;             /* texts shown */
    /* [model_count][GB_COVERAGE_VARIANTS] other projections (NULL where there is none), or NULL */
    const gb_coverage *const (*variants)[GB_COVERAGE_VARIANTS];
} gb_coverage_view;
const char *gb_coverage_variant_name(size_t variant); /* "plain, own" ... */

#define GB_COVERAGE_LISTED 20 /* best tokens listed for a text */

/* Curves over k (curve.svg, .png); a table of all readings; the first text and its best tokens as a
 * drawing (tokens.svg, .png); variants.tsv, if there are any; one page with curves, texts and best
 * tokens: a file that needs nothing else, usable without scripts, better with them. */
bool gb_coverage_write(const gb_coverage_view *view, const char *folder, gb_status *status);
/* The texts on a terminal: best tokens of every model, hits as [token] or, with colors, green. */
void gb_coverage_terminal(const gb_coverage_view *view, bool colors, gb_text *out);

/* What is to be counted. Nothing is copied. */
typedef struct gb_coverage_params {
    const char *const *models;          /* [model_count] artifacts or model folders */
    const char (*names)[GB_MODEL_NAME]; /* [model_count] how they are called */
    size_t model_count;                 /* at least 1 */
    const char *collection, *tokens;    /* artifacts of passages to draw from, or both NULL: */
    const char *texts, *text;           /* a file of texts, one a line, or one text */
    const char *reference;              /* model whose head projects for all; NULL: each its own */
    bool full;                          /* by the whole masked-LM head, not the bare embeddings */
    gb_coverage_reading reading;        /* of the curve; GB_COVERAGE_RARE of a collection only */
    uint32_t depth;                     /* k at most, at least 1 */
    uint32_t passages;                  /* drawn of a collection; 0: all */
    uint32_t show;                      /* texts shown in the page; one text is always shown */
    uint64_t seed;                      /* of the draw */
    bool variants;                      /* the other ways to project too */
} gb_coverage_params;

/* Token coverage of several models, counted. */
typedef struct gb_coverage_study gb_coverage_study;
/* Encodes the texts with every model on the device and counts. The params must outlive the study.
 * table: a file that it may write, where the ids of texts of one's own are kept; it must stay as
 * long. Models must have one vocabulary (GB_USAGE), and a text must have a token (GB_DATA). */
gb_coverage_study *gb_coverage_study_create(const gb_coverage_params *params, gb_device *device,
                                            const char *table, gb_status *status);
void gb_coverage_study_destroy(gb_coverage_study *study);
const gb_coverage_view *gb_coverage_study_view(const gb_coverage_study *study);
/* All files of gb_coverage_write, and coverage.json with the values. */
bool gb_coverage_study_write(const gb_coverage_study *study, const char *folder, gb_status *status);
/* Coverage at 10, 20, 50 and 100 of the first model, so that it can be a row of a table: an object
 * of measure -> number; NULL without memory. */
json_t *gb_coverage_study_metrics(const gb_coverage_study *study);

/* ---- scatter plots -------------------------------------------------------------------------- */

/* The first `dims` principal components of x [count, width] (rows): scores into out [count, dims],
 * by falling variance; the sign is such that the largest score by absolute value is positive.
 * shares [dims] (may be NULL): share of the variance. count is small (the Gram matrix [count,
 * count] is decomposed by Jacobi's method). */
bool gb_pca(const float *x, uint32_t count, uint32_t width, uint32_t dims, double *out,
            double *shares, gb_status *status);

typedef struct gb_tsne_params {
    double perplexity;   /* effective number of neighbours; at most (count - 1) / 3 is used */
    uint32_t iterations; /* of gradient descent */
    uint64_t seed;       /* of the start */
} gb_tsne_params;
#define GB_TSNE_DEFAULTS ((gb_tsne_params){30, 1000, 42})

/* Exact t-SNE (van der Maaten and Hinton, 2008) of x [count, width] to the plane: out [count, 2],
 * centred. Euclidean distances; early exaggeration 12 in the first 250 iterations; momentum .5,
 * then .8; gains; step max(count / 48, 50). Same input, same bits. *divergence (may be NULL): KL.
 */
bool gb_tsne(const float *x, uint32_t count, uint32_t width, const gb_tsne_params *params,
             double *out, double *divergence, gb_status *status);

/* A query (point 0) and its candidates as one model sees them. Nothing is copied. */
typedef struct gb_scatter {
    const char *model;        /* name */
    uint32_t count;           /* points */
    const char *const *ids;   /* [count] of the query, then of the passages */
    const char *const *texts; /* [count] the same, to be read */
    const uint32_t *ranks; /* [count] rank of a passage, from 1; 0: the query, or not in the list */
    const int32_t *grades; /* [count] judged relevance */
    int32_t relevant;      /* grade from which a passage answers the query; lower ones above 0 are
                              about the same thing */
    const double *distances;  /* [count] from the query, in the model's space */
    const double *plane;      /* [count, 2] t-SNE */
    const double *components; /* [count, 3] principal components */
    const double *shares;     /* [3] of the variance */
    double divergence;        /* of the t-SNE */
} gb_scatter;

/* tsne.svg, pca.svg, turning.svg (and .png) with a panel a model; tsne.tsv; tsne.html with all of
 * them and a view of the components in space that turns. about: how it was made, sentences. */
bool gb_scatter_write(const gb_scatter *scatters, size_t count, const char *about,
                      const char *folder, gb_status *status);

/* ---- a measure against a number ------------------------------------------------------------- */

/* Draws the results of a figure's script: JSON lines. The first says what is shown,
 *   {"figure": "llm/fig3", "title": ..., "x": "<label>", "log_x": true, "measure": "dev:MRR@10",
 *    "y": "<label>"}
 * the others are points, or levels (dashed lines) where they have no "x":
 *   {"series": "curriculum", "x": 200, "seed": 42, "evaluation": "<folder with metrics.json>"}
 * Writes figure.svg, figure.png, figure.tsv (series, x, seeds, mean, interval), figure.json and
 * figure.html into out_dir: means over seeds with 95% t-intervals. */
bool gb_curves_write(const char *path, const char *out_dir, gb_status *status);

#endif
