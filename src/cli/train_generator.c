/* gabbro train-generator: trains a generator of queries on a collection. */
#include "cli.h"

#include <gabbro/querygen.h>

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    (void)maker;
    return gb_querygen_training_check(self, status);
}

static bool cost(gb_maker *maker, void *self, gb_status *status)
{
    return gb_querygen_train_cost(self, maker, status);
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    return gb_querygen_train(self, maker, status);
}

static int run(const gb_call *call)
{
    gb_querygen_training_params o = {.layers = 2,
                                     .hidden = 64,
                                     .heads = 4,
                                     .ffn = 256,
                                     .epochs = 20,
                                     .held_out = .05,
                                     .learning_rate = 1e-3,
                                     .warmup = .1,
                                     .clip = 1,
                                     .batch = 32,
                                     .seed = 42};
    const gb_option options[] = {
        {"collection", GB_OPTION_TEXT, &o.collection, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "collection to learn from"},
        {"tokens", GB_OPTION_TEXT, &o.tokens, GB_OPTION_REQUIRED | GB_OPTION_INPUT, "ARTIFACT",
         "its tokens"},
        {"vocabulary", GB_OPTION_TEXT, &o.vocabulary, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "their vocabulary"},
        {"layers", GB_OPTION_U32, &o.layers, 0, NULL, "layers of the encoder, and of the decoder"},
        {"hidden", GB_OPTION_U32, &o.hidden, 0, NULL, "their width"},
        {"heads", GB_OPTION_U32, &o.heads, 0, NULL, "their attention heads"},
        {"ffn", GB_OPTION_U32, &o.ffn, 0, NULL, "width of their feed-forward networks"},
        {"epochs", GB_OPTION_U32, &o.epochs, 0, NULL, "epochs over the pairs"},
        {"train-queries", GB_OPTION_U32, &o.train_queries, 0, NULL,
         "training queries, a seeded subset; 0: all"},
        {"held-out", GB_OPTION_RATIO, &o.held_out, 0, NULL,
         "share of the passages with queries that is kept for the loss"},
        {"batch", GB_OPTION_U32, &o.batch, 0, NULL, "pairs of a step"},
        {"learning-rate", GB_OPTION_REAL, &o.learning_rate, 0, NULL,
         "learning rate at its peak, from which it falls linearly to 0"},
        {"warmup", GB_OPTION_RATIO, &o.warmup, 0, NULL,
         "share of the steps in which the learning rate rises"},
        {"weight-decay", GB_OPTION_REAL, &o.weight_decay, 0, NULL,
         "decoupled decay of the weights"},
        {"clip", GB_OPTION_REAL, &o.clip, 0, NULL, "largest norm of the gradient; 0: any"},
        {"seed", GB_OPTION_U64, &o.seed, 0, NULL, "seed of everything drawn"},
        {0}};
    const gb_make_params params = {.command = &gb_cli_train_generator,
                                   .version = 1,
                                   .kernels = GB_USER_TRAIN_LM,
                                   .options = options,
                                   .self = &o,
                                   .check = check,
                                   .cost = cost,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_train_generator = {
    .name = "train-generator",
    .summary = "train a generator of queries on training queries",
    .description =
        "Train a T5 from random weights to write the queries of the collection's training split "
        "for "
        "the passages judged relevant to them (doc2query). A query that another split has too, or "
        "whose text it has, is never learned from. Prints the artifact's folder; the model is in "
        "its model/ (a Hugging Face folder), the loss on held-out pairs in metrics.json.",
    .run = run,
    .makes = true};
