/* What objectives share: the order of rows, contexts, masked batches, rows with labels. */
#ifndef PRETRAIN_COMMON_H
#define PRETRAIN_COMMON_H

#include <gabbro/pretrain.h>

/* ---- options of several objectives ---- */

/* own: the structure of the settings; member: which of it. */

#define OPTION_MASK_RATIO(own, member)                                                             \
    {                                                                                              \
        "mask-ratio", GB_OPTION_RATIO, GB_FIELD(own, member), 0, NULL,                             \
            "share of the encoder's tokens that are masked"                                        \
    }
#define OPTION_TEMPERATURE(own, member)                                                            \
    {                                                                                              \
        "temperature", GB_OPTION_REAL, GB_FIELD(own, member), 0, NULL,                             \
            "scores of the contrastive loss are divided by it", .min = 1e-6, .max = 1e6            \
    }

/* Shuffled rows, epoch by epoch. */
typedef struct row_order {
    uint32_t *rows;   /* rows to visit */
    gb_epochs epochs; /* in what order */
} row_order;
/* All passages, or with `documents` all documents of two spans or more. */
bool pretrain_row_order_make(row_order *order, const gb_collection *collection, bool documents,
                             uint64_t seed, gb_status *status);
/* All passages, or with params->passages that many of those that have generated queries. */
bool pretrain_row_order_passages(row_order *order, const gb_pretrain_data *data,
                                 const gb_pretrain_params *params, gb_status *status);
void pretrain_row_order_free(row_order *order);
uint32_t pretrain_row_order_at(row_order *order, uint64_t index); /* row of the index-th visit */

/* The spans of each document: its passages. Where no document has two of them, every passage is a
 * document and its two halves are the spans: 2p and 2p + 1 of passage p. */
typedef struct document_list {
    uint32_t *first; /* [documents + 1] first span */
    uint32_t count;  /* documents */
    bool halves;     /* spans are halves of passages */
} document_list;
bool pretrain_document_list_make(document_list *list, const gb_collection *collection,
                                 gb_status *status);
void pretrain_document_list_free(document_list *list);

/* Text of a batch as ids. */
typedef struct text_ids {
    const uint32_t *ids; /* without specials */
    size_t length;       /* ids */
} text_ids;
text_ids pretrain_passage_ids(const gb_pretrain_data *data, uint32_t passage);
/* A span of the list: a passage or half of one. */
text_ids pretrain_span_ids(const gb_pretrain_data *data, const document_list *documents,
                           uint32_t span);
/* The context of a passage, one of its generated queries, or of a span, another of its document;
 * the text itself where there is none. */
text_ids pretrain_context_ids(const gb_pretrain_data *data, const gb_pretrain_params *params,
                              const document_list *documents, uint32_t row, gb_rng *rng);

/* Texts with their contexts, visit by visit. */
typedef struct pair_source {
    document_list documents; /* spans of documents */
    row_order order;         /* passages or documents */
    bool by_document;        /* the order is of documents: a visit draws two of its spans */
} pair_source;
/* by_document: with context span, visit documents instead of passages. */
bool pretrain_pair_source_make(pair_source *source, const gb_pretrain_data *data,
                               const gb_pretrain_params *params, bool by_document,
                               gb_status *status);
void pretrain_pair_source_free(pair_source *source);
/* Text and context of the i-th pair of a step: the order by (seed, epoch), what is drawn by (seed,
 * step, i). */
void pretrain_pair_source_at(pair_source *source, const gb_pretrain_data *data,
                             const gb_pretrain_params *params, uint32_t step, uint32_t i,
                             text_ids pair[2]);

/* Scratch for masking. Zero-initialise. */
typedef struct masker {
    uint32_t *ids;   /* masked ids */
    int32_t *labels; /* labels */
    size_t id_capacity, label_capacity;
} masker;
void pretrain_masker_free(masker *m);
/* Mask a text: ids and labels of m. */
bool pretrain_mask_text(masker *m, const gb_vocab *vocab, const gb_mask_params *how, text_ids text,
                        gb_rng *rng, gb_status *status);
/* Mask a text and append it to the batch. */
bool pretrain_add_masked(masker *m, gb_batch *batch, const gb_pretrain_data *data, text_ids text,
                         double ratio, uint32_t max_length, gb_rng *rng, gb_status *status);

/* Labelled rows of two streams of states brought together for one masked-LM head: the first na rows
 * come from a, the next nb from b. The loss is the mean over a plus the mean over b. */
typedef struct labelled_inputs {
    gb_selection a, b; /* selected rows of each stream */
    gb_tensor labels;  /* u32 [count, 1] */
    gb_tensor weights; /* f32 [count, 1] */
    uint32_t count;    /* rows of the bucket */
} labelled_inputs;
gb_tensor pretrain_labelled_loss(gb_builder *builder, const gb_bert *bert,
                                 const labelled_inputs *in, gb_tensor a, gb_tensor b);
/* Rows with labels of one stream, in order. Zero-initialise. */
typedef struct labelled_rows {
    uint32_t *rows;   /* rows of the batch */
    uint32_t *labels; /* their labels */
    uint32_t count;
    uint32_t of; /* those of the whole batch, where this is a part of it; else 0 */
    size_t row_capacity, label_capacity;
} labelled_rows;
void pretrain_labelled_rows_free(labelled_rows *list);
bool pretrain_labelled_rows_add(labelled_rows *list, uint32_t row, uint32_t label,
                                gb_status *status);
/* All masked rows of a batch. */
bool pretrain_labelled_rows_of(labelled_rows *list, const gb_batch *batch, gb_status *status);
/* All rows between [CLS] and [SEP], with the tokens as they stand in the texts. */
bool pretrain_labelled_rows_all(labelled_rows *list, const gb_batch *batch, gb_status *status);
/* For at most `count` rows of both lists. Weights are shares of the mean over the whole batch.
 * Without a second stream rows_b is 0 and b is NULL. */
labelled_inputs pretrain_labelled_declare(gb_builder *builder, uint32_t count, uint32_t rows_a,
                                          const labelled_rows *a, uint32_t rows_b,
                                          const labelled_rows *b);

/* ---- the texts of a batch, see gb_microbatch ---- */

/* Sizes of a bucket: rows, rows with labels, and last rows that are read. */
enum { BUCKET_ROWS = 0, BUCKET_LABELLED = 1, BUCKET_SELECTED = GB_BUCKET_SIZES - 1 };

/* The texts of a step, and which of them run: all, or a part. Zero-initialise. */
typedef struct batch_texts {
    gb_batch all;               /* those that were drawn */
    labelled_rows labelled;     /* their rows with labels; empty where the objective has none */
    bool all_read;              /* the last states of all rows are read */
    gb_batch now;               /* those that run; its arrays are those of `all` or of `part` */
    labelled_rows now_labelled; /* their rows with labels, likewise */
    gb_selected_rows read;      /* those and first rows: their last states are read */
    uint32_t first;             /* text of the batch that the first one that runs is */
    gb_batch part;              /* a copy of some */
    labelled_rows selected_labelled; /* their rows with labels */
} batch_texts;
void pretrain_batch_texts_free(batch_texts *texts);
/* Before a batch is drawn into texts->all. */
void pretrain_batch_texts_reset(batch_texts *texts);
/* All of them run, as at the end of a sample. */
bool pretrain_batch_texts_take_all(batch_texts *texts, gb_status *status);
/* Texts [first, first + count) run. */
bool pretrain_batch_texts_take(batch_texts *texts, uint32_t first, uint32_t count,
                               gb_status *status);
/* Of texts [first, first + count): rows; rows with labels; what to declare for the rows that are
 * read. */
uint32_t pretrain_batch_texts_rows(const batch_texts *texts, uint32_t first, uint32_t count);
uint32_t pretrain_batch_texts_labelled(const batch_texts *texts, uint32_t first, uint32_t count);
uint32_t pretrain_batch_texts_read(const batch_texts *texts, uint32_t first, uint32_t count);
/* Buckets of their rows, of those that are read and of `heads` times their rows with labels. */
void pretrain_batch_texts_size(const batch_texts *texts, uint32_t first, uint32_t count,
                               uint32_t heads, gb_bucket *bucket);
/* A batch that was just drawn, whose rows with labels are the masked ones: lists these, sets shape
 * and takes all. */
bool pretrain_batch_texts_masked(batch_texts *texts, uint32_t heads, gb_bucket *bucket,
                                 gb_status *status);
/* Declare the texts that run, at most `count`; of the last states only first rows and rows with
 * labels are read. */
gb_batch_inputs pretrain_batch_texts_declare(gb_builder *builder, const gb_bert *bert,
                                             const gb_bucket *bucket, uint32_t count,
                                             const batch_texts *texts, uint64_t seed);
/* Texts that a program is built for: of a part, or all of the batch. */
uint32_t pretrain_texts_of(const gb_bucket *bucket, uint32_t batch);

#endif
