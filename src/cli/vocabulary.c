/* gabbro vocabulary: the step that takes or trains a WordPiece vocabulary. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>

#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro vocabulary --collection STEP [--size N] | --from vocab.txt [options]\n\n"
    "A WordPiece vocabulary: the collection's own if it has one (the mini world), else trained on\n"
    "its passages; or a given one. Prints the step's folder.\n";

static gb_vocab *train(const gb_collection *collection, uint32_t size, gb_status *status)
{
    gb_vocab_trainer_params params = GB_VOCAB_TRAINER_DEFAULTS;
    params.size = size;
    gb_vocab_trainer *trainer = gb_vocab_trainer_create(params, status);
    gb_text text = {0};
    bool ok = trainer != NULL;
    for (uint32_t p = 0; ok && p < collection->passages; p++) {
        text.length = 0;
        gb_collection_passage(collection, p, &text);
        ok = !text.failed
                 ? gb_vocab_trainer_add(trainer, text.data ? text.data : "", text.length, status)
                 : gb_fail_memory(status, "training a vocabulary");
    }
    gb_vocab *vocab = ok ? gb_vocab_trainer_finish(trainer, status) : NULL;
    gb_vocab_trainer_destroy(trainer);
    gb_text_free(&text);
    return vocab;
}

/* The vocabulary of a collection: in its folder, or trained. */
static gb_vocab *of_collection(const char *step, uint32_t size, gb_status *status)
{
    char *dir = gb_path_join(status, step, "collection");
    char *own = dir ? gb_path_join(status, dir, "vocab.txt") : NULL;
    gb_vocab *vocab = NULL;
    if (own && gb_file_exists(own)) {
        vocab = gb_vocab_load(own, status);
    } else if (own) {
        gb_collection *collection = gb_collection_open(dir, status);
        vocab = collection ? train(collection, size, status) : NULL;
        gb_collection_close(collection);
    }
    free(own);
    free(dir);
    return vocab;
}

int gb_cli_vocabulary(int argc, char **argv)
{
    gb_status status = {0};
    const char *collection = NULL, *from = NULL;
    uint32_t size = 30522;
    const step_option options[] = {
        {"collection", OPTION_TEXT, &collection, false, true, "step of a collection"},
        {"from", OPTION_TEXT, &from, false, true, "a vocab.txt"},
        {"size", OPTION_U32, &size, false, false, "tokens at most (default 30522)"},
        {0}};
    step_run run = {.kind = "vocabulary", .options = options};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    bool ok = true;
    if (!collection == !from)
        ok = gb_fail(&status, GB_USAGE, NULL, "see --help", "give either --collection or --from");
    ok = ok && step_begin(&run, 1, false, NULL, &status);
    json_t *facts = NULL;
    if (ok && !gb_step_done(run.step)) {
        gb_vocab *vocab =
            from ? gb_vocab_load(from, &status) : of_collection(collection, size, &status);
        char *out = vocab ? step_file(&run, "vocab.txt", &status) : NULL;
        ok = out && gb_vocab_save(vocab, out, &status);
        if (ok)
            facts = json_pack("{s:i}", "tokens", (int)gb_vocab_size(vocab));
        gb_vocab_destroy(vocab);
        free(out);
    }
    if (ok)
        step_end(&run, facts, &status);
    json_decref(facts);
    return step_close(&run, &status);
}
