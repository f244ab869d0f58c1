/* A model card with data, settings, results and the commands that made it. */
#include "export.h"
#include "private.h"

#include <gabbro/experiment.h>

#include <stdlib.h>
#include <string.h>

/* A string of YAML, written as JSON writes it. */
static void yaml_string(gb_text *out, const char *before, const char *text, const char *behind)
{
    json_t *string = json_string(text);
    char *quoted = json_dumps(string, JSON_ENCODE_ANY);
    gb_text_printf(out, "%s%s%s", before, quoted ? quoted : "null", behind);
    free(quoted);
    json_decref(string);
}

/* The front matter of Hugging Face's cards: values that its pages show. */
static void model_index(const exported *e, gb_text *out)
{
    const char *key;
    char name[40];
    json_t *measure;
    yaml_string(out, "model-index:\n- name: ", e->tag, "\n  results:\n");
    json_object_foreach(e->metrics, key, measure)
    {
        const char *colon = strchr(key, ':');
        const json_t *value = json_is_number(measure) ? measure : json_object_get(measure, "value");
        if (!colon || !json_is_number(value) || !report_export_measure(colon + 1, name))
            continue;
        yaml_string(out, "  - task: {type: retrieval}\n    dataset: {name: ", e->task, ", ");
        yaml_string(out, "type: ", e->task, ", ");
        gb_text_printf(out, "split: \"%.*s\"}\n    metrics: [{type: %s, value: %.6f}]\n",
                       (int)(colon - key), key, name, json_number_value(value));
    }
}

/* Front matter and words of the model's own card, with the values among them. */
static void beginning(const exported *e, const char *card, gb_text *out)
{
    const char *end = card && !strncmp(card, "---\n", 4) ? strstr(card + 4, "\n---\n") : NULL;
    if (end) {
        gb_text_append(out, card, (size_t)(end + 1 - card));
        model_index(e, out);
        gb_text_printf(out, "%s", end + 1);
        return;
    }
    gb_text_printf(out, "---\n");
    model_index(e, out);
    gb_text_printf(out, "---\n\n# ");
    report_markdown_escaped(out, e->tag);
    gb_text_append(out, "\n", 1);
    if (card)
        gb_text_printf(out, "\n%s", card);
}

/* Tables that the evaluation is a row of. */
static void rows(const exported *e, gb_text *out)
{
    gb_text found = {0};
    if (gb_catalog_rows(e->params->store, e->evaluation->name, &found, NULL) && found.length) {
        gb_text_printf(out, "\n## Tables\n\n");
        for (char *at = found.data, *end; *at; at = end + 1) {
            end = strchr(at, '\n');
            gb_text_printf(out, "- %.*s\n", (int)(end - at), at);
        }
    }
    gb_text_free(&found);
}

static void measured(const exported *e, gb_text *out)
{
    const char *key;
    json_t *measure;
    gb_text_printf(out, "\n## Results on ");
    report_markdown_escaped(out, e->task);
    gb_text_printf(out, "\n\n| measure | value | a random order has |\n|---|---|---|\n");
    json_object_foreach(e->metrics, key, measure)
    {
        const json_t *value = json_is_number(measure) ? measure : json_object_get(measure, "value");
        const json_t *chance = json_object_get(measure, "chance");
        if (!json_is_number(value))
            continue;
        gb_text_printf(out, "| %s | %.4f |", key, json_number_value(value));
        if (json_is_number(chance))
            gb_text_printf(out, " %.4f", json_number_value(chance));
        gb_text_printf(out, " |\n");
    }
}

static void collections(const exported *e, gb_text *out)
{
    gb_text_printf(out, "\n## Data\n\n| artifact | name | source | passages | queries |\n"
                        "|---|---|---|---|---|\n");
    for (size_t i = 0; i < e->steps.count; i++) {
        const chain_step *step = &e->steps.steps[i];
        if (!step->path || strncmp(step->name, "collection-", 11))
            continue;
        char *folder = gb_path_join(NULL, step->path, "collection");
        json_t *json = folder ? gb_json_load_in(folder, "collection.json", 0, NULL) : NULL;
        gb_text_printf(out, "| `%s` | ", step->name);
        report_markdown_escaped(out, gb_json_text(json, "name"));
        gb_text_printf(out, " | %s | %lld | %lld |\n", gb_json_text(json, "source"),
                       (long long)json_integer_value(json_object_get(json, "passages")),
                       (long long)json_integer_value(json_object_get(json, "queries")));
        json_decref(json);
        free(folder);
    }
}

/* Commands with the settings that are not at their defaults, in the order in which they run. */
static void commands(const exported *e, gb_text *out)
{
    gb_text_printf(out, "\n## Commands\n\nEach makes the artifact that is named above it; settings "
                        "that are not given have their defaults.\n");
    for (size_t i = 0; i < e->steps.count; i++) {
        const chain_step *step = &e->steps.steps[i];
        if (!step->run)
            continue;
        json_object_set_new(step->run, "settings", report_export_settings(step->run));
        gb_text_printf(out, "\n`%s`\n\n```sh\n", step->name);
        report_chain_command(step, out);
        gb_text_printf(out, "\n```\n");
    }
}

static void origin(const exported *e, gb_text *out)
{
    const chain_step *step = e->model && e->model->run ? e->model : e->evaluation;
    const json_t *facts = json_object_get(step->run, "facts");
    const json_t *built = json_object_get(facts, "built"),
                 *times = json_object_get(step->run, "times");
    const char *const rows[][2] = {{"program", gb_json_text(step->run, "program")},
                                   {"source", gb_json_text(built, "source")},
                                   {"compiler", gb_json_text(built, "compiler")},
                                   {"device", gb_json_text(facts, "device")},
                                   {"driver", gb_json_text(facts, "driver")},
                                   {"kernels", gb_json_text(step->run, "kernels")},
                                   {"finished", gb_json_text(times, "finished")}};
    gb_text_printf(out, "\n## Made by\n\n| | |\n|---|---|\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (*rows[i][1])
            gb_text_printf(out, "| %s | `%s` |\n", rows[i][0], rows[i][1]);
}

void report_export_card(const exported *e, const char *card, gb_text *out)
{
    beginning(e, card, out);
    rows(e, out);
    measured(e, out);
    collections(e, out);
    commands(e, out);
    origin(e, out);
}
