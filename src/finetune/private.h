/* Shared by the files of the finetune module. */
#ifndef FINETUNE_PRIVATE_H
#define FINETUNE_PRIVATE_H

#include <gabbro/finetune.h>

/* Draws batches. */
typedef struct finetune_drawer {
    const gb_finetune_params *params; /* settings */
    gb_finetune_data data;            /* what is drawn from */
    const gb_scoring *scoring;        /* how texts are packed */
    void *scoring_self;               /* its own data */
    gb_special_ids specials;          /* ids around texts */
    gb_epochs order;                  /* of the queries */
    uint32_t *pool;                   /* scratch: a shuffled pool, then what is drawn of it */
    size_t pool_capacity;             /* allocated */
    gb_training_batch batch;          /* what was drawn last */
} finetune_drawer;

/* Makes one whose params, data and scoring are set. */
bool finetune_drawer_make(finetune_drawer *drawer, gb_status *status);
void finetune_drawer_free(finetune_drawer *drawer);
/* Draws the batch of a step, a function of seed and step. */
bool finetune_draw(finetune_drawer *drawer, uint32_t step, gb_status *status);
/* The largest number of tokens of a text. */
uint32_t finetune_max_length(const gb_finetune_params *params);

#endif
