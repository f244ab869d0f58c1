/* Models module: BERT encoders, heads and decoders on a tape; batches; checkpoints as Hugging Face
 * folders; encoding. Stands on ops and folder. */
#ifndef GABBRO_NN_H
#define GABBRO_NN_H

#include <gabbro/folder.h>
#include <gabbro/ops.h>
#include <gabbro/rows.h>
#include <gabbro/text.h>

/* ---- batches ---- */

/* The ids of a text, without specials. */
typedef struct gb_token_text {
    const uint32_t *ids; /* [length] */
    size_t length;       /* ids */
} gb_token_text;
/* Returns a row of tokens as a text, of which no more is taken than fits a sequence of max_length
 * tokens with its two specials. */
gb_token_text gb_token_text_of(const gb_row_file *tokens, uint32_t row, uint32_t max_length);

/* Sequences of token ids one behind the other, no padding between them. The rows that fill up a
 * bucket belong to further sequences of [PAD]s that nothing looks at. Zero-initialise. */
typedef struct gb_batch {
    uint32_t *ids;       /* [rows] */
    uint32_t *positions; /* [rows] place in the own sequence */
    int32_t *labels;     /* [rows] original id, or GB_IGNORE */
    uint32_t *starts;    /* [count + 1] first row of each sequence, then rows */
    uint32_t *seconds;   /* [count] first row of a pair's second text; the end of a sequence that is
                            no pair */
    uint32_t rows;       /* tokens */
    uint32_t count;      /* sequences */
    uint32_t labelled;   /* rows with a label */
    uint32_t row0;       /* of a part: row of the whole batch that row 0 is; else 0 */
    size_t id_capacity, position_capacity, label_capacity, start_capacity, second_capacity; /*
                            allocated */
} gb_batch;
void gb_batch_reset(gb_batch *batch);
void gb_batch_free(gb_batch *batch);
/* Append a sequence of `length` rows, from *first on: positions from 0, no labels; ids are left to
 * the caller. */
bool gb_batch_reserve(gb_batch *batch, size_t length, uint32_t *first, gb_status *status);
/* Append [CLS] ids [SEP]; labels [length] for the ids, or NULL. Cut at `longest` tokens in all. */
bool gb_batch_add(gb_batch *batch, const gb_special_ids *specials, const uint32_t *ids,
                  const int32_t *labels, size_t length, uint32_t max_length, gb_status *status);
/* Append the pair [CLS] query [SEP] passage [SEP]. A pair of more than max_length tokens, three
 * specials included, loses them at the end of its longer text, and of both where they are equally
 * long (transformers' "longest_first"). max_length is at least 3. */
bool gb_batch_add_pair(gb_batch *batch, const gb_special_ids *specials, gb_token_text query,
                       gb_token_text passage, uint32_t max_length, gb_status *status);
/* Sequences [first, first + count) of `whole` as a batch of their own, with its row0. */
bool gb_batch_slice(const gb_batch *whole, uint32_t first, uint32_t count, gb_batch *part,
                    gb_status *status);
/* Rows of the bucket that holds `rows`: multiples of 64 up to 1024, then of a sixteenth of the next
 * power of two, so that few buckets serve all batches. */
uint32_t gb_bucket_rows(uint32_t rows);

/* The padding behind a batch is cut into so many: attention takes the square of each's length. */
#define GB_PAD_SEQUENCES 16

/* Rows of a batch selected by the host, e.g. the labelled ones. */
typedef struct gb_selection {
    gb_tensor index;   /* u32 [1, count]: row of the batch, or GB_NO_ROW */
    gb_tensor inverse; /* u32 [1, rows of the batch] */
    uint32_t count;    /* rows selected at most */
    uint32_t rows;     /* rows of the batch */
} gb_selection;

/* Rows of tokens that batches had when they were put into programs. */
typedef struct gb_padding {
    uint64_t used;     /* of texts */
    uint64_t computed; /* with those that fill buckets up */
} gb_padding;

/* The inputs of one batch on a tape. */
typedef struct gb_batch_inputs {
    gb_tensor ids;            /* u32 [1, rows] */
    gb_tensor positions;      /* u32 [1, rows] */
    gb_tensor sequences;      /* see gb_sequences_input; those behind count are padding */
    gb_row_index by_id;       /* rows of each vocabulary entry */
    gb_row_index by_position; /* rows of each position */
    uint32_t rows;            /* of the bucket */
    uint32_t count;           /* sequences without the padding one */
    gb_selection read;        /* rows whose last states are read; count 0: all */
    gb_tensor read_sequences; /* the sequences with those rows, see gb_selection_input */
    bool selected;            /* these are the inputs of those rows alone */
    bool pairs;               /* rows have segments, once gb_batch_pairs_declare was called */
    gb_tensor segments;       /* u32 [1, rows]: token type, 1 from the second text of a pair on */
    gb_row_index by_segment;  /* rows of each token type */
    bool spanned;             /* attention has a bias by distance, and goes by what follows */
    gb_tensor spans;          /* u32 [sequences, 4], see gb_attention_gqa */
    gb_tensor buckets;        /* u32 [1, 2 max_length - 1]: bucket of each distance */
    gb_row_index by_bucket;   /* distances of each bucket */
    gb_tensor angles, local_angles; /* ModernBERT: f32 [rows, head], of all layers but local ones,
                                       and of these (gb_rotary) */
    bool windowed;                  /* a text may be longer than a window, so that there are */
    gb_tensor window;               /* u32 [rows, words]: keys that a row sees in local layers */
} gb_batch_inputs;

/* ---- building a model on a tape ---- */

/* What building needs to know everywhere. */
typedef struct gb_builder {
    gb_tape *tape;           /* program being built */
    float dropout;           /* of hidden states and embeddings; 0 when not training */
    float attention_dropout; /* of attention probabilities */
    float eps;               /* of layer norms */
    uint32_t max_length;     /* longest sequence in tokens */
    uint32_t dropouts;       /* dropouts built so far */
    bool recompute;          /* layers are computed again for their gradient, not kept */
    gb_tensor vectors;       /* set by what builds a part of a batch, see gb_microbatch */
    gb_padding *padding;     /* counts the rows of its batches, or NULL */
    gb_tensor no_bias;       /* zeros [1, no_bias_cols], once a norm without bias needs them */
    uint32_t no_bias_cols;   /* 0: not declared */
} gb_builder;

/* Returns what a forward pass without gradients is built with: nothing is dropped. */
gb_builder gb_builder_forward(gb_tape *tape, const gb_bert_config *config, uint32_t max_length);
/* Fill the lists of the rows of each entry from ids [rows]; those not declared are left alone. */
bool gb_row_index_fill(gb_executable *exec, const gb_row_index *order, const uint32_t *ids,
                       uint32_t rows, uint32_t entries, gb_status *status);

/* The following functions declare inputs together with their source, from which gb_executable_fill
 * writes them before each run. A source, such as `batch`, must stay at its address as long as the
 * program; its contents may change from run to run. */

/* Declares a batch of at most `rows` rows and `count` sequences. Sequences that the source lacks
 * are empty, as in the last part of a batch. `seed` and the step key the dropout. */
gb_batch_inputs gb_batch_declare(gb_builder *builder, const gb_bert_config *config, uint32_t rows,
                                 uint32_t count, const gb_batch *batch, uint64_t seed);
/* Declares the segments of the batch of `in`, whose sequences are pairs; config has two token types
 * or more. */
void gb_batch_pairs_declare(gb_builder *builder, const gb_bert_config *config, gb_batch_inputs *in,
                            const gb_batch *batch);
/* Declares the first rows of at most `count` texts of a batch of `rows`, from text `first` on. */
gb_selection gb_first_rows_declare(gb_builder *builder, uint32_t count, uint32_t rows,
                                   const gb_batch *batch, uint32_t first);
/* The same of their last rows. */
gb_selection gb_last_rows_declare(gb_builder *builder, uint32_t count, uint32_t rows,
                                  const gb_batch *batch, uint32_t first);
/* Declares rows [first, first + count) of `rows`. */
gb_selection gb_row_range_declare(gb_builder *builder, uint32_t count, uint32_t rows,
                                  uint32_t first);
/* Declares rows without a source: the caller registers a function that calls gb_selection_fill. */
gb_selection gb_selection_declare(gb_builder *builder, uint32_t count, uint32_t rows);
/* Writes selected[0..selected_count), distinct rows of the batch, to places from `first` on of the
 * index; the rest of it is GB_NO_ROW. */
bool gb_selection_fill(gb_executable *exec, const gb_selection *in, const uint32_t *selected,
                       uint32_t selected_count, uint32_t first, gb_status *status);
gb_tensor gb_selection_gather(gb_builder *builder, gb_tensor x, const gb_selection *in);

/* Rows of a batch whose last states something reads, ascending. Zero-initialise. */
typedef struct gb_selected_rows {
    uint32_t *rows;  /* [count] */
    uint32_t count;  /* rows */
    size_t capacity; /* of the array */
} gb_selected_rows;
void gb_selected_rows_free(gb_selected_rows *list);
/* The rows of two ascending lists. */
bool gb_selected_rows_list(gb_selected_rows *list, const uint32_t *a, uint32_t a_count,
                           const uint32_t *b, uint32_t b_count, gb_status *status);
/* The rows whose states become the vectors of texts: their last ones, or (any other kind) first. */
bool gb_selected_rows_pooled(gb_selected_rows *list, const gb_batch *texts, gb_pooling kind,
                             gb_status *status);
/* Returns what is declared for such a list in a batch of `rows`: its bucket, or all rows if few are
 * left out. */
uint32_t gb_selected_rows_bucket(const uint32_t *a, uint32_t a_count, const uint32_t *b,
                                 uint32_t b_count, uint32_t rows);
/* Declares in->read for the batch of `in`, at most `bucket` rows. */
void gb_selected_rows_declare(gb_builder *builder, gb_batch_inputs *in, uint32_t bucket,
                              const gb_batch *batch, const gb_selected_rows *list);

/* What makes one vector of each text of a batch. */
typedef struct gb_pooling_inputs {
    bool mean;        /* of all rows of a text, else one of them */
    gb_selection one; /* first or last rows */
    gb_sparse means;  /* all rows */
} gb_pooling_inputs;
typedef struct gb_pooling_params {
    gb_pooling kind;      /* unstated: [CLS] */
    uint32_t texts;       /* vectors; zero where the batch has fewer texts */
    uint32_t first;       /* text of the batch that has the first vector */
    uint32_t rows;        /* of the batch */
    uint32_t max_length;  /* tokens of a text */
    const uint32_t *skip; /* first tokens of every text that a mean leaves out, read before each
                             run; NULL: none */
} gb_pooling_params;
gb_pooling_inputs gb_pooling_declare(gb_builder *builder, const gb_pooling_params *params,
                                     const gb_batch *batch);
/* h [rows, H] -> [texts, H] */
gb_tensor gb_pooling_apply(gb_builder *builder, gb_tensor h, const gb_pooling_inputs *in);

/* Which sequence each row of a batch belongs to: gives a vector of each sequence to its rows. */
typedef struct gb_broadcast_inputs {
    gb_tensor sequence;       /* u32 [1, rows]: number of the sequence; padding: GB_NO_ROW */
    gb_row_index by_sequence; /* rows of each sequence */
    uint32_t rows;            /* of the bucket */
    uint32_t count;           /* sequences */
} gb_broadcast_inputs;
gb_broadcast_inputs gb_broadcast_declare(gb_builder *builder, uint32_t rows, uint32_t count,
                                         const gb_batch *batch);
/* y[r] = x[sequence of r] (+ addend[r]), zero (addend) in the padding: x [count, H], addend [rows,
 * H] or GB_NO_TENSOR. */
gb_tensor gb_broadcast(gb_builder *builder, gb_tensor x, const gb_broadcast_inputs *in,
                       gb_tensor addend);

/* One Transformer layer: parameters of BertLayer, query, key and value together. A layer of
 * ModernBERT has no biases; its norm1 is that before its attention, norm2 that before its
 * feed-forward part, whose up_weight has both halves [2F, H]. */
typedef struct gb_block {
    uint32_t qkv_weight, qkv_bias;     /* [3H, H], [1, 3H] */
    uint32_t out_weight, out_bias;     /* [H, H], [1, H] */
    uint32_t norm1_weight, norm1_bias; /* [1, H] */
    uint32_t up_weight, up_bias;       /* [F, H], [1, F] */
    uint32_t down_weight, down_bias;   /* [H, F], [1, H] */
    uint32_t norm2_weight, norm2_bias; /* [1, H] */
    uint32_t hidden, heads;            /* H; heads */
    uint32_t distance_bias; /* [buckets, heads], of all layers; UINT32_MAX: there is none */
    bool local;             /* ModernBERT: looks at a window alone */
} gb_block;
/* Declare the parameters of a layer that is no part of the encoder, under `prefix` (e.g.
 * "decoder.layer.0"). */
bool gb_block_declare(gb_params *params, const char *prefix, const gb_bert_config *config,
                      gb_block *block, gb_status *status);
/* Give the parameters of one layer the values of another's. */
void gb_block_copy(const gb_params *params, const gb_block *from, const gb_block *to,
                   float *values);
/* Post-norm layer of BERT: x = LN(x + Attention(x)); x = LN(x + FFN(x)). */
gb_tensor gb_block_apply(gb_builder *builder, const gb_block *block, const gb_batch_inputs *in,
                         gb_tensor x);
/* The same as the last layer: where in->read is declared, those rows alone are its queries and are
 * computed, and the others are zero. */
gb_tensor gb_block_apply_last(gb_builder *builder, const gb_block *block, const gb_batch_inputs *in,
                              gb_tensor x);
/* Pre-norm layer of GPT-2 with a causal mask; window 0: all earlier tokens, else the last `window`
 * tokens, itself among them, and always token 0. */
gb_tensor gb_block_apply_causal(gb_builder *builder, const gb_block *block,
                                const gb_batch_inputs *in, gb_tensor x, uint32_t window);

/* A layer whose queries come from another stream than keys and values (RetroMAE, Xiao et al.,
 * 2022).
 */
typedef struct gb_query_block {
    uint32_t query_weight, query_bias; /* [H, H], [1, H] */
    uint32_t kv_weight, kv_bias;       /* key and value together: [2H, H], [1, 2H] */
    gb_block rest;                     /* all but query, key and value */
} gb_query_block;
bool gb_query_block_declare(gb_params *params, const char *prefix, const gb_bert_config *config,
                            gb_query_block *block, gb_status *status);
/* x = LN(queries + Attention(queries, states)); x = LN(x + FFN(x)). queries and states [rows, H];
 * bits as in gb_attention_params. A row that sees nothing gets nothing from the states. */
gb_tensor gb_query_block_apply(gb_builder *builder, const gb_query_block *block,
                               const gb_batch_inputs *in, gb_tensor queries, gb_tensor states,
                               gb_tensor bits);

/* A layer of a decoder whose memory is one vector a sequence (SEED, Lu et al., 2021). Attention
 * over one key has weight 1 whatever the query: only value and output matrix of the cross attention
 * matter, and only they exist. */
typedef struct gb_memory_block {
    gb_block self;                     /* self-attention and feed-forward */
    uint32_t value_weight, value_bias; /* cross attention: [H, H], [1, H] */
    uint32_t out_weight, out_bias;     /* [H, H], [1, H] */
    uint32_t norm_weight, norm_bias;   /* [1, H] */
} gb_memory_block;
bool gb_memory_block_declare(gb_params *params, const char *prefix, const gb_bert_config *config,
                             gb_memory_block *block, gb_status *status);
/* Post-norm: x = LN(x + Attention(x)), causal with `window` as in gb_block_apply_causal;
 * x = LN(x + W_o (W_v memory)); x = LN(x + FFN(x)). memory [sequences, H]. */
gb_tensor gb_memory_block_apply(gb_builder *builder, const gb_memory_block *block,
                                const gb_batch_inputs *in, const gb_broadcast_inputs *spread,
                                gb_tensor x, gb_tensor memory, uint32_t window);

/* A dense layer on the vector of a text: x, W x + b, or tanh(W x + b). */
typedef enum gb_projector_kind {
    GB_PROJECTOR_NONE,
    GB_PROJECTOR_LINEAR,
    GB_PROJECTOR_NONLINEAR
} gb_projector_kind;
typedef struct gb_projector {
    gb_projector_kind kind; /* none: no parameters */
    uint32_t weight, bias;  /* [H, H], [1, H] */
} gb_projector;
extern const char *const gb_projector_names[]; /* by kind, ended by NULL */
/* Parameters "<prefix>.weight" and "<prefix>.bias". */
bool gb_projector_declare(gb_params *params, const char *prefix, gb_projector_kind kind,
                          const gb_bert_config *config, gb_projector *projector, gb_status *status);
gb_tensor gb_projector_apply(gb_builder *builder, const gb_projector *projector, gb_tensor x);

/* A BERT encoder with its tied masked-LM head. ModernBERT has no position and no type, and no
 * biases but that of the head: those are UINT32_MAX. */
typedef struct gb_bert {
    gb_bert_config config;                     /* sizes */
    uint32_t word, position, type;             /* [V, H], [P, H], [T, H]; not there without T */
    uint32_t norm_weight, norm_bias;           /* of the embeddings */
    uint32_t final_norm;                       /* ModernBERT: of the last states, [1, H] */
    gb_block *blocks;                          /* [config.layers] */
    bool head;                                 /* has the masked-LM head */
    uint32_t transform_weight, transform_bias; /* [H, H], [1, H] */
    uint32_t head_norm_weight, head_norm_bias; /* [1, H] */
    uint32_t head_bias;                        /* [1, V] */
    gb_projector projector; /* of a retriever, part of its vectors; none of an encoder */
} gb_bert;
bool gb_bert_declare(gb_params *params, const gb_bert_config *config, bool head, gb_bert *bert,
                     gb_status *status);
/* Declare the encoder once more as a state that starts with zeros, its names behind `front` (e.g.
 * "momentum."). Parameter i of the copy, from copy->word on, is of the same kind and size as
 * parameter i of the encoder, from bert->word on. gb_bert_free after use. */
bool gb_bert_declare_copy(gb_params *params, const char *front, const gb_bert *bert, gb_bert *copy,
                          gb_status *status);
/* The same for another encoder, which is trained, such as that of queries. */
bool gb_bert_declare_tower(gb_params *params, const char *front, const gb_bert *bert,
                           gb_bert *tower, gb_status *status);
/* Add the projector of a retriever: "retriever.linear" or "retriever.nonlinear". */
bool gb_bert_add_projector(gb_params *params, gb_bert *bert, gb_projector_kind kind,
                           gb_status *status);
/* The kind that the retriever in a folder has, by the names of its parameters. */
gb_projector_kind gb_folder_projector(const gb_folder *folder);
/* Before training: the values of a new projector, random, or from the folder of an encoder that was
 * pre-trained with one ("projector", COSTA). Nothing where the folder is a retriever with the same
 * kind, which gb_model_load reads, or where there is no projector. */
bool gb_bert_start_projector(const gb_folder *folder, const gb_params *params, const gb_bert *bert,
                             uint64_t seed, float *values, gb_status *status);
void gb_bert_free(gb_bert *bert);
/* Embeddings: LN(word + position + type), then dropout. */
gb_tensor gb_bert_embed(gb_builder *builder, const gb_bert *bert, const gb_batch_inputs *in);
/* Layer `index` of the encoder, and what follows on the last one: the last norm of ModernBERT, of
 * others nothing. */
gb_tensor gb_bert_layer(gb_builder *builder, const gb_bert *bert, uint32_t index,
                        const gb_batch_inputs *in, gb_tensor x);
gb_tensor gb_bert_end(gb_builder *builder, const gb_bert *bert, gb_tensor x);
/* Last layer's states, where in->read is declared of those rows alone, the others zero. middle (may
 * be NULL) gets the output of layer `middle_layer` (0: the embeddings). */
gb_tensor gb_bert_encode(gb_builder *builder, const gb_bert *bert, const gb_batch_inputs *in,
                         uint32_t middle_layer, gb_tensor *middle);
/* The same of the rows in->read, which must be declared, as [in->read.count, H]. */
gb_tensor gb_bert_encode_rows(gb_builder *builder, const gb_bert *bert, const gb_batch_inputs *in);
/* Vectors of texts from pooled states [texts, H]: projected where bert has a projector, of length 1
 * with `normalize`. */
gb_tensor gb_sentence_vectors(gb_builder *builder, const gb_bert *bert, bool normalize,
                              gb_tensor pooled);
/* The head of a cross-encoder, transformers' BertForSequenceClassification with one label: a dense
 * layer with tanh on the state of [CLS] (BERT's pooler), dropout, and a linear layer to one logit.
 */
typedef struct gb_pair_head {
    uint32_t pooler_weight, pooler_bias; /* [H, H], [1, H]: bert.pooler.dense */
    uint32_t weight, bias;               /* [1, H], [1, 1]: classifier */
} gb_pair_head;
bool gb_pair_head_declare(gb_params *params, const gb_bert_config *config, gb_pair_head *head,
                          gb_status *status);
/* Before training: fresh values of those parts of the head, pooler and classifier, that the folder
 * lacks. */
bool gb_pair_head_start(const gb_folder *folder, const gb_params *params, const gb_pair_head *head,
                        uint64_t seed, float *values, gb_status *status);
/* Logits of pairs [in->read.count, 1] from the batch of `in`, which has segments, and whose rows
 * read are the first of each pair. biased: with the classifier's bias; a loss that sees differences
 * of scores alone would move it by rounding only. */
gb_tensor gb_pair_scores(gb_builder *builder, const gb_bert *bert, const gb_pair_head *head,
                         const gb_batch_inputs *in, bool biased);
/* Rows whose logits are made at once: those of a chunk stay below 64 MiB. */
uint32_t gb_chunk_rows(uint32_t vocab_size);
/* What the masked LM's output matrix is multiplied with: transform, GELU, LN of h [R, H]. */
gb_tensor gb_bert_head_states(gb_builder *builder, const gb_bert *bert, gb_tensor h);
/* Masked-LM loss of selected states h [R, H]: transform, GELU, LN, tied output matrix, bias.
 * sum_r weights[r] * CE. labels u32 [R, 1], weights f32 [R, 1]. */
gb_tensor gb_bert_mlm_loss(gb_builder *builder, const gb_bert *bert, gb_tensor h, gb_tensor labels,
                           gb_tensor weights);
/* Which rows of a batch are whose: an input as gb_sequences_input, of the first `texts` texts
 * without the padding behind them; texts that the batch lacks have no rows. */
gb_tensor gb_texts_declare(gb_builder *builder, uint32_t texts, const gb_batch *batch);
/* Weights of the vocabulary's terms in these texts (gb_term_weights), by the masked-LM head from
 * the last states h [rows, H] -> [texts, V] (SPLADE, Formal et al., 2021). */
gb_tensor gb_bert_term_weights(gb_builder *builder, const gb_bert *bert, gb_tensor h,
                               gb_tensor texts);
/* Tokens that the masked LM draws at selected states h [R, H] -> u32 [R, 1] (gb_sample_rows). */
gb_tensor gb_bert_mlm_sample(gb_builder *builder, const gb_bert *bert, gb_tensor h,
                             gb_tensor sequences);

/* ---- checkpoints ---- */

/* A tensor of a model folder that holds a parameter or a part of one. */
typedef struct gb_file_part {
    char name[GB_WEIGHT_NAME]; /* in the file */
    uint32_t rows, cols;       /* of the part, as the file has them; of a vector one row */
    uint64_t at;               /* its first float in the parameter, whose rows have `ld` floats */
    bool vector;               /* stored as [cols] */
} gb_file_part;
/* Returns how many tensors of files a parameter is made of; a state is in none. */
uint32_t gb_param_part_count(const gb_param *param);
/* Describes tensor `index` of them. */
void gb_param_part(const gb_param *param, uint32_t index, gb_file_part *part);
/* All tensors of a model as files get them. The values stay where they are. */
typedef struct gb_file_tensors {
    gb_weight *model, *aside;        /* tensors of the two files */
    size_t model_count, aside_count; /* how many */
    gb_arena *names;                 /* keeps their names */
} gb_file_tensors;
/* Lists the tensors of all parameters; values [gb_params_floats] must outlive the list. Call
 * gb_file_tensors_free also after a failure. */
bool gb_file_tensors_make(gb_file_tensors *list, const gb_params *params, const float *values,
                          gb_status *status);
void gb_file_tensors_free(gb_file_tensors *list);
/* Copy what a model folder has into values [gb_params_floats]: the encoder always; the masked-LM
 * head and other parameters (heads, decoders) where the folder has them, otherwise their values
 * stay, and so do those of word embeddings behind the folder's. */
bool gb_model_load(const gb_folder *folder, const gb_params *params, float *values,
                   gb_status *status);
/* The values that a training starts from: those of gb_params_init where the folder (or NULL) has
 * none, which alone are drawn, and the folder's. */
bool gb_model_start(const gb_folder *folder, const gb_params *params, uint64_t seed, float *values,
                    gb_status *status);
/* Write a model folder: canonical weights into model.safetensors, all other parameters into
 * gabbro.safetensors. how: pooling and lengths that the folder states. */
bool gb_model_save(const char *path, const gb_bert_config *config, const gb_params *params,
                   const float *values, const gb_vocab *vocab, gb_tokenizer_params tokenizer,
                   const gb_sentence_settings *how, const gb_model_card *card, gb_status *status);

/* ---- encoding ---- */

/* Arithmetic of encoding rows of a table (NULL: the first `count`), each to the state of its first
 * token. */
double gb_encode_flops(const gb_bert_config *config, const gb_row_file *tokens,
                       const uint32_t *rows, uint32_t count, uint32_t max_length);

/* Texts to encode: the rows rows[first .. first + count) of a table of token ids. */
typedef struct gb_encode_rows {
    const gb_row_file *tokens; /* u32 ids, without special tokens; NULL: the texts of ids */
    const uint32_t *ids;       /* ids of texts in memory, one text behind the other */
    const size_t *starts;      /* [texts + 1] where each begins in ids, and the end */
    const uint32_t *rows;      /* see above; NULL: the rows first .. first + count themselves */
    uint32_t first, count;     /* see above */
    const char *label;         /* of a progress line, and of messages; NULL: there is no line */
} gb_encode_rows;

/* Cuts a vector after its first `dims` numbers, as Matryoshka models allow (Kusupati et al., 2022);
 * unit: what is left is scaled to length 1 again. */
void gb_vector_cut(float *vector, uint32_t dims, bool unit);
/* Ids of text `index` of them, from 0. */
const uint32_t *gb_encode_text(const gb_encode_rows *texts, uint32_t index, size_t *length);

/* What makes vectors of texts. All that is pointed to must outlive the encoder. */
typedef struct gb_encoder_params {
    gb_device *device;       /* that computes */
    const gb_bert *bert;     /* the model */
    const gb_params *params; /* its parameters */
    const float *values;     /* their values */
    gb_sentence_settings
        sentence;            /* pooling (unstated: [CLS]), and whether vectors have length 1 */
    gb_special_ids specials; /* put around every text */
    uint32_t max_length;     /* tokens of a text with them; longer ones are cut */
    uint32_t batch_rows;     /* tokens of a batch, of which no text has more; 0: many */
    uint32_t dims;           /* numbers of a vector that are kept (gb_vector_cut); 0: all */
    gb_state *state;         /* values on the device, for several encoders; NULL: its own */
} gb_encoder_params;

/* A recorded program that makes vectors, projected where the model has a projector. */
typedef struct gb_encoder gb_encoder;
gb_encoder *gb_encoder_create(const gb_encoder_params *params, gb_status *status);
/* Floats of a vector: H or fewer, or V of terms. */
uint32_t gb_encoder_width(const gb_encoder *encoder);
/* From now on a mean is over the tokens of a text behind its first `tokens`, [CLS] among them; of a
 * text that has no more its vector is zero. Other poolings take no notice. */
void gb_encoder_leave_out(gb_encoder *encoder, uint32_t tokens);
/* Vectors of the texts into out [count, width]: the same bits whatever else is encoded with
 * them. */
bool gb_encoder_run(gb_encoder *encoder, const gb_encode_rows *texts, float *out,
                    gb_status *status);
/* Takes the vector of a text; false and status on failure. */
typedef bool gb_vector_fn(void *ctx, uint32_t text, const float *vector, gb_status *status);
/* The same, but vectors go to a function, text after text from 0 on. */
bool gb_encoder_each(gb_encoder *encoder, const gb_encode_rows *texts, gb_vector_fn *take,
                     void *ctx, gb_status *status);
gb_padding gb_encoder_padding(const gb_encoder *encoder); /* of all runs */
void gb_encoder_destroy(gb_encoder *encoder);             /* NULL ok */
/* The same for once: create, run, destroy. */
bool gb_encode(const gb_encoder_params *params, const gb_encode_rows *texts, float *out,
               gb_status *status);

/* ---- scores of pairs ---- */

/* A query and a passage, rows of two tables of tokens. */
typedef struct gb_text_pair {
    uint32_t query, passage; /* rows */
} gb_text_pair;

/* What makes scores of pairs. All that is pointed to must outlive the scorer. */
typedef struct gb_pair_scorer_params {
    gb_device *device;                             /* that computes */
    const gb_bert *bert;                           /* the model */
    const gb_pair_head *head;                      /* its head */
    const gb_params *params;                       /* the parameters of both */
    const float *values;                           /* their values */
    gb_special_ids specials;                       /* put around the texts */
    const gb_row_file *queries, *passages;         /* ids of the texts, for gb_pair_scorer_run */
    uint32_t max_query_length, max_passage_length; /* tokens of a text with two specials */
    uint32_t max_length;                           /* of a pair, see gb_batch_add_pair */
} gb_pair_scorer_params;

/* A recorded program of a cross-encoder. */
typedef struct gb_pair_scorer gb_pair_scorer;
gb_pair_scorer *gb_pair_scorer_create(const gb_pair_scorer_params *params, gb_status *status);
/* Logits of pairs into scores [count]: the same bits whatever else is scored with them. */
bool gb_pair_scorer_run(gb_pair_scorer *scorer, const gb_text_pair *pairs, uint32_t count,
                        float *scores, gb_status *status);
/* The same of texts in memory: queries [count] and passages [count], whole. */
bool gb_pair_scorer_texts(gb_pair_scorer *scorer, const gb_token_text *queries,
                          const gb_token_text *passages, uint32_t count, float *scores,
                          gb_status *status);
gb_padding gb_pair_scorer_padding(const gb_pair_scorer *scorer); /* of all runs */
void gb_pair_scorer_destroy(gb_pair_scorer *scorer);             /* NULL ok */
/* Arithmetic of scoring these pairs, from the lengths of params alone. */
double gb_pair_flops(const gb_pair_scorer_params *params, const gb_bert_config *config,
                     const gb_text_pair *pairs, uint32_t count);

#endif
