/* What the objectives share that compare vectors of texts. */
#ifndef PRETRAIN_CONTRAST_H
#define PRETRAIN_CONTRAST_H

#include "common.h"

extern const gb_objective objective_bow, objective_costa, objective_ict, objective_simcse,
    objective_contriever, objective_prop, objective_bprop;

/* A text as far as it fits between [CLS] and [SEP]. */
text_ids cut_text(text_ids text, uint32_t longest);

/* Row i belongs to column i: targets and weights of N rows. */
typedef struct pair_inputs {
    gb_tensor labels;  /* u32 [N, 1] */
    gb_tensor weights; /* f32 [N, 1], 1/N */
    uint32_t count;    /* N */
} pair_inputs;
pair_inputs pair_declare(gb_net *net, uint32_t count);
/* Mean of -log exp(a_i . b_i / t) / sum_j exp(a_i . b_j / t). */
gb_tensor pair_loss(gb_net *net, const pair_inputs *in, gb_tensor a, gb_tensor b,
                    double temperature);
bool pair_fill(gb_exec *exec, const pair_inputs *in, gb_status *status);

/* Program of a part of a batch of masked texts that are compared by their first rows: the masked LM
 * is losses[1], and all that a part has. */
void masked_part_build(gb_net *net, const gb_bert *bert, const gb_shape *shape,
                       gb_packed_inputs *in, labelled_inputs *labels, gb_rows_inputs *first,
                       gb_tensor losses[GB_MAX_LOSSES]);

/* A batch of N pairs in one tensor: rows of all first texts, then of all second ones. */
typedef struct side_inputs {
    gb_rows_inputs first, second; /* their rows; of a part of a batch: first has all */
    pair_inputs pairs;            /* first text i belongs to second text i */
} side_inputs;
side_inputs side_declare(gb_net *net, uint32_t count, uint32_t rows);
/* From vectors [2 N, H], one a text. */
gb_tensor side_loss(gb_net *net, const side_inputs *in, gb_tensor vectors, double temperature);
bool side_fill_vectors(gb_exec *exec, const side_inputs *in, gb_status *status);
/* starts [2 N]: first row of each text. */
bool side_fill(gb_exec *exec, const side_inputs *in, const uint32_t *starts, gb_status *status);

#endif
