/* Dense retrieval: a text is one vector, a score is an inner product. */
#include "private.h"

#include <stdlib.h>

typedef struct dense {
    gb_scoring_context context; /* what it is made of */
} dense;

static void *create(const gb_scoring_context *context, gb_params *model, gb_status *status)
{
    (void)model;
    dense *d = gb_alloc(1, sizeof *d, status);
    if (d)
        d->context = *context;
    return d;
}

static bool reads_all(const void *self)
{
    const dense *d = self;
    return d->context.params->pooling == GB_POOLING_MEAN;
}

static gb_tensor represent(void *self, gb_builder *builder, const gb_text_states *states)
{
    const dense *d = self;
    const gb_finetune_params *params = d->context.params;
    const gb_pooling_params how = {.kind = params->pooling,
                                   .texts = states->texts,
                                   .first = states->first,
                                   .rows = states->in->rows,
                                   .max_length = finetune_max_length(params)};
    gb_pooling_inputs in = gb_pooling_declare(builder, &how, states->batch);
    return gb_sentence_vectors(builder, d->context.bert, params->normalize,
                               gb_pooling_apply(builder, states->h, &in));
}

static gb_tensor compare(void *self, gb_builder *builder, const gb_side *queries,
                         const gb_side *passages)
{
    (void)self;
    return gb_matmul(builder->tape, GB_NT, queries->vectors, passages->vectors);
}

const gb_scoring scoring_dense = {.name = "dense",
                                  .help = "inner products of one vector a text",
                                  .towers = true,
                                  .single = true,
                                  .create = create,
                                  .destroy = free,
                                  .reads_all = reads_all,
                                  .represent = represent,
                                  .compare = compare};
