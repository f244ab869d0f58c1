/* Pre-training module: the objectives, one per file. Each is a gb_task over a collection's tokens.
 */
#ifndef GABBRO_PRETRAIN_H
#define GABBRO_PRETRAIN_H

#include <gabbro/data.h>
#include <gabbro/options.h>
#include <gabbro/trainer.h>

/* What a passage is paired with. */
typedef enum gb_context {
    GB_CONTEXT_NONE,
    GB_CONTEXT_SPAN,          /* another span of its document */
    GB_CONTEXT_QUERY,         /* one of its generated queries */
    GB_CONTEXT_SELF,          /* the passage itself */
    GB_CONTEXT_MIXED_STEP,    /* spans or queries, drawn anew for every step with p = .5 */
    GB_CONTEXT_MIXED_EXAMPLE, /* for every pair. The paper's text says every step, the released code
                                 draws for every example: both are named, neither is a default */
} gb_context;

/* Kinds of spans of COSTA, as bits. */
typedef enum gb_granularity {
    GB_SPAN_WORD = 1,      /* a single word that is no stop word */
    GB_SPAN_PHRASE = 2,    /* 4 to 16 words */
    GB_SPAN_SENTENCE = 4,  /* 16 to 64 words */
    GB_SPAN_PARAGRAPH = 8, /* 64 to 128 words */
    GB_SPAN_ALL = 15
} gb_granularity;

/* Settings of a pre-training by any objective. */
typedef struct gb_pretrain_params {
    gb_context context;  /* of objectives that pair passages with contexts */
    uint32_t batch;      /* passages, or pairs, of a step */
    uint32_t max_length; /* tokens of a sequence, specials included */
    uint32_t queries;    /* generated queries used of each passage (C) */
    uint32_t passages;   /* passages used, of those with generated queries; 0: all passages */
    uint64_t seed;       /* of order, masks, contexts and dropout */
    uint32_t steps;      /* of the whole training, for weights that change with it */
    const void *own;     /* what the objective's own options set, e.g. its defaults */
} gb_pretrain_params;

/* What is trained on. Borrowed. */
typedef struct gb_pretrain_data {
    const gb_collection *collection; /* documents of the passages */
    const gb_tokens *tokens;         /* passages and generated queries as ids */
    const gb_vocab *vocab;           /* for whole words */
    const gb_folder *generator; /* SimLM: the masked LM that fills masks, stays frozen; or NULL */
} gb_pretrain_data;

/* A range of a text's ids. */
typedef struct gb_id_range {
    uint32_t start, end; /* [start, end) */
} gb_id_range;

/* First ids of the words of a text (a continuation belongs to the word before it) and behind them
 * its length: starts [length + 1]. Returns the number of words. */
uint32_t gb_word_starts(const gb_vocab *vocab, const uint32_t *ids, uint32_t length,
                        uint32_t *starts);
/* Appends the word of ids [start, end) as text. */
void gb_word_text(const gb_vocab *vocab, const uint32_t *ids, uint32_t start, uint32_t end,
                  gb_text *text);
/* Declares the parameters of words' weights (DeepCT): "term_weight.weight" [1, H] and
 * "term_weight.bias" [1, 1]. */
bool gb_word_weights_declare(gb_params *params, const gb_bert_config *config, uint32_t *weight,
                             uint32_t *bias, gb_status *status);
/* Whether the word of ids [start, end) says something: no stop word (Lucene's list), punctuation or
 * special. */
bool gb_is_content_word(const gb_vocab *vocab, const uint32_t *ids, uint32_t start, uint32_t end);
/* COSTA, section 3.1: `count` spans of a text of `words` words, of one granularity. Lengths are
 * lmin + p (lmax - lmin) words, rounded, p ~ Beta(4, 2), and no longer than the text: a short text
 * is itself its longer spans. Starts are uniform. Words are drawn from those of content (the
 * paper does not give its list of stop words); a text without any has none. Returns how many were
 * drawn: count or 0. */
uint32_t gb_sample_spans(const gb_vocab *vocab, gb_granularity granularity, const uint32_t *ids,
                         const uint32_t *starts, uint32_t words, uint32_t count, gb_rng *rng,
                         gb_id_range *spans);
/* Ranges of the sentences of a text: a sentence ends behind ".", "!" or "?" and marks of closing
 * right behind it. sentences [length]. Returns their number, 0 for no text. */
uint32_t gb_id_sentences(const gb_vocab *vocab, const uint32_t *ids, uint32_t length,
                         gb_id_range *sentences);

#define GB_NEEDS_CONTEXT    1u /* an objective pairs passages with contexts */
#define GB_NEEDS_GENERATOR  2u /* it has gb_pretrain_data.generator fill masks */
#define GB_NEEDS_JUDGEMENTS 4u /* it learns from the training split's judgements */

/* An objective: its settings, what it adds to the encoder, and its task. One file has all of it. */
typedef struct gb_objective {
    const char *name;         /* as on the command line */
    const char *help;         /* what it trains, in one line without a full stop */
    uint32_t needs;           /* GB_NEEDS_* */
    const gb_option *options; /* of its own: members of a structure that only it knows */
    const void *defaults;     /* such a structure */
    size_t own_bytes;         /* its size, at most GB_OWN_BYTES */
    /* Declares the parameters beyond the encoder with head, and makes the task. */
    void *(*create)(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status);
    void (*destroy)(void *self);
    /* Before the first step of a process, or NULL: what it must know of the encoder that training
     * started from, or must have on the device, which is closed after destroy. values
     * [gb_params_floats] are those before any training, also when resuming. device NULL: batches
     * are only counted, so that their sizes alone must be right; values are zeros. */
    bool (*prepare)(void *self, gb_device *device, const gb_params *params, const float *values,
                    gb_status *status);
    /* Before any training, or NULL: values of its parameters that start from those of the encoder.
     * init: the model that training starts from, already in values, or NULL. */
    void (*start)(void *self, const gb_folder *init, const gb_params *params, float *values);
    /* Whether it trains no vector of a text: how one is made stays as it was. Otherwise vectors are
     * the state of [CLS] afterwards, or what pooling(own), where it is not NULL, says. */
    bool no_vector;
    gb_pooling (*pooling)(const void *own);
} gb_objective;

/* By name, or NULL. */
const gb_objective *gb_objective_find(const char *name);
/* An objective's own settings with its defaults. */
gb_own_settings gb_objective_defaults(const gb_objective *objective);
/* Sets one of them as the option of that name does; fails with GB_USAGE if the objective has no
 * such option or the value is none for it. */
bool gb_objective_set(const gb_objective *objective, gb_own_settings *own, const char *option,
                      const char *value, gb_status *status);
/* The table of all objectives, ended by NULL. */
#define GB_OBJECTIVES_MAX 24
extern const gb_objective *const gb_objectives[];

#endif
