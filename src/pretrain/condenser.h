/* The Condenser head, shared by Condenser and coCondenser. */
#ifndef PRETRAIN_CONDENSER_H
#define PRETRAIN_CONDENSER_H

#include "common.h"

/* Settings of a head, and options of a structure `own` that has them as `member`. */
typedef struct head_settings {
    uint32_t layers;    /* of the head */
    uint32_t skip_from; /* layer of the encoder that it reads; GB_OPEN: the middle one */
} head_settings;
#define HEAD_DEFAULTS                                                                              \
    {                                                                                              \
        2, GB_OPEN                                                                                 \
    }
#define OPTIONS_HEAD(own, member)                                                                  \
    {"head-layers", GB_OPTION_U32, GB_FIELD(own, member.layers), 0, NULL, "layers of the head"},   \
    {                                                                                              \
        "skip-from", GB_OPTION_U32, GB_FIELD(own, member.skip_from), 0, NULL,                      \
            "layer whose states the head takes (default: half of the layers)"                      \
    }

typedef struct condenser_head {
    gb_block *layers;   /* [count] */
    uint32_t count;     /* layers */
    uint32_t skip_from; /* layer of the encoder whose states it takes */
} condenser_head;
bool pretrain_condenser_head_make(condenser_head *head, const head_settings *settings,
                                  const gb_bert *bert, gb_params *model, gb_status *status);
void pretrain_condenser_head_free(condenser_head *head);
/* Encode, then read the late [CLS] and the middle layer's other states. *h: last states of the
 * encoder; *cls [count of cls_rows, H]; *x: states of the head. */
void pretrain_condenser_head_apply(gb_builder *builder, const condenser_head *head,
                                   const gb_bert *bert, const gb_batch_inputs *in,
                                   const gb_selection *cls_rows, gb_tensor *h, gb_tensor *cls,
                                   gb_tensor *x);

#endif
