/* gabbro generate: a language model writes queries for the passages of a collection. */
#include "cli.h"

#include <gabbro/querygen.h>

#include <stdlib.h>
#include <string.h>

/* The file of a prompt: one of the program's, or any other. Caller frees. */
static char *find_prompt(const char *name, gb_status *status)
{
    if (strchr(name, '/') || gb_file_exists(name))
        return gb_strdup(name, status);
    char *own = gb_format(status, "prompts/%s", name);
    char *path = own ? gb_installed_file(own) : NULL;
    if (own && !path)
        gb_fail(status, GB_USAGE, NULL, "doc2query, text2query, tk-instruct, alpaca, or a file",
                "there is no prompt \"%.80s\"", name);
    free(own);
    return path;
}

typedef struct settings {
    gb_querygen_params params; /* which queries, and how */
    gb_querygen *generation;   /* open once the options were checked */
    char *prompt;              /* file of the prompt */
    const char *out;           /* file that the queries are copied to, or NULL */
    bool dry_run;              /* print what it takes */
} settings;

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    settings *o = self;
    o->prompt = find_prompt(o->params.prompt, status);
    o->params.prompt = o->prompt;
    o->generation = o->prompt ? gb_querygen_create(&o->params, status) : NULL;
    if (!o->generation)
        return false;
    maker->over = o->dry_run;
    if (o->dry_run)
        return gb_querygen_print_cost(o->generation, status);
    return gb_maker_note(maker, "prompt-name", gb_querygen_prompt_name(o->generation), status);
}

static bool cost(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    (void)maker;
    return gb_querygen_print_cost(o->generation, status);
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    return gb_querygen_run(o->generation, maker, status);
}

static bool copy_out(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    char *from = o->out ? gb_maker_file(maker, "queries.jsonl", status) : NULL;
    bool ok = !o->out || (from && gb_copy_file(from, o->out, status));
    free(from);
    return ok;
}

static int run(const gb_call *call)
{
    settings o = {.params = {.prompt = "doc2query",
                             .queries = GB_OPEN,
                             .top_k = GB_OPEN,
                             .max_tokens = GB_OPEN,
                             .prompt_tokens = GB_OPEN,
                             .batch = 32,
                             .shard_count = 1,
                             .temperature = GB_OPEN_REAL,
                             .top_p = GB_OPEN_REAL,
                             .seed = 42}};
    const gb_option options[] = {
        {"model", GB_OPTION_TEXT, &o.params.model,
         GB_OPTION_REQUIRED | GB_OPTION_INPUT | GB_OPTION_MODEL, "MODEL",
         "language model: artifact or folder"},
        {"collection", GB_OPTION_TEXT, &o.params.collection, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "collection of the passages"},
        {"prompt", GB_OPTION_TEXT, &o.params.prompt, GB_OPTION_INPUT, "NAME|FILE",
         "prompt, see above"},
        {"queries", GB_OPTION_U32, &o.params.queries, 0, NULL, "queries wanted of a passage"},
        {"temperature", GB_OPTION_REAL, &o.params.temperature, 0, NULL,
         "temperature of sampling; 0: the most probable token"},
        {"top-k", GB_OPTION_U32, &o.params.top_k, 0, NULL,
         "draw from the k most probable tokens; 0: all"},
        {"top-p", GB_OPTION_RATIO, &o.params.top_p, 0, NULL,
         "draw from the fewest tokens that reach p; 0 or 1: all"},
        {"max-tokens", GB_OPTION_U32, &o.params.max_tokens, 0, NULL, "tokens of an answer at most"},
        {"prompt-tokens", GB_OPTION_U32, &o.params.prompt_tokens, 0, NULL,
         "tokens of a prompt at most; the passage is cut to fit"},
        {"seed", GB_OPTION_U64, &o.params.seed, 0, NULL, "seed of sampling"},
        {"batch", GB_OPTION_U32, &o.params.batch, 0, NULL, "texts at a time"},
        {"shard-index", GB_OPTION_U32, &o.params.shard_index, 0, NULL,
         "part of the passages, from 0"},
        {"shard-count", GB_OPTION_U32, &o.params.shard_count, 0, NULL, "parts in all"},
        {"name", GB_OPTION_TEXT, &o.params.name, 0, "NAME",
         "name of the generator (default: the model folder's)"},
        {"weights", GB_OPTION_CHOICE, &o.params.quant, 0, NULL,
         "how the device keeps the model's matrices", gb_packing_names},
        {"out", GB_OPTION_TEXT, &o.out, GB_OPTION_NO_KEY, "FILE",
         "also write the queries to this file"},
        {"dry-run", GB_OPTION_FLAG, &o.dry_run, GB_OPTION_NO_KEY, NULL,
         "print what it takes, and make nothing"},
        {0}};
    const gb_make_params params = {.command = &gb_cli_generate,
                                   .version = 1,
                                   .kernels = GB_USER_GENERATE,
                                   .options = options,
                                   .self = &o,
                                   .check = check,
                                   .cost = cost,
                                   .make = make,
                                   .after = copy_out};
    int code = gb_make(&params, call);
    gb_querygen_destroy(o.generation);
    free(o.prompt);
    return code;
}

const gb_command gb_cli_generate = {
    .name = "generate",
    .summary = "let a language model write queries for passages",
    .description =
        "Write queries for the passages of a collection with a language model (T5 or LLaMA). "
        "Prints "
        "the artifact's folder: queries.jsonl, a line a query with all that made it, and what "
        "gabbro tokenize --generated reads.\n\n"
        "Prompts: doc2query, text2query, tk-instruct, alpaca, or a file (prompts/README.md). A "
        "prompt brings its settings; options change them.\n\n"
        "With --shard-count N the shards' files, one behind the other, are the file of the whole; "
        "gabbro queries --from takes it.",
    .run = run,
    .makes = true};
