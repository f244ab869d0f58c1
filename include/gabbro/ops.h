/* Operations module: what a tape can compute. Each function appends nodes and returns the result's
 * tensor; a misuse (shapes that do not fit) is remembered by the tape and reported by gb_tape_ok.
 * Every operation has its file in src/ops with kernels, gradient and float64 reference. */
#ifndef GABBRO_OPS_H
#define GABBRO_OPS_H

#include <gabbro/tape.h>

/* ---- products ---- */

typedef enum gb_matmul_form { GB_NN, GB_NT, GB_TN } gb_matmul_form;

/* C = op(A) op(B): NN [M,K][K,N], NT [M,K][N,K], TN [K,M][K,N] -> [M,N]. */
gb_tensor gb_matmul(gb_tape *tape, gb_matmul_form form, gb_tensor a, gb_tensor b);
/* The layer of torch.nn.Linear, with an optional GELU (exact erf form) and residual:
 * y = act(x W^T + b) (+ residual). x [N,K], W [M,K], bias [1,M] or none, residual [N,M] or none. */
gb_tensor gb_linear(gb_tape *tape, gb_tensor x, gb_tensor weight, gb_tensor bias, bool gelu,
                    gb_tensor residual);

/* ---- layers ---- */

/* An index from entries to rows, such as from a token to the rows of a batch that have it, in the
 * form of compressed sparse rows. Gradients of embeddings are summed by it. The host fills it with
 * gb_row_index_sort. */
typedef struct gb_row_index {
    gb_tensor
        starts; /* input u32 [1, entries + 1]: rows of entry v are order[starts[v]..starts[v+1]) */
    gb_tensor order; /* input u32 [1, rows] */
} gb_row_index;
gb_row_index gb_row_index_input(gb_tape *tape, const char *name, uint32_t entries, uint32_t rows);
/* Fills an index by counting sort of ids[0..rows); rows with id >= entries belong to no entry. */
void gb_row_index_sort(const uint32_t *ids, uint32_t rows, uint32_t entries, uint32_t *starts,
                       uint32_t *order);

/* BERT's embedding: word[ids] + position[positions] + type[0]. ids, positions u32 [1, N]; tables
 * [V,H], [P,H], [2,H]. */
gb_tensor gb_embed(gb_tape *tape, gb_tensor ids, gb_tensor positions, gb_row_index by_id,
                   gb_row_index by_position, gb_tensor word, gb_tensor position, gb_tensor type);
/* Layer norm: (x - mean) / sqrt(var + eps) * gamma + beta over the rows of x [N,H]; gamma, beta
 * [1,H]. */
gb_tensor gb_layer_norm(gb_tape *tape, gb_tensor x, gb_tensor gamma, gb_tensor beta, float eps);

typedef enum gb_mask_kind {
    GB_MASK_NONE,
    GB_MASK_CAUSAL,
    GB_MASK_WINDOW,
    GB_MASK_BITS
} gb_mask_kind;

/* Sequences batch one behind the other in the rows of a tensor. Input u32 [1, 4 + sequences + 1]:
 * seed low, seed high, step (for dropout), then, of a part of a batch, the row of the whole batch
 * that row 0 is (else 0), then the first row of each sequence and the end. */
gb_tensor gb_sequences_input(gb_tape *tape, const char *name, uint32_t sequences);
#define GB_SEQUENCES_HEADER 4
/* The same of a batch of which some rows are selected, ascending: behind that input's words stand
 * the first slot of each sequence's rows and the end [sequences + 1], and then the row of the batch
 * in each slot [queries]. All slots belong to sequences; what only fills the list up may name any
 * row. */
gb_tensor gb_selection_input(gb_tape *tape, const char *name, uint32_t sequences, uint32_t queries);

typedef struct gb_attention_params {
    uint32_t heads;         /* heads; head dimension = width / heads, a multiple of 4 */
    gb_mask_kind mask;      /* which keys a query sees, inside its own sequence */
    uint32_t window;        /* GB_MASK_WINDOW: itself and window-1 before, and always key 0 */
    gb_tensor bits;         /* GB_MASK_BITS: u32 [N, words], bit j of row i: query i sees key j */
    uint32_t max_length;    /* longest sequence that can occur, for the launch size */
    float dropout;          /* of attention probabilities; 0 none */
    uint32_t dropout_index; /* number of this dropout in the model */
    bool selected;          /* q has the rows that `sequences` selects (gb_selection_input) */
} gb_attention_params;
/* Multi-head scaled dot-product attention within the sequences of a batch. q [N, ...] at column
 * q_col, k and v in kv at k_col and v_col, each `width` columns wide; result [N, width] has the
 * rows of q, which may be a selection of the rows of kv: masks and draws go by the row in the
 * batch. q and kv may be one tensor. Its gradient has these columns alone, so there must be no
 * others. */
gb_tensor gb_attention(gb_tape *tape, gb_tensor sequences, gb_tensor q, uint32_t q_col,
                       gb_tensor kv, uint32_t k_col, uint32_t v_col, uint32_t width,
                       const gb_attention_params *params);
/* Cuts x in two copies, parts[0] and parts[1]: rows [0, first) and the others, or where x has one
 * row columns, in multiples of 4. */
void gb_cut(gb_tape *tape, gb_tensor x, uint32_t first, gb_tensor parts[2]);
/* Dropout: zeroes each element of x with probability p and scales the others by 1/(1-p). The draw
 * is Philox of (seed, step, site, element of the whole batch). sequences: any sequences input,
 * which has seed, step and the first row; selected: x has the rows that it selects. */
gb_tensor gb_dropout(gb_tape *tape, gb_tensor x, float p, uint32_t dropout_index,
                     gb_tensor sequences, bool selected);

/* ---- layers of language models ---- */

/* RMS norm: x / sqrt(mean(x^2) + eps) * gamma over the rows of x [N,H]; gamma [1,H]. */
gb_tensor gb_rms_norm(gb_tape *tape, gb_tensor x, gb_tensor gamma, float eps);

/* Rotary position embedding: in the first `cols` columns of x [N,W], which are heads of head_dim (a
 * multiple of 8) columns, the pairs c and c + head_dim / 2 are rotated by an angle; the columns
 * after them are copied. angles f32 [N, head_dim] has the cosines and then the sines of each row
 * (gb_rotary_fill). */
gb_tensor gb_rotary(gb_tape *tape, gb_tensor x, gb_tensor angles, uint32_t head_dim, uint32_t cols);
/* Writes the head_dim values of a row at a position: angles position * theta^(-2c / head_dim). */
void gb_rotary_fill(double theta, uint32_t head_dim, uint32_t position, float *angles);

typedef enum gb_act { GB_ACT_RELU, GB_ACT_GELU, GB_ACT_GELU_TANH, GB_ACT_SILU } gb_act;
/* An activation: act(x), or with `gated` act(left half of the columns) * right half, x [N,2F] ->
 * [N,F]; F is a multiple of 4. GB_ACT_GELU is the exact form, GB_ACT_GELU_TANH what transformers
 * calls gelu_new.
 */
gb_tensor gb_gate(gb_tape *tape, gb_tensor x, gb_act kind, bool gated);

typedef struct gb_attention_gqa_params {
    uint32_t heads;    /* of queries */
    uint32_t kv_heads; /* of keys and values; divides heads */
    uint32_t head_dim; /* columns of a head, a multiple of 4 */
    float scale;       /* of the scores; 1: none */
    bool causal;    /* the queries are the last of the keys, and see themselves and those before */
    gb_tensor bias; /* f32 [2 R + 1, heads]: row R + j - i is added to the score of place i and key
                       j; R + 1 at least the longest text; or GB_NO_TENSOR */
    uint32_t max_q; /* most queries of a sequence, for the launch size */
    uint32_t max_k; /* most keys of a sequence */
} gb_attention_gqa_params;
/* Attention of language models, where several heads of queries may share keys and values (GQA):
 * rows of q (from column q_col) over rows of kv (keys from k_col, values from v_col) -> [rows of q,
 * heads * head_dim]. spans u32 [sequences, 4]: first row and number of the queries, then of the
 * keys, of every sequence. Where a gradient is wanted, the spans must cover all rows of q and of
 * kv, once. A query without keys gives zero. */
gb_tensor gb_attention_gqa(gb_tape *tape, gb_tensor spans, gb_tensor q, uint32_t q_col,
                           gb_tensor kv, uint32_t k_col, uint32_t v_col,
                           const gb_attention_gqa_params *params);
/* T5's bucket for a key `distance` tokens after its query (Raffel et al., 2020). Half of the
 * buckets are for one distance each, the others for distances up to `most` in logarithmic steps.
 * both_sides: buckets for keys after the query too, otherwise only for keys before it. */
uint32_t gb_distance_bucket(int32_t distance, bool both_sides, uint32_t buckets,
                            uint32_t max_distance);

/* ---- rows ---- */

#define GB_NO_ROW UINT32_MAX

/* Gathers rows: y[r] = x[index[r]], zero where index[r] is GB_NO_ROW. index u32 [1,R]; inverse u32
 * [1, rows of x]: inverse[n] = the r with index[r] = n, or GB_NO_ROW: each row of x is taken at
 * most once. */
gb_tensor gb_gather_rows(gb_tape *tape, gb_tensor x, gb_tensor index, gb_tensor inverse);
/* Puts rows of b over rows of a, such as the [CLS] vectors into slot 0 of a decoder's input: y[n] =
 * b[pick[n]] if pick[n] is a row of b, otherwise a[n]. pick u32 [1, rows of a], inverse u32 [1,
 * rows of b]. */
gb_tensor gb_scatter_rows(gb_tape *tape, gb_tensor a, gb_tensor b, gb_tensor pick,
                          gb_tensor inverse);
/* Looks up rows: y[r] = table[index[r]] (+ addend[r]). A row may be taken any number of times.
 * table and addend may be parameters or activations, addend also GB_NO_TENSOR. index u32 [1,R]
 * (GB_NO_ROW: zero); by_index lists the r of each row of the table (gb_row_index_sort of index). */
gb_tensor gb_lookup_rows(gb_tape *tape, gb_tensor table, gb_tensor index, gb_row_index by_index,
                         gb_tensor addend);
/* table[n] = pick[n] is a row of rows ? rows[pick[n]] : table[n], in place, in a parameter that is
 * not trained. pick u32 [1, rows of table]. */
void gb_replace_rows(gb_tape *tape, gb_tensor table, gb_tensor rows, gb_tensor pick);
/* table[place[n]] = rows[n], in place, in a parameter that is not trained, at the cost of these
 * rows alone. place u32 [1, rows of rows], no row of the table twice; GB_NO_ROW: nowhere.
 */
void gb_put_rows(gb_tape *tape, gb_tensor table, gb_tensor rows, gb_tensor place);

/* A sparse matrix in compressed rows: entry v consists of the rows order[starts[v]..starts[v + 1])
 * with their weights. */
typedef struct gb_csr {
    gb_tensor starts;    /* input u32 [1, entries + 1] */
    gb_tensor order;     /* input u32 [1, most rows in all lists together] */
    gb_tensor weights;   /* input f32 [1, the same] */
    uint32_t max_length; /* rows of the longest list that can occur, for the launch size */
} gb_csr;
/* A sparse matrix to multiply with, and its transpose for the gradient: y[r] is a weighted sum of
 * rows of x. */
typedef struct gb_sparse {
    gb_csr there, back; /* rows of x for each row of y, and the same transposed */
    uint32_t rows;      /* of y */
    uint32_t rows_of_x; /* of x */
    uint32_t entries;   /* most rows in all lists together */
} gb_sparse;
/* max_length: most rows of x in a row of y; max_uses: most rows of y that use a row of x. */
gb_sparse gb_sparse_input(gb_tape *tape, uint32_t rows, uint32_t rows_of_x, uint32_t entries,
                          uint32_t max_length, uint32_t max_uses);
/* starts [rows + 1], order and weights [starts[rows]]; a row without a list becomes zero. */
bool gb_sparse_fill(gb_executable *exec, const gb_sparse *in, const uint32_t *starts,
                    const uint32_t *order, const float *weights, gb_status *status);
/* Fills it so that row r < count of y is the mean of the rows [starts[r] + skip, starts[r + 1]) of
 * x. Other rows of y, and those without rows of x, become zero. starts [count + 1] may begin above
 * 0. */
bool gb_sparse_fill_means(gb_executable *exec, const gb_sparse *in, const uint32_t *starts,
                          uint32_t count, uint32_t skip, gb_status *status);
/* Multiplies: y [rows, H] of x [rows_of_x, H]. */
gb_tensor gb_sparse_matmul(gb_tape *tape, gb_tensor x, const gb_sparse *in);
/* Divides the rows of x by their Euclidean length (at least 1e-8). */
gb_tensor gb_normalize_rows(gb_tape *tape, gb_tensor x);

/* ---- late interaction ---- */

/* Which rows of two matrices of token vectors are whose. Both starts ascend; rows before the first,
 * or from the last on, belong to no text. */
typedef struct gb_max_sim_input {
    gb_tensor query_starts;   /* u32 [1, queries + 1]: first row of each query, and the end */
    gb_tensor passage_starts; /* u32 [1, passages + 1]. GB_NO_ROW behind the end: these passages do
                                 not exist */
    gb_tensor query_tags;     /* u32 [query rows, 1]: two tokens are compared if their tags are
                                 equal; with GB_NO_ROW a token takes no part */
    gb_tensor passage_tags;   /* u32 [1, passage rows, rounded up to a multiple of 4] */
} gb_max_sim_input;
gb_max_sim_input gb_max_sim_declare(gb_tape *tape, uint32_t queries, uint32_t query_rows,
                                    uint32_t passages, uint32_t passage_rows);
/* The score of late interaction (Khattab and Zaharia, 2020): scores[q][p] = sum over the tokens i
 * of query q of max over the tokens j of passage p with the same tag of q_i . p_j -> [queries,
 * passages]. A token i without such a j adds 0; `floor`: so does one whose maximum is negative.
 * With one tag for all tokens that is ColBERT's, with token ids as tags, and floor, COIL's (Gao et
 * al., 2021). A passage that does not exist has -INFINITY. The gradient goes to the token that was
 * the best, among equals the first; all passages must exist. q [query rows, H], p [passage rows,
 * H]. Similarities of tokens are made in chunks of rows of q of some 32 MiB. */
gb_tensor gb_max_sim(gb_tape *tape, gb_tensor q, gb_tensor p, const gb_max_sim_input *in,
                     bool floor);

/* ---- arithmetic ---- */

gb_tensor gb_scale(gb_tape *tape, gb_tensor x, float alpha);
gb_tensor gb_add(gb_tape *tape, gb_tensor a, gb_tensor b);           /* same shape */
gb_tensor gb_scale_by(gb_tape *tape, gb_tensor x, gb_tensor scalar); /* scalar [1,1] */
gb_tensor gb_sqrt_of_sum(gb_tape *tape, gb_tensor x); /* of all elements -> [1,1]; no gradient */
gb_tensor gb_tanh(gb_tape *tape, gb_tensor x);
/* What the gradient, the nodes from `first` on, needs of the forward pass is kept as bfloat16. */
void gb_keep_bfloat16(gb_tape *tape, uint32_t first);

/* ---- losses ---- */

/* Cross entropy: sum_r weight[r] * (-log softmax(logits[r])[label[r]]) -> [1,1]. logits [R,C]
 * (consumed), labels u32 [R,1] (GB_NO_ROW: no loss), weights f32 [R,1], exclude u32 [R, ceil(C/32)]
 * or none: bit c takes column c out of row r. Loss and gradient come from one pass. */
gb_tensor gb_softmax_loss(gb_tape *tape, gb_tensor logits, gb_tensor labels, gb_tensor weights,
                          gb_tensor exclude);
/* Computes gb_softmax_loss of logits = h E^T + bias over a vocabulary: h [R,H], E [V,H], bias [1,V]
 * or none. Logits are computed and turned into gradients in chunks of at most chunk_rows rows, and
 * are never in memory as a whole. */
gb_tensor gb_vocabulary_loss(gb_tape *tape, gb_tensor h, gb_tensor table, gb_tensor bias,
                             gb_tensor labels, gb_tensor weights, uint32_t chunk_rows);
/* Cross entropy against a uniform target over a set of columns:
 * sum_r weight[r] * (log sum_c exp(logits[r][c]) - mean of logits[r] over its targets) -> [1,1].
 * targets u32 [R, ceil(C/32)]: bit c makes column c a target; a row without any has no loss.
 * exclude like targets, or none; no target may be excluded. logits [R,C] (consumed), weights f32
 * [R,1]. */
gb_tensor gb_multilabel_loss(gb_tape *tape, gb_tensor logits, gb_tensor targets, gb_tensor weights,
                             gb_tensor exclude);
/* Computes gb_multilabel_loss of logits over a vocabulary, in chunks like gb_vocabulary_loss;
 * targets u32 [R, ceil(V/32)]. */
gb_tensor gb_vocabulary_multilabel_loss(gb_tape *tape, gb_tensor h, gb_tensor table, gb_tensor bias,
                                        gb_tensor targets, gb_tensor weights, uint32_t chunk_rows);

/* A hinge loss of preferences: sum_r weight[r] * max(0, 1 - p(better) + p(worse)) -> [1,1], where p
 * is the softmax over two columns of row r. scores [R,C] (consumed), pairs u32 [R,2]: better and
 * worse column (GB_NO_ROW: no loss). */
gb_tensor gb_preference_loss(gb_tape *tape, gb_tensor scores, gb_tensor pairs, gb_tensor weights);

/* Divergence of softmax(scores[r]) from wanted probabilities p: sum_r weight[r] * sum_c p[r][c] *
 * (log p[r][c] - log softmax(scores[r])[c]) -> [1,1]. targets f32 [R,C]: p, a row of zeros has no
 * loss; exclude as for gb_softmax_loss, its columns have p = 0. scores [R,C] (consumed), weights
 * f32 [R,1]. */
gb_tensor gb_target_loss(gb_tape *tape, gb_tensor scores, gb_tensor targets, gb_tensor weights,
                         gb_tensor exclude);

/* Which pairs of columns are compared, and how: of each row every positive with every other column
 * that has a weight. */
typedef struct gb_pairs {
    gb_tensor positives; /* u32 [R, ceil(C/32)]: bit c makes column c a positive */
    gb_tensor weights;   /* f32 [R,C]; those of positives count nothing */
    gb_tensor teacher;   /* f32 [R,C], scores whose differences are wanted, or none: 0 */
    gb_tensor ranks;     /* f32 [R,C] of gb_reciprocal_ranks, or none */
    bool square;         /* the loss of a pair is the square of d, else log(1 + exp(-d)) */
} gb_pairs;
/* sum over rows, positives i and others j of weights[j] * lambda * f(d) -> [1,1], with d = s[i] -
 * s[j] - (t[i] - t[j]), s the scores [R,C], t the teacher's, lambda = |ranks[i] - ranks[j]| or 1:
 * MarginMSE (square, Hofstaetter et al., 2020), RankNet and LambdaRank (ranks; Burges, 2010). */
gb_tensor gb_pair_loss(gb_tape *tape, gb_tensor scores, const gb_pairs *pairs);
/* 1 / rank of each column of scores [R,C] in its row, among those of pairs->positives and with a
 * weight; 0 for others and behind rank `cut` (0: none). Of equal scores the lower column is before.
 * No gradient. */
gb_tensor gb_reciprocal_ranks(gb_tape *tape, gb_tensor scores, const gb_pairs *pairs, uint32_t cut);

/* ---- sparse vectors ---- */

/* Weights of the vocabulary's terms in each text: w[t][c] = max over the rows r of text t of
 * log(1 + relu(logits[r][c])) -> [texts, V], with logits = h E^T + bias; h [N,H], E [V,H] a
 * parameter, bias [1,V] a parameter or none; sequences: gb_sequences_input. Rows behind the last
 * text are padding. Logits are computed in chunks of at most chunk_rows rows, and are never in
 * memory as a whole. The gradient goes to the row of the largest logit, the first among equals. */
gb_tensor gb_term_weights(gb_tape *tape, gb_tensor h, gb_tensor table, gb_tensor bias,
                          gb_tensor sequences, uint32_t chunk_rows);
/* The FLOPS regulariser: factor * sum_c (sum_t shares[t] weights[t][c])^2 -> [1,1]; weights [T,C],
 * shares f32 [1,T] (1 / T for the mean), factor f32 [1,1], without gradients of their own. */
gb_tensor gb_flops_loss(gb_tape *tape, gb_tensor weights, gb_tensor shares, gb_tensor factor);

/* ---- draws ---- */

/* Draws a column of each row of logits [R,C] with the probabilities of the row's softmax -> u32
 * [R,1]; GB_NO_ROW for a row without a finite value. The draw of row r is the largest of logits
 * with Gumbel noise, one output of the stream (seed, GB_RNG_DRAW, step, r) a column; sequences: any
 * sequences input (carries seed and step). C below 2^24. No gradient. */
gb_tensor gb_sample_rows(gb_tape *tape, gb_tensor logits, gb_tensor sequences);
/* Draws like gb_sample_rows from logits over a vocabulary, in chunks like gb_vocabulary_loss; the
 * draws do not depend on the chunks. */
gb_tensor gb_vocabulary_sample(gb_tape *tape, gb_tensor h, gb_tensor table, gb_tensor bias,
                               gb_tensor sequences, uint32_t chunk_rows);

/* ---- parameters that are not trained ---- */

/* Exponential moving average, in place: target = m * target + (1 - m) * source. target is an
 * untrained parameter, momentum f32 [1,1] has m; with m = 0 the result is exactly source. */
void gb_ema_update(gb_tape *tape, gb_tensor target, gb_tensor source, gb_tensor momentum);

/* ---- gradients and the optimiser ---- */

/* Appends the gradient of loss [1,1] with respect to every parameter that it depends on; the
 * gradient of all others stays zero. */
bool gb_backward(gb_tape *tape, gb_tensor loss, gb_status *status);
/* Appends it from any tensor, given the gradient of the loss with respect to it, of equal shape. */
bool gb_backward_from(gb_tape *tape, gb_tensor tensor, gb_tensor gradient, gb_status *status);
/* To be called before either: states that part of a tensor's gradient is known, such as from
 * another program; what is appended adds to it. Both have the same shape. */
void gb_initial_gradient(gb_tape *tape, gb_tensor tensor, gb_tensor gradient);
/* To be called before them: gradients of parameters are added to those in the arena instead of
 * replacing them. */
void gb_add_to_gradients(gb_tape *tape);

typedef struct gb_adamw_params {
    float beta1, beta2; /* .9, .999 */
    float eps;          /* 1e-8 */
    float decay;        /* decoupled weight decay of the decayed parameters */
} gb_adamw_params;
/* Input f32 [1,4] of an optimiser tape: learning rate, 1 - beta1^t, sqrt(1 - beta2^t), largest
 * gradient norm (0: no clipping). Scaled: [1,5], then what the gradients are to be multiplied with
 * first, which gb_adamw_fill leaves alone; gradients whose norm is no number then change nothing.
 */
#define GB_ADAMW_UNSCALE 4
gb_tensor gb_adamw_input(gb_tape *tape, bool scaled);
void gb_adamw_fill(const gb_adamw_params *params, uint32_t step, float learning_rate,
                   float max_norm, float values[4]); /* step counts from 1 */
/* Appends the norm of all gradients, clipping, and one AdamW step over the whole arenas. Returns
 * the norm [1,1] of the gradients in the arena. */
gb_tensor gb_adamw(gb_tape *tape, const gb_adamw_params *params, gb_tensor step_values);

/* ---- search ---- */

/* Finds the k largest of each row of scores [Q,C], as bit patterns and column numbers in no
 * particular order: values f32 [Q,k], columns u32 [Q,k]; among equal values the lower column wins;
 * rows with fewer than k columns end with GB_NO_ROW. */
void gb_top_k(gb_tape *tape, gb_tensor scores, uint32_t k, gb_tensor *values, gb_tensor *columns);

/* ---- weights in fewer bits ---- */

/* Matrices that stay in fewer bits on the device and are widened in the kernels that use them; sums
 * are float32. For programs without gradients. */
typedef enum gb_quant {
    GB_QUANT_NONE, /* float32 */
    GB_QUANT_F16,  /* two halves a word */
    GB_QUANT_BF16, /* two bfloat16 a word */
    GB_QUANT_Q8,   /* blocks of 32 columns: a word of float32 scale, then 32 signed bytes q; the
                       values are q * scale, scale the block's largest magnitude / 127 */
} gb_quant;
#define GB_QUANT_BLOCK 32 /* columns of a block of GB_QUANT_Q8 */

extern const char *const gb_packing_names[]; /* "fp32", "fp16", "bf16", "q8", NULL */
/* 32-bit words that a row of `cols` columns takes. */
uint32_t gb_quant_cols(gb_quant quant, uint32_t cols);
/* A row into words [gb_quant_cols], rounded to nearest; false when a value is beyond the type. */
bool gb_quant_pack_row(gb_quant quant, const float *values, uint32_t cols, uint32_t *words);
/* What the kernels make of the words: values [cols]. */
void gb_quant_unpack_row(gb_quant quant, const uint32_t *words, uint32_t cols, float *values);

/* y = x W^T (+ residual): x [N,K], K a multiple of 4; W a parameter [M, gb_quant_cols(K)] whose
 * floats are words, or u32 of that shape; residual [N,M] or GB_NO_TENSOR. Every y is summed in the
 * same order whatever N is. */
gb_tensor gb_quant_linear(gb_tape *tape, gb_tensor x, gb_tensor weight, gb_quant quant,
                          gb_tensor residual);
/* y[r] = table[index[r]], widened to [R, cols]; zero where index[r] is no row. index u32 [1,R]. */
gb_tensor gb_quant_lookup(gb_tape *tape, gb_tensor table, gb_quant quant, uint32_t cols,
                          gb_tensor index);

/* ---- kernels on a device ---- */

/* Variants of kernels that are wrong or cannot run on a device, as bits of its quirks; each has a
 * next best, which runs instead. */
enum {
    GB_QUIRK_NO_LANE_ROWS = GB_QUIRK_OF_KERNELS, /* a row for each lane: for each workgroup */
    GB_QUIRK_NO_SHUFFLE_MATMUL = GB_QUIRK_OF_KERNELS << 1,    /* products by shuffles: by shared
                                                                 memory */
    GB_QUIRK_NO_SHUFFLE_ATTENTION = GB_QUIRK_OF_KERNELS << 2, /* attention by shuffles: every lane
                                                                 reads for itself */
    GB_QUIRK_NO_SHUFFLE_NORM = GB_QUIRK_OF_KERNELS << 3,      /* layer norm by shuffles: by rows */
    GB_QUIRK_NO_MATRIX_KHR = GB_QUIRK_OF_KERNELS << 4, /* products by KHR's matrices: NV's form of
                                                          them, rewritten */
    GB_QUIRK_NO_MATRIX_ATTENTION = GB_QUIRK_OF_KERNELS << 5, /* attention by matrices: of floats */
};
#define GB_QUIRK_SHUFFLES                                                                          \
    (GB_QUIRK_NO_SHUFFLE_MATMUL | GB_QUIRK_NO_SHUFFLE_ATTENTION | GB_QUIRK_NO_SHUFFLE_NORM)
#define GB_QUIRK_VARIANTS (GB_QUIRK_NO_TEXELS | GB_QUIRK_NO_LANE_ROWS | GB_QUIRK_SHUFFLES)
#define GB_QUIRK_MATRICES                                                                          \
    (GB_QUIRK_NO_MATRIX | GB_QUIRK_NO_MATRIX_KHR | GB_QUIRK_NO_BFLOAT16 |                          \
     GB_QUIRK_NO_MATRIX_ATTENTION)
#define GB_QUIRK_TESTED (GB_QUIRK_VARIANTS | GB_QUIRK_MATRICES) /* what the self-test may find */

/* The rules of these kernels, and params to open or find a device for them: the one that `select`
 * names (NULL: the best). */
extern const gb_kernel_rules gb_ops_rules;
gb_device_params gb_ops_device(const gb_config *config, const char *select);
/* Makes programs that are created from now on avoid these variants (GB_QUIRK_TESTED bits), and no
 * others. */
void gb_device_avoid(gb_device *device, uint32_t variants);

/* What a self-test found is kept in a small file for each device, driver and set of shaders.
 * Programs that list or open the device later avoid the variants that were wrong; a device that was
 * refused is not opened. Nothing is read or written if config says selftest=off. */

/* Says whether the device was tested; it is true as well if nothing can be kept. */
bool gb_selftest_known(const gb_config *config, const gb_device_caps *caps);
/* Stores what the self-test found. wrong: GB_QUIRK_VARIANTS bits, which are added to those of an
 * existing record; refused: one line with the kernels that have no right variant, or NULL. */
bool gb_selftest_store(const gb_config *config, const gb_device_caps *caps, uint32_t wrong,
                       const char *refused, gb_status *status);
/* Stores what it found of cooperative matrices, GB_QUIRK_MATRICES bits. They are tested only when
 * they are asked for: a device whose matmuls have operands of GB_FP32 needs no such test. */
bool gb_selftest_store_matrices(const gb_config *config, const gb_device_caps *caps,
                                gb_precision precision, uint32_t wrong, gb_status *status);

/* A choice of tiles (gb_device_caps.tiles) is a number of GB_TILE_CLASSES fields of three bits, one
 * for each class of matmuls; 0 in a field means the profile's own tile. A class depends only on the
 * form of a matmul and on its depth, so that the order of a sum cannot depend on how many rows are
 * computed at once. */
#define GB_TILE_CLASSES 6
#define GB_TILE_BITS    3
#define GB_TILE_DEPTH   512 /* a matmul is deep from this inner dimension on */
#define GB_OTHER_TILES  5   /* tiles 1..5 of a class, besides the profile's own, 0 */
/* Tile of a class in a choice. */
static inline uint32_t gb_tile_of(uint32_t tiles, uint32_t tile_class)
{
    return tiles >> GB_TILE_BITS * tile_class & ((1u << GB_TILE_BITS) - 1);
}
/* Class of a matmul of that form and depth. */
uint32_t gb_tile_class(gb_matmul_form form, uint32_t k);
/* Says whether the device can run a tile of its profile. */
bool gb_tile_fits(const gb_device_caps *caps, uint32_t tile);
/* Writes the sizes of a tile into text: "16 x 64, depth 8". */
void gb_tile_text(const gb_device_caps *caps, uint32_t tile, char *text, size_t size);
/* Says whether the device should use a stored choice but none is stored for this driver. */
bool gb_tiles_wanted(const gb_config *config, const gb_device_caps *caps);
/* Stores a choice for this device, driver and set of kernels. */
bool gb_tiles_store(const gb_config *config, const gb_device_caps *caps, uint32_t tiles,
                    gb_status *status);

#endif
