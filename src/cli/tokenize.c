/* gabbro tokenize: the step that turns a collection's texts into token ids. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>

#include <stdlib.h>

static const char usage[] =
    "usage: gabbro tokenize --collection STEP --vocabulary STEP [options]\n\n"
    "WordPiece ids of all passages, queries and generated queries (the collection's own, or those "
    "of\n"
    "a step of gabbro queries). Prints the step's folder.\n";

static bool tokenize(const step_run *run, const char *collection_step, const char *vocabulary_step,
                     const char *generated_step, const gb_tokenize_params *params, json_t **facts,
                     gb_status *status)
{
    char *out = step_file(run, "tokens", status);
    gb_collection *collection = out ? gb_open_collection(collection_step, status) : NULL;
    bool have = collection &&
                (!generated_step || gb_collection_use_queries(collection, generated_step, status));
    gb_vocab *vocab = have ? gb_open_vocabulary(vocabulary_step, status) : NULL;
    gb_tokenizer *tokenizer =
        vocab ? gb_tokenizer_create(vocab, GB_TOKENIZER_DEFAULTS, status) : NULL;
    bool ok = tokenizer && gb_make_dirs(out, status) &&
              gb_collection_tokenize(collection, tokenizer, vocab, params, out, status);
    char hash[GB_HASH_SIZE];
    ok = ok && gb_vocab_hash(vocab, hash, status);
    if (ok)
        *facts = json_pack("{s:s}", "vocabulary", hash);
    gb_tokenizer_destroy(tokenizer);
    gb_vocab_destroy(vocab);
    gb_collection_close(collection);
    free(out);
    return ok;
}

int gb_cli_tokenize(int argc, char **argv)
{
    gb_status status = {0};
    const char *collection = NULL, *vocabulary = NULL, *generated = NULL;
    gb_tokenize_params params = {.max_passage = 144, .max_query = 32};
    const step_option options[] = {
        {"collection", OPTION_TEXT, &collection, true, true, "step of a collection"},
        {"vocabulary", OPTION_TEXT, &vocabulary, true, true, "step of a vocabulary"},
        {"generated", OPTION_TEXT, &generated, false, true,
         "step of generated queries instead of the collection's own"},
        {"passage-tokens", OPTION_U32, &params.max_passage, false, false,
         "longest passage with [CLS] and [SEP] (default 144)"},
        {"query-tokens", OPTION_U32, &params.max_query, false, false,
         "longest query with [CLS] and [SEP] (default 32)"},
        {"query-prompt", OPTION_TEXT, &params.query_prompt, false, false,
         "text before every query, as models of sentence-transformers may want it", true},
        {"passage-prompt", OPTION_TEXT, &params.passage_prompt, false, false,
         "text before every passage", true},
        {0}};
    step_run run = {.kind = "tokens", .options = options};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    bool ok = true;
    if (params.max_passage < 3 || params.max_query < 3)
        ok = gb_fail(&status, GB_USAGE, NULL, NULL, "a text needs at least 3 tokens");
    ok = ok && step_begin(&run, 1, false, NULL, &status);
    json_t *facts = NULL;
    if (ok && (gb_step_done(run.step) ||
               tokenize(&run, collection, vocabulary, generated, &params, &facts, &status)))
        step_end(&run, facts, &status);
    json_decref(facts);
    return step_close(&run, &status);
}
