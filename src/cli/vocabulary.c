/* gabbro vocabulary: takes or trains a WordPiece vocabulary. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>

#include <stdlib.h>
#include <string.h>

typedef struct settings {
    const char *collection, *from; /* artifact, or file */
    uint32_t size;                 /* tokens at most */
} settings;

static gb_vocab *train(const gb_collection *collection, uint32_t size, gb_status *status)
{
    gb_vocab_trainer_params params = GB_VOCAB_TRAINER_DEFAULTS;
    params.size = size;
    gb_vocab_trainer *trainer = gb_vocab_trainer_create(params, status);
    gb_text text = {0};
    bool ok = trainer != NULL;
    gb_progress progress;
    gb_progress_begin(&progress, "count words", "passages", collection->passages, 0);
    for (uint32_t p = 0; ok && p < collection->passages; p++) {
        text.length = 0;
        gb_collection_passage(collection, p, &text);
        ok = !text.failed
                 ? gb_vocab_trainer_add(trainer, text.data ? text.data : "", text.length, status)
                 : gb_fail_memory(status, "training a vocabulary");
        gb_progress_update(&progress, p + 1, NULL);
    }
    if (ok)
        gb_progress_end_long(&progress, collection->passages);
    gb_vocab *vocab = ok ? gb_vocab_trainer_finish(trainer, status) : NULL;
    gb_vocab_trainer_destroy(trainer);
    gb_text_free(&text);
    return vocab;
}

/* The vocabulary of a collection: in its folder, or trained. */
static gb_vocab *of_collection(const char *artifact, uint32_t size, gb_status *status)
{
    char *dir = gb_path_join(status, artifact, "collection");
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

static gb_vocab *of_model(const char *model, gb_status *status)
{
    char *folder = gb_find_model_folder(model, status);
    gb_vocab *vocab = folder ? gb_vocabulary_read(folder, status) : NULL;
    free(folder);
    return vocab;
}

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    (void)maker;
    return !o->collection != !o->from ||
           gb_fail(status, GB_USAGE, NULL, "see --help", "give either --collection or --from");
}

/* Of a LLaMA the tokenizer's own files. */
static bool copy(gb_maker *maker, const char *model, gb_status *status)
{
    char *folder = gb_find_model_folder(model, status);
    gb_coder *coder = folder ? gb_coder_open(folder, status) : NULL;
    bool ok = coder && gb_coder_copy(folder, gb_maker_folder(maker), status);
    if (ok)
        json_object_set_new(maker->facts, "tokens", json_integer(gb_coder_size(coder)));
    gb_coder_close(coder);
    free(folder);
    return ok;
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    if (o->from && gb_model_is_language(o->from))
        return copy(maker, o->from, status);
    gb_vocab *vocab = !o->from                 ? of_collection(o->collection, o->size, status)
                      : gb_dir_exists(o->from) ? of_model(o->from, status)
                                               : gb_vocab_load(o->from, status);
    bool ok = vocab && gb_vocabulary_write(gb_maker_folder(maker), vocab, status);
    if (ok)
        json_object_set_new(maker->facts, "tokens", json_integer(gb_vocab_size(vocab)));
    gb_vocab_destroy(vocab);
    return ok;
}

static int run(const gb_call *call)
{
    settings o = {.size = 30522};
    const gb_option options[] = {
        {"collection", GB_OPTION_TEXT, &o.collection, GB_OPTION_INPUT, "ARTIFACT",
         "collection whose own vocabulary is taken, or on whose passages one is trained"},
        {"from", GB_OPTION_TEXT, &o.from, GB_OPTION_INPUT | GB_OPTION_MODEL, "PATH",
         "a vocab.txt, or a model whose tokenizer is taken"},
        {"size", GB_OPTION_U32, &o.size, 0, NULL, "tokens at most, of one that is trained",
         .with = "collection", .min = 1},
        {0}};
    const gb_make_params params = {.command = &gb_cli_vocabulary,
                                   .version = 1,
                                   .options = options,
                                   .self = &o,
                                   .check = check,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_vocabulary = {
    .name = "vocabulary",
    .summary = "train a vocabulary, or take that of a model",
    .usage = "--collection ARTIFACT [--size N] | --from PATH [options]",
    .description =
        "Make a WordPiece vocabulary: the collection's own if it has one (the mini world "
        "has), else one trained on the collection's passages; or take a given file. "
        "Of a model folder the tokenizer is taken, whatever its kind and casing: WordPiece, "
        "byte-level BPE or Unigram, from vocab.txt, tokenizer.json, merges.txt or "
        "sentencepiece.bpe.model; of a LLaMA its tokenizer.model. Prints the artifact's folder; "
        "the vocabulary is its vocab.txt, its tokenizer.json, or the LLaMA's files.",
    .run = run,
    .makes = true};
