/* Late module: models of late interaction, whose vectors are of tokens. ColBERT projects every
 * token; COIL has [CLS] and projected tokens, which are compared where their ids are equal. Stands
 * on nn. */
#ifndef GABBRO_LATE_H
#define GABBRO_LATE_H

#include <gabbro/nn.h>

/* ---- the model ---- */

/* A model of late interaction on top of a BERT encoder. */
typedef struct gb_late {
    const gb_late_settings *settings; /* as its folder says; borrowed */
    gb_special_ids specials;          /* of its vocabulary */
    uint32_t weight;                  /* projection of the tokens [width, H] */
    uint32_t bias;                    /* of COIL [1, width]; of ColBERT UINT32_MAX: none */
} gb_late;
/* Declares the projection behind the encoder's parameters: "linear.weight", which ColBERT keeps in
 * the model's own file, or "coil.weight" and "coil.bias". */
bool gb_late_declare(gb_params *params, const gb_bert_config *config,
                     const gb_late_settings *settings, gb_special_ids specials, gb_late *late,
                     gb_status *status);
/* Vectors of the rows of the last states h [N, H] -> [N, width]; of ColBERT scaled to length 1. */
gb_tensor gb_late_vectors(gb_builder *builder, const gb_late *late, gb_tensor h);

/* ---- texts ---- */

/* Which of the two sides a text is on. */
typedef enum gb_late_side { GB_LATE_QUERY, GB_LATE_PASSAGE } gb_late_side;

/* Tokens at most that a text of that side has in a batch. */
uint32_t gb_late_longest(const gb_late *late, gb_late_side side);
/* Appends a text of `length` ids without special tokens. ColBERT: [CLS] marker ids [SEP], then
 * [MASK] up to the length of queries; COIL: [CLS] ids [SEP]. Longer texts are cut. */
bool gb_late_add(const gb_late *late, gb_late_side side, const uint32_t *ids, size_t length,
                 gb_batch *batch, gb_status *status);
/* Tags of the tokens of a text that gb_late_add wrote, batch ids [rows] -> tags [rows], for
 * gb_max_sim: GB_NO_ROW for what takes no part (punctuation of passages; [CLS] and [SEP] of COIL),
 * else 0 (ColBERT) or the id (COIL). */
void gb_late_tags(const gb_late *late, gb_late_side side, const uint32_t *ids, uint32_t rows,
                  uint32_t *tags);
/* Number of tokens that take part, of a text without special tokens. */
uint32_t gb_late_kept(const gb_late *late, gb_late_side side, const uint32_t *ids, size_t length);

/* gb_batch_declare for texts of gb_late_add: where the settings say so, nothing attends to the
 * [MASK]s that fill a query up, although they attend to the query. */
gb_batch_inputs gb_late_batch_declare(gb_builder *builder, const gb_bert_config *config,
                                      const gb_late *late, uint32_t rows, uint32_t count,
                                      const gb_batch *batch, uint64_t seed);

/* ---- encoding ---- */

/* What makes vectors of tokens. All that is pointed to must outlive the encoder. */
typedef struct gb_late_encoder_params {
    gb_device *device;       /* that computes */
    const gb_bert *bert;     /* the encoder */
    const gb_late *late;     /* what is on top of it */
    const gb_params *params; /* parameters of both */
    const float *values;     /* their values */
    gb_state *state;         /* values on the device, for several encoders; NULL: its own */
    gb_late_side side;       /* which texts are encoded */
} gb_late_encoder_params;

/* A recorded program that makes vectors of tokens. */
typedef struct gb_late_encoder gb_late_encoder;
gb_late_encoder *gb_late_encoder_create(const gb_late_encoder_params *params, gb_status *status);
void gb_late_encoder_destroy(gb_late_encoder *encoder); /* NULL ok */
/* Vectors of texts: of the tokens that take part into tokens [sum of gb_late_kept, width], text
 * after text, and of COIL the states of [CLS] into whole [count, H], which ColBERT does not read.
 * tags [as many as tokens] may be NULL. The bits do not depend on the other texts. */
bool gb_late_encoder_run(gb_late_encoder *encoder, const gb_encode_rows *texts, float *tokens,
                         float *whole, uint32_t *tags, gb_status *status);
gb_padding gb_late_encoder_padding(const gb_late_encoder *encoder); /* of all runs */

#endif
