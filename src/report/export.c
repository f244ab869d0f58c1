/* An evaluation as other people's tools take it: runs with ir_metadata, MTEB's results, the model
 * with its card. */
#include "export.h"

#include <gabbro/eval.h>

#include <stdlib.h>
#include <string.h>

json_t *report_export_settings(const json_t *run)
{
    json_t *settings = gb_artifact_given(run), *value;
    const char *key;
    void *next;
    json_object_foreach_safe(settings, next, key, value) if (json_is_null(value))
        json_object_del(settings, key);
    return settings ? settings : json_object();
}

bool report_export_measure(const char *name, char out[40])
{
    static const char *const names[][2] = {{"nDCG@", "ndcg_at_"},
                                           {"MRR@", "mrr_at_"},
                                           {"R@", "recall_at_"},
                                           {"Hit@", "hit_rate_at_"},
                                           {"P@", "precision_at_"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i][0]);
        if (!strncmp(name, names[i][0], length))
            return snprintf(out, 40, "%s%s", names[i][1], name + length) < 40;
    }
    return false;
}

/* ---- what is behind it ---- */

/* The step of that role among the evaluation's inputs, or NULL. */
static const chain_step *input_of(const exported *e, const char *role)
{
    const char *name =
        json_string_value(json_object_get(json_object_get(e->evaluation->run, "inputs"), role));
    for (size_t i = 0; name && i < e->steps.count; i++)
        if (!strcmp(e->steps.steps[i].name, name))
            return &e->steps.steps[i];
    return NULL;
}

static bool read_collection(exported *e, gb_status *status)
{
    const chain_step *step = input_of(e, "collection");
    char *folder = step && step->path ? gb_path_join(status, step->path, "collection") : NULL;
    e->collection = folder ? gb_json_load_in(folder, "collection.json", 0, status) : json_object();
    bool ok = e->collection && (folder || !step || !step->path);
    free(folder);
    return ok;
}

static bool open_all(exported *e, gb_status *status)
{
    const gb_export_params *p = e->params;
    size_t length;
    const char *name = gb_path_name(p->evaluation, &length);
    if (!gb_run_tag_check(p->tag, status) || !report_chain_add(&e->steps, p->store, name, status))
        return false;
    e->evaluation = &e->steps.steps[e->steps.count - 1];
    if (!e->evaluation->run || strcmp(gb_json_text(e->evaluation->run, "kind"), "evaluate"))
        return gb_fail(status, GB_USAGE, name, "see gabbro store list", "not an evaluation");
    e->model = input_of(e, "model");
    e->metrics = gb_json_load_in(e->evaluation->path, "metrics.json", 0, status);
    if (!e->metrics || !read_collection(e, status))
        return false;
    const char *of = gb_json_text(e->collection, "name");
    e->task = p->task ? p->task : *of ? of : "collection";
    e->tag = p->tag ? p->tag : e->model ? e->model->name : "gabbro";
    return true;
}

/* ---- files ---- */

/* The run of a split, by its file: SPLIT.trec. */
static bool write_run(const exported *e, const char *folder, const char *file, const char *out,
                      gb_status *status)
{
    gb_run_names names = {0};
    gb_run run = {0};
    gb_text header = {0};
    char *from = gb_path_join(status, folder, file), *to = gb_path_join(status, out, file);
    char *split = gb_strdup(file, status);
    bool ok = from && to && split && gb_run_names_create(&names, status) &&
              gb_run_read(from, GB_RUN_TREC, &names, &run, NULL, status);
    if (ok) {
        split[strlen(split) - strlen(".trec")] = '\0';
        report_export_metadata(e, split, &header);
        const gb_run_style style = {.tag = e->tag, .header = header.data};
        ok = header.failed ? gb_fail_memory(status, "writing ir_metadata")
                           : gb_run_write(&run, &names, &style, to, status);
    }
    gb_text_free(&header);
    gb_run_free(&run);
    gb_run_names_free(&names);
    free(from);
    free(to);
    free(split);
    return ok;
}

static bool write_runs(const exported *e, const char *out, gb_status *status)
{
    char *from = gb_path_join(status, e->evaluation->path, "runs");
    char *to = from ? gb_path_join(status, out, "runs") : NULL;
    gb_entries files = {0};
    bool ok = to && gb_entries_read(from, "*.trec", &files, status) && gb_make_dirs(to, status);
    for (size_t i = 0; ok && i < files.count; i++)
        ok = write_run(e, from, files.names[i], to, status);
    gb_entries_free(&files);
    free(from);
    free(to);
    return ok;
}

/* The model's folder, where it has one, with a card that says all. */
static bool write_model(const exported *e, const char *out, gb_status *status)
{
    char *from = e->model && e->model->path ? gb_path_join(status, e->model->path, "model") : NULL;
    bool has = from && gb_dir_exists(from);
    char *to = has && e->params->model ? gb_path_join(status, out, "model") : NULL;
    char *readme = has ? gb_path_join(status, from, "README.md") : NULL, *card = NULL;
    gb_text text = {0};
    bool ok = !has || readme;
    if (ok && readme && gb_file_exists(readme))
        ok = (card = gb_read_file(readme, NULL, status));
    if (ok && has && e->params->model)
        ok = to && gb_copy_tree(from, to, status);
    if (ok) {
        report_export_card(e, card, &text);
        ok = gb_text_write_in(&text, to ? to : out, "README.md", status);
    }
    gb_text_free(&text);
    free(from);
    free(to);
    free(readme);
    free(card);
    return ok;
}

bool gb_export_write(const gb_export_params *params, const char *out, gb_status *status)
{
    exported e = {.params = params};
    bool ok = open_all(&e, status) && gb_target_check(out, "mteb/model_meta.json", status) &&
              gb_make_dirs(out, status) && write_runs(&e, out, status) &&
              report_export_mteb(&e, out, status) && write_model(&e, out, status);
    report_chain_free(&e.steps);
    json_decref(e.metrics);
    json_decref(e.collection);
    return ok;
}
