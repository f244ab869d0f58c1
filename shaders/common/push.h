/* What kernels are told at each launch: their push constants, read by GLSL as the members of a
 * block and by C (src/ops/ops.h) as those of a struct. Names end with what they count: _ld floats
 * of a row with its padding, _ld4 and _col4 the same in vec4s; count is of vec4s. */
#ifndef GABBRO_PUSH_H
#define GABBRO_PUSH_H

/* ---- element by element ---- */

#define ADAMW_PUSH                                                                                 \
    uint count;                                                                                    \
    float beta1, beta2, eps, decay;
#define AXPBY_PUSH                                                                                 \
    uint count;                                                                                    \
    float alpha, beta;
/* rows_at: word of the sequences input that has the row of row 0 of x; 0: it is row 0. */
#define DROPOUT_PUSH                                                                               \
    uint count, dropout_index, threshold;                                                          \
    float scale;                                                                                   \
    uint ld4, rows_at;
/* from4, to4: vec4 of x, and of y, that is the first. */
#define COPY_PART_PUSH     uint count, from4, to4;
#define GATE_PUSH          uint count, ld4; /* of y, or of dy */
#define GELU_BACKWARD_PUSH uint count;
#define MOMENTUM_PUSH      uint count;
#define KEEP_BFLOAT16_PUSH uint count;
#define TANH_PUSH          uint count;
#define SQUARE_SUM_PUSH    uint count, shares;

/* ---- rows ---- */

#define CLEAR_PADDING_PUSH  uint rows, cols, ld;
#define COLUMN_SUM_PUSH     uint rows, ld4, blocks, rows_per_block, column_groups;
#define COMBINE_ROWS_PUSH   uint rows, ld4, source_rows, entries;
#define EMBED_BACKWARD_PUSH uint entries, ld4, rows;
#define EMBED_FORWARD_PUSH  uint rows, ld4, vocabulary, max_positions;
#define GATHER_ROWS_PUSH    uint rows, ld4, source_rows;
#define PACKED_LINEAR_PUSH  uint rows, columns, k4, ldx4, ldw, ldy;
#define PACKED_ROWS_PUSH    uint rows, entries, k4, ldw;
#define PUT_ROWS_PUSH       uint rows, ld4, table_rows;
#define ROTARY_PUSH         uint rows, ld4, turned4;
#define SAMPLE_ROWS_PUSH    uint rows, cols, ld4, first_row, drawn_ld;
#define SUM_PUSH                                                                                   \
    uint rows, cols, ld;                                                                           \
    float alpha;
/* rows from first_row on, of a chunk of logits. */
#define TERM_POOL_PUSH uint first_row, rows, ld4, texts, column_groups;
#define TOP_K_PUSH     uint rows, cols, ld4, k, values_ld, columns_ld;

/* ---- norms ---- */

#define LAYERNORM_FORWARD_PUSH                                                                     \
    uint rows, cols, ld4;                                                                          \
    float eps;                                                                                     \
    uint rows_per_group; /* on texels */
#define LAYERNORM_BACKWARD_PUSH                                                                    \
    uint rows, cols, ld4, blocks, rows_per_block; /* blocks: on texels */
#define LAYERNORM_PARAMS_PUSH uint rows, ld4, blocks, rows_per_block, column_groups;
#define NORMALIZE_ROWS_PUSH                                                                        \
    uint rows, cols, ld4;                                                                          \
    float eps;
#define RMS_NORM_PUSH                                                                              \
    uint rows, cols, ld4;                                                                          \
    float eps;

/* ---- losses ---- */

#define PAIR_LOSS_PUSH  uint rows, cols, ld, bits_ld;
#define PREFERENCE_PUSH uint rows, cols, ld, weights_ld, loss_ld;
/* cut: ranks behind it count nothing. */
#define RECIPROCAL_RANKS_PUSH uint rows, cols, ld, bits_ld, cut;
/* bits_ld: words of a row of bits, of what is left out or of targets. */
#define SOFTMAX_PUSH uint rows, cols, ld, bits_ld, weights_ld, loss_ld;

/* ---- late interaction ---- */

/* rows: of query tokens; columns: passage tokens. best is [rows, best_ld], what was the best [rows,
 * passages]. */
#define MAX_SIM_FORWARD_PUSH uint rows, passages, columns, ld4, best_ld;
#define MAX_SIM_SUM_PUSH     uint rows, queries, passages, best_ld, scores_ld;
/* column_groups: workgroups that share the columns of a row. */
#define MAX_SIM_BACKWARD_PUSH                                                                      \
    uint query_rows, passage_rows, queries, passages;                                              \
    uint q_ld4, p_ld4, scores_ld, column_groups;

/* ---- attention ---- */

/* strips: workgroups that share the rows of one (sequence, head). A row of log-sum-exps has heads
 * of these, then heads of deltas. window, mask_ld: see MASK. site, threshold, keep_scale: stream
 * and threshold of the keep draw, 1 / (1 - p). queries_at, rows_at: words of the
 * sequences input where the starts of the queries are and, unless 0, their rows. */
#define ATTENTION_PUSH                                                                             \
    uint sequences, heads, strips;                                                                 \
    uint q_ld4, q_col4, kv_ld4, k_col4, v_col4;                                                    \
    uint out_ld4, lse_ld;                                                                          \
    uint window, mask_ld;                                                                          \
    float scale;                                                                                   \
    uint dropout_index, threshold;                                                                 \
    float keep_scale;                                                                              \
    uint dq_ld4, dq_col4, dkv_ld4, dk_col4, dv_col4;                                               \
    uint queries_at, rows_at;
/* share: heads of queries that share a head of keys. reach: rows of the bias on each side of
 * distance 0. */
#define ATTEND_PUSH                                                                                \
    uint sequences, heads, share, strips;                                                          \
    uint q_ld4, q_col4, kv_ld4, k_col4, v_col4;                                                    \
    uint out_ld4, lse_ld;                                                                          \
    uint bias_ld, reach;                                                                           \
    float scale;

/* ---- products ---- */

/* tiles_n: column tiles; workgroup w makes tile (w / tiles_n, w % tiles_n). tiles: all tiles of one
 * split; workgroups beyond (of a folded grid) store nothing. k_per_split: a multiple of the K step;
 * >= K without splits. splits: of the second half of a split product: partial sums, [splits, M,
 * lda]. */
#define MATMUL_PUSH                                                                                \
    uint M, N, K;                                                                                  \
    uint lda, ldb, ldc;                                                                            \
    uint tiles_n, tiles, k_per_split, splits;

#endif
