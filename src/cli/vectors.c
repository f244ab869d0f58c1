/* gabbro vectors: puts folders of vectors together as one, and changes their form. */
#include "cli.h"

#include <gabbro/experiment.h>
#include <gabbro/retrieve.h>

#include <stdlib.h>
#include <string.h>

typedef struct settings {
    gb_words from; /* folders or files */
    uint32_t form; /* gb_vector_form */
} settings;

/* What the form changes, where it changes anything. */
static void note_rounding(json_t *facts, const settings *o, const gb_rounding *rounding)
{
    if (rounding->number == 0)
        return;
    gb_log(GB_LOG_INFO,
           "%s: no number is off by more than %.2g, no vector by more than %.2g%% of its length",
           gb_vector_form_names[o->form], rounding->number, 100 * rounding->vector);
    json_object_set_new(facts, "rounding",
                        json_pack("{s:f, s:f}", "largest_of_a_number", rounding->number,
                                  "largest_share_of_a_vector", rounding->vector));
}

/* Files of JSON lines become folders first. */
static bool read_files(gb_maker *maker, const gb_words *from, char *made[GB_WORDS_MAX],
                       const char *folders[GB_WORDS_MAX], gb_status *status)
{
    bool ok = true;
    for (size_t i = 0; ok && i < from->count; i++) {
        char name[32];
        folders[i] = from->items[i];
        if (gb_dir_exists(from->items[i]))
            continue;
        snprintf(name, sizeof name, "json-%zu", i);
        ok = (made[i] = gb_maker_resume_file(maker, name, status)) &&
             gb_vectors_read_json(from->items[i], made[i], status);
        folders[i] = made[i];
    }
    return ok;
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    const char *folders[GB_WORDS_MAX];
    char *made[GB_WORDS_MAX] = {NULL};
    gb_vector_set set = {0};
    gb_rounding rounding = {0};
    bool ok = read_files(maker, &o->from, made, folders, status) &&
              gb_vector_set_open(&set, folders, o->from.count, status);
    if (ok)
        set.folder = o->from.items[0]; /* as the user named it, also where it was a file */
    ok = ok && gb_vector_set_check_ids(&set, status) &&
         gb_vector_set_write(&set, (gb_vector_form)o->form, gb_maker_folder(maker), &rounding,
                             status);
    if (ok)
        note_rounding(maker->facts, o, &rounding);
    gb_vector_set_close(&set);
    for (size_t i = 0; i < o->from.count; i++)
        free(made[i]);
    return ok;
}

static int run(const gb_call *call)
{
    settings o = {0};
    const gb_option options[] = {
        {"from", GB_OPTION_LIST, &o.from, GB_OPTION_REQUIRED | GB_OPTION_INPUT, "PATH",
         "folder of vectors, or a file of JSON lines; may be repeated"},
        {"form", GB_OPTION_CHOICE, &o.form, 0, NULL,
         "what is written: vectors.npy and ids.txt, of int8 with scales.npy; faiss: index and "
         "docid; anserini: vectors.jsonl",
         gb_vector_form_names},
        {0}};
    const gb_make_params params = {
        .command = &gb_cli_vectors, .version = 1, .options = options, .self = &o, .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_vectors = {
    .name = "vectors",
    .summary = "put shards of vectors together, or change their form",
    .description =
        "Put shards of gabbro encode, or other folders of vectors, together as one, for other "
        "programs or in less space. It reads folders of vectors.npy (float32, float16, or int8 "
        "with scales.npy) and ids.txt, or of a flat faiss index with its docid, as Pyserini and "
        "Tevatron write them; and Anserini's files of {\"docid\", \"vector\"}. gabbro search reads "
        "the folders too, also those that are written here, except anserini's. Prints the "
        "artifact's folder.",
    .run = run,
    .makes = true};
