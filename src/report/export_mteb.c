/* The values of an evaluation as MTEB's result files. */
#include "export.h"

#include <stdlib.h>
#include <string.h>

/* The scores of each split: split -> [{measure: value, "main_score", "hf_subset", "languages"}]. */
static json_t *scores(const exported *e)
{
    json_t *all = json_object(), *measure;
    const char *key;
    char name[40];
    json_object_foreach(e->metrics, key, measure)
    {
        const char *colon = strchr(key, ':');
        const json_t *value = json_is_number(measure) ? measure : json_object_get(measure, "value");
        if (!colon || !json_is_number(value) || !report_export_measure(colon + 1, name))
            continue;
        char *split = gb_strdup(key, NULL);
        if (!split)
            break;
        split[colon - key] = '\0';
        json_t *list = json_object_get(all, split);
        if (!list) {
            list = json_pack("[{s:s, s:[s]}]", "hf_subset", "default", "languages",
                             e->params->language);
            json_object_set_new(all, split, list);
        }
        json_object_set_new(json_array_get(list, 0), name, json_real(json_number_value(value)));
        free(split);
    }
    return all;
}

/* The measure that a task is ranked by: nDCG@10, else MRR@10, else recall. */
static void add_main_scores(json_t *all)
{
    static const char *const order[] = {"ndcg_at_10", "mrr_at_10", "recall_at_100", "recall_at_50"};
    const char *split;
    json_t *list;
    json_object_foreach(all, split, list)
    {
        json_t *one = json_array_get(list, 0), *main = NULL;
        for (size_t i = 0; !main && i < 4; i++)
            main = json_object_get(one, order[i]);
        json_object_set(one, "main_score", main ? main : json_null());
    }
}

static json_t *model_meta(const exported *e)
{
    const chain_step *model = e->model;
    const char *key = model ? strrchr(model->name, '-') : NULL;
    json_t *meta = json_pack("{s:s, s:s, s:[s], s:[]}", "name", e->tag, "revision",
                             key ? key + 1 : "no_revision_available", "languages",
                             e->params->language, "framework");
    const char *scoring =
        model ? gb_json_text(json_object_get(model->run, "settings"), "scoring") : NULL;
    bool dense = scoring && (!*scoring || !strcmp(scoring, "dense"));
    if (model)
        json_array_append_new(json_object_get(meta, "framework"),
                              json_string("Sentence Transformers"));
    static const char *const unknown[] = {
        "release_date", "n_parameters",     "memory_usage_mb",      "max_tokens",
        "embed_dim",    "license",          "public_training_code", "public_training_data",
        "loader",       "training_datasets"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        json_object_set_new(meta, unknown[i], json_null());
    json_object_set_new(meta, "open_weights", model ? json_true() : json_null());
    json_object_set_new(meta, "similarity_fn_name", dense ? json_string("dot") : json_null());
    json_object_set_new(meta, "use_instructions", json_false());
    return meta;
}

bool report_export_mteb(const exported *e, const char *out, gb_status *status)
{
    const json_t *times = json_object_get(e->evaluation->run, "times");
    char slug[96];
    report_site_slug(e->task, slug, sizeof slug);
    json_t *all = scores(e), *meta = model_meta(e);
    add_main_scores(all);
    json_t *task = json_pack(
        "{s:s, s:s, s:n, s:n, s:f, s:o}", "task_name", e->task, "dataset_revision",
        e->params->revision ? e->params->revision : "unknown", "mteb_version", "kg_co2_emissions",
        "evaluation_time", json_number_value(json_object_get(times, "work_s")), "scores", all);
    char *folder = gb_path_join(status, out, "mteb"), *name = gb_format(status, "%s.json", slug);
    bool ok =
        folder && name && gb_make_dirs(folder, status) &&
        gb_json_save_in(task, GB_JSON_FILE | GB_JSON_NEWLINE, folder, name, status) &&
        gb_json_save_in(meta, GB_JSON_FILE | GB_JSON_NEWLINE, folder, "model_meta.json", status);
    json_decref(task);
    json_decref(meta);
    free(folder);
    free(name);
    return ok;
}
