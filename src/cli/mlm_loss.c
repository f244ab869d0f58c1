/* gabbro mlm-loss: measures an encoder's masked-LM loss on passages. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/train.h>

static bool cost(gb_maker *maker, void *self, gb_status *status)
{
    (void)maker;
    return gb_mlm_loss_cost(self, status);
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    return gb_mlm_loss(maker, self, status);
}

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    const gb_mlm_loss_params *o = self;
    return gb_model_users(o->model, true, &maker->kernels, status);
}

static int run(const gb_call *call)
{
    const char *collection = NULL; /* in the key alone: its tokens are read */
    gb_mlm_loss_params o = {.passages = 10000, .mask_ratio = .15, .seed = 42};
    const gb_option options[] = {
        {"model", GB_OPTION_TEXT, &o.model, GB_OPTION_REQUIRED | GB_OPTION_INPUT | GB_OPTION_MODEL,
         "MODEL", "encoder: artifact or folder"},
        {"collection", GB_OPTION_TEXT, &collection, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "collection of the passages"},
        {"tokens", GB_OPTION_TEXT, &o.tokens, GB_OPTION_REQUIRED | GB_OPTION_INPUT, "ARTIFACT",
         "its tokens"},
        {"vocabulary", GB_OPTION_TEXT, &o.vocabulary, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "their vocabulary"},
        {"passages", GB_OPTION_U32, &o.passages, 0, NULL, "passages sampled; 0: all"},
        {"mask-ratio", GB_OPTION_RATIO, &o.mask_ratio, 0, NULL,
         "share of the tokens that are masked"},
        {"seed", GB_OPTION_U64, &o.seed, 0, NULL, "seed of sample and masks"},
        {0}};
    const gb_make_params params = {.command = &gb_cli_mlm_loss,
                                   .version = 1,
                                   .kernels = GB_USER_TRAIN,
                                   .options = options,
                                   .self = &o,
                                   .check = check,
                                   .cost = cost,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_mlm_loss = {
    .name = "mlm-loss",
    .summary = "measure an encoder's masked-LM loss on passages",
    .description =
        "Mask a seeded sample of passages and measure the encoder's mean loss, in nats a masked "
        "token; equal seeds mask equally for every model. Prints the artifact's folder: "
        "metrics.json (mlm:loss).",
    .run = run,
    .makes = true};
