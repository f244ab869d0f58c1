/* gabbro tokenize: turns a collection's texts into token ids. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>

#include <stdlib.h>

typedef struct settings {
    const char *collection, *vocabulary, *generated; /* artifacts; generated may be NULL */
    gb_tokenize_params params;                       /* lengths and prompts */
} settings;

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    (void)maker;
    return (o->params.max_passage >= 3 && o->params.max_query >= 3) ||
           gb_fail(status, GB_USAGE, NULL, NULL, "a text needs at least 3 tokens");
}

static bool by_vocabulary(const settings *o, const gb_collection *collection, const char *out,
                          gb_status *status)
{
    gb_vocab *vocab = gb_vocabulary_read(o->vocabulary, status);
    gb_tokenizer *tokenizer =
        vocab ? gb_tokenizer_create(vocab, gb_vocab_get_rules(vocab)->words, status) : NULL;
    bool ok =
        tokenizer && gb_collection_tokenize(collection, tokenizer, vocab, &o->params, out, status);
    gb_tokenizer_destroy(tokenizer);
    gb_vocab_destroy(vocab);
    return ok;
}

static bool by_language(const settings *o, const gb_collection *collection, const char *out,
                        gb_status *status)
{
    gb_coder *coder = gb_open_coder(o->vocabulary, status);
    bool ok = coder && gb_collection_tokenize_language(collection, coder, &o->params, out, status);
    gb_coder_close(coder);
    return ok;
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    char *out = gb_maker_file(maker, "tokens", status);
    gb_collection *collection = out ? gb_open_collection(o->collection, status) : NULL;
    bool ok = collection &&
              (!o->generated || gb_use_queries(collection, o->generated, status)) &&
              gb_make_dirs(out, status) &&
              (gb_model_is_language(o->vocabulary) ? by_language(o, collection, out, status)
                                                   : by_vocabulary(o, collection, out, status));
    gb_collection_close(collection);
    free(out);
    return ok;
}

static int run(const gb_call *call)
{
    settings o = {.params = {.max_passage = 144, .max_query = 32}};
    const gb_option options[] = {
        {"collection", GB_OPTION_TEXT, &o.collection, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "collection to tokenize"},
        {"vocabulary", GB_OPTION_TEXT, &o.vocabulary, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "vocabulary to tokenize with"},
        {"generated", GB_OPTION_TEXT, &o.generated, GB_OPTION_INPUT, "ARTIFACT",
         "generated queries to take instead of the collection's own"},
        {"passage-tokens", GB_OPTION_U32, &o.params.max_passage, 0, NULL,
         "tokens of a passage at most, [CLS] and [SEP] included"},
        {"query-tokens", GB_OPTION_U32, &o.params.max_query, 0, NULL,
         "tokens of a query at most, [CLS] and [SEP] included"},
        {"query-prompt", GB_OPTION_TEXT, &o.params.query_prompt, 0, "TEXT",
         "text before every query, as models of sentence-transformers may want it"},
        {"passage-prompt", GB_OPTION_TEXT, &o.params.passage_prompt, 0, "TEXT",
         "text before every passage"},
        {"title-join", GB_OPTION_CHOICE, &o.params.title_join, 0, NULL,
         "what stands between title and text of a passage: a blank, the separator token as in a "
         "pair of texts (DPR), or none: texts without titles",
         gb_title_join_names},
        {0}};
    const gb_make_params params = {.command = &gb_cli_tokenize,
                                   .kind = "tokens",
                                   .version = 2,
                                   .options = options,
                                   .self = &o,
                                   .check = check,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_tokenize = {
    .name = "tokenize",
    .summary = "turn a collection's texts into token ids",
    .description = "Make the token ids of all passages, queries and generated queries: the "
                   "collection's own, or those of an artifact of gabbro queries. Prints the "
                   "artifact's folder.",
    .run = run,
    .makes = true};
