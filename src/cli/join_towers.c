/* gabbro join-towers: two encoders as one model. */
#include "cli.h"

#include <gabbro/train.h>

static int run(const gb_call *call)
{
    static const char *const poolings[] = {"cls", "mean", "last", NULL};
    gb_towers towers = {.config = call->config};
    uint32_t pooling = GB_OPEN;
    const gb_option options[] = {
        {"to", GB_OPTION_TEXT, &towers.to, GB_OPTION_REQUIRED, "DIR", "folder that is written"},
        {"pooling", GB_OPTION_CHOICE, &pooling, 0, NULL,
         "how states become a vector in both (default: as the models' folders say)", poolings},
        {0}};
    gb_words models = {0};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_join_towers, options, call, &models, &code))
        return code;
    towers.queries = models.items[0];
    towers.passages = models.items[1];
    towers.pooling = pooling == GB_OPEN ? NULL : poolings[pooling];
    gb_towers_join(&towers, &status);
    return gb_command_end(&status);
}

const gb_command gb_cli_join_towers = {
    .name = "join-towers",
    .summary = "put an encoder of queries and one of passages into one model",
    .operands = "QUERIES PASSAGES",
    .needs = "a model of queries and one of passages",
    .operands_min = 2,
    .operands_max = 2,
    .description =
        "Write one model of two towers from two models that were trained together but published "
        "apart, such as DRAGON's or sentence-transformers' facebook-dpr. Both are as in gabbro "
        "embed; they must have one tokenizer and vectors of one width, pooled in one way. encode, "
        "evaluate, mine, embed, ask and serve take the result, and so does sentence-transformers, "
        "as a Router.",
    .run = run};
