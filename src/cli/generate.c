/* gabbro generate: a language model writes queries for the passages of a collection. */
#include "cli.h"

#include <gabbro/querygen.h>

#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro generate --model DIR --collection STEP [options]\n\n"
    "Queries for the passages of a collection, written by a language model (T5 or LLaMA). Prints\n"
    "the step's folder: queries.jsonl, a line a query with all that made it, and what gabbro\n"
    "tokenize --generated reads. Prompts: doc2query, text2query, tk-instruct, alpaca, or a file\n"
    "(prompts/README.md). A prompt brings its settings; options change them.\n\n"
    "With --shard-count N the shards' files, one behind the other, are the file of the whole;\n"
    "gabbro queries --from takes it.\n";

/* The file of a prompt: one of the program's, or any other. Caller frees. */
static char *find_prompt(const char *name, gb_status *status)
{
    if (strchr(name, '/') || gb_file_exists(name))
        return gb_strdup(name, status);
    char *own = gb_format(status, "prompts/%s", name);
    char *path = own ? gb_share_file(own) : NULL;
    if (own && !path)
        gb_fail(status, GB_USAGE, NULL, "doc2query, text2query, tk-instruct, alpaca, or a file",
                "there is no prompt \"%.80s\"", name);
    free(own);
    return path;
}

/* NAME=NUMBER words. */
static bool print_cost(gb_querygen *generation, gb_status *status)
{
    gb_querygen_cost c;
    if (!gb_querygen_estimate(generation, &c, status))
        return false;
    printf("passages=%u texts=%.0f prompt_tokens=%.0f most_new_tokens=%.0f most_flops=%.6g "
           "parameter_bytes=%llu cache_bytes=%llu\n",
           c.passages, c.texts, c.prompt_tokens, c.new_tokens, c.flops,
           (unsigned long long)c.parameter_bytes, (unsigned long long)c.cache_bytes);
    return true;
}

static bool copy_out(const step_run *run, const char *to, gb_status *status)
{
    char *from = step_file(run, "queries.jsonl", status);
    bool ok = from && gb_copy_file(from, to, status);
    free(from);
    return ok;
}

/* The artifact: there already, or generated. */
static bool generate(gb_querygen *generation, step_run *run, gb_status *status)
{
    json_t *facts = NULL;
    json_t *extra = json_pack("{s:s}", "prompt-name", gb_querygen_prompt_name(generation));
    bool ok = step_begin(run, 1, true, extra, status) &&
              (gb_step_done(run->step) || gb_querygen_run(generation, run, &facts, status)) &&
              step_end(run, facts, status);
    json_decref(facts);
    return ok;
}

/* What a command line may say beside the parameters. */
typedef struct asked {
    const char *out;     /* file that the queries are copied to, or NULL */
    const char *weights; /* how the model's matrices are kept, by name */
    bool dry_run;        /* say what it takes */
} asked;

static void run_generate(step_run *run, gb_querygen_params *o, asked *a, gb_status *status)
{
    const char *out = a->out;
    char *prompt = find_prompt(o->prompt, status);
    o->prompt = prompt;
    gb_querygen *generation = prompt && gb_packing_find(a->weights, &o->packing, status)
                                  ? gb_querygen_create(o, status)
                                  : NULL;
    if (o->packing)
        run->shader_set = "language,packed";
    a->out = NULL; /* no part of the artifact's key */
    if (generation && (a->dry_run || run->cost))
        print_cost(generation, status);
    else if (generation && generate(generation, run, status) && out)
        copy_out(run, out, status);
    gb_querygen_destroy(generation);
    free(prompt);
}

int gb_cli_generate(int argc, char **argv)
{
    gb_status status = {0};
    asked a = {.weights = "fp32"};
    gb_querygen_params o = {.prompt = "doc2query",
                            .queries = GB_QUERYGEN_OPEN,
                            .top_k = GB_QUERYGEN_OPEN,
                            .most_tokens = GB_QUERYGEN_OPEN,
                            .prompt_tokens = GB_QUERYGEN_OPEN,
                            .batch = 32,
                            .shard_count = 1,
                            .temperature = -1,
                            .top_p = -1,
                            .seed = 42};
    const step_option options[] = {
        {"model", OPTION_TEXT, &o.model, true, true, "language model: step or folder"},
        {"collection", OPTION_TEXT, &o.collection, true, true, "step of a collection"},
        {"prompt", OPTION_TEXT, &o.prompt, false, true, "its name or file (doc2query)"},
        {"queries", OPTION_U32, &o.queries, false, false, "wanted of a passage"},
        {"temperature", OPTION_REAL, &o.temperature, false, false,
         "of sampling; 0: the most probable token"},
        {"top-k", OPTION_U32, &o.top_k, false, false, "draw from the k most probable; 0: all"},
        {"top-p", OPTION_RATIO, &o.top_p, false, false,
         "draw from the fewest that reach p; 0 or 1: all"},
        {"most-tokens", OPTION_U32, &o.most_tokens, false, false, "of an answer"},
        {"prompt-tokens", OPTION_U32, &o.prompt_tokens, false, false,
         "of a prompt; the passage is cut to fit"},
        {"seed", OPTION_U64, &o.seed, false, false, "of sampling (42)"},
        {"batch", OPTION_U32, &o.batch, false, false, "texts at a time (32)"},
        {"shard-index", OPTION_U32, &o.shard_index, false, false, "part of the passages (0)"},
        {"shard-count", OPTION_U32, &o.shard_count, false, false, "how many parts (1)"},
        {"name", OPTION_TEXT, &o.name, false, false, "of the generator (the model folder's)"},
        {"weights", OPTION_TEXT, &a.weights, false, false,
         "kept on the device as fp32, fp16, bf16 or q8 (blocks of 8-bit numbers)", true},
        {"out", OPTION_TEXT, &a.out, false, false, "also write the queries to this file", true},
        {"dry-run", OPTION_FLAG, &a.dry_run, false, false, "say what it takes, and end", true},
        {0}};
    step_run run = {.kind = "generate", .options = options, .shader_set = "language"};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    run_generate(&run, &o, &a, &status);
    return step_close(&run, &status);
}
