/* gabbro train-generator: trains a generator of queries on a collection. */
#include "cli.h"

#include <gabbro/querygen.h>

static const char usage[] =
    "usage: gabbro train-generator --collection STEP --tokens STEP --vocabulary STEP [options]\n\n"
    "Train a T5 from random weights to write the queries of the collection's training split for "
    "the\n"
    "passages judged relevant to them (doc2query). A query that another split has too, or whose "
    "text\n"
    "it has, is never learned from. Prints the step's folder; the model is in its model/ (a\n"
    "Hugging Face folder), the loss on held-out pairs in metrics.json.\n";

static void run_train_generator(step_run *run, const gb_querygen_training_params *o,
                                gb_status *status)
{
    json_t *facts = NULL;
    if (run->cost)
        gb_querygen_train_cost(o, status);
    else if (step_begin(run, 1, true, NULL, status) &&
             (gb_step_done(run->step) || gb_querygen_train(o, run, &facts, status)))
        step_end(run, facts, status);
    json_decref(facts);
}

int gb_cli_train_generator(int argc, char **argv)
{
    gb_status status = {0};
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
    const step_option options[] = {
        {"collection", OPTION_TEXT, &o.collection, true, true, "step of a collection"},
        {"tokens", OPTION_TEXT, &o.tokens, true, true, "step of its tokens"},
        {"vocabulary", OPTION_TEXT, &o.vocabulary, true, true, "step of its vocabulary"},
        {"layers", OPTION_U32, &o.layers, false, false, "of the encoder, and of the decoder (2)"},
        {"hidden", OPTION_U32, &o.hidden, false, false, "width (64)"},
        {"heads", OPTION_U32, &o.heads, false, false, "attention heads (4)"},
        {"ffn", OPTION_U32, &o.ffn, false, false, "feed-forward width (256)"},
        {"epochs", OPTION_U32, &o.epochs, false, false, "over the pairs (20)"},
        {"train-queries", OPTION_U32, &o.train_queries, false, false, "seeded subset (0: all)"},
        {"held-out", OPTION_RATIO, &o.held_out, false, false,
         "share of the passages with queries, for the loss (.05)"},
        {"batch", OPTION_U32, &o.batch, false, false, "pairs of a step (32)"},
        {"learning-rate", OPTION_REAL, &o.learning_rate, false, false, "peak (1e-3)"},
        {"warmup", OPTION_RATIO, &o.warmup, false, false,
         "share of the steps (.1), then linear to 0"},
        {"weight-decay", OPTION_REAL, &o.weight_decay, false, false, "decoupled (0)"},
        {"clip", OPTION_REAL, &o.clip, false, false, "largest gradient norm (1); 0: none"},
        {"seed", OPTION_U64, &o.seed, false, false, "of everything drawn (42)"},
        {0}};
    step_run run = {.kind = "train-generator", .options = options, .shader_set = "language"};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    if (gb_querygen_training_check(&o, &status))
        run_train_generator(&run, &o, &status);
    return step_close(&run, &status);
}
