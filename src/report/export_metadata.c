/* ir_metadata (ir-metadata.org, schema 0.1): where a run came from, in comments before its lines,
 * which trec_eval 10 skips, and gabbro too. Each section is YAML's flow style, which is JSON. */
#include "export.h"

#include <stdlib.h>
#include <string.h>

/* One section, each line behind "# "; takes the reference. */
static void section(gb_text *out, const char *name, json_t *value)
{
    char *text = json_dumps(value, JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    json_decref(value);
    gb_text_printf(out, "# %s: ", name);
    for (const char *at = text ? text : "null"; *at; at++) {
        gb_text_append(out, at, 1);
        if (*at == '\n')
            gb_text_printf(out, "#   ");
    }
    gb_text_printf(out, "\n");
    free(text);
}

static json_t *string_or_null(const char *text)
{
    return text && *text ? json_string(text) : json_null();
}

static json_t *platform(const exported *e)
{
    const json_t *facts = json_object_get(e->evaluation->run, "facts");
    const json_t *machine = json_object_get(facts, "machine");
    const json_t *built = json_object_get(facts, "built");
    json_t *libraries = json_array(), *version;
    const char *name;
    char line[100];
    json_object_foreach(json_object_get(built, "libraries"), name, version)
    {
        snprintf(line, sizeof line, "%s %s", name,
                 json_is_string(version) ? json_string_value(version) : "");
        json_array_append_new(libraries, json_string(line));
    }
    return json_pack("{s:{s:{s:o, s:o}, s:o, s:o}, s:{s:o, s:o}, s:{s:{s:o}, s:o}}", "hardware",
                     "cpu", "model", string_or_null(gb_json_text(machine, "processor")),
                     "architecture", string_or_null(gb_json_text(machine, "architecture")), "gpu",
                     string_or_null(gb_json_text(facts, "device")), "driver",
                     string_or_null(gb_json_text(facts, "driver")), "operating system", "name",
                     string_or_null(gb_json_text(machine, "system")), "kernel",
                     string_or_null(gb_json_text(machine, "release")), "software", "libraries", "c",
                     libraries, "compiler", string_or_null(gb_json_text(built, "compiler")));
}

static json_t *implementation(const exported *e)
{
    const json_t *facts = json_object_get(e->evaluation->run, "facts");
    gb_text command = {0};
    report_chain_command(e->evaluation, &command);
    json_t *all = json_pack(
        "{s:{s:o}, s:{s:s, s:o, s:o}}", "executable", "cmd", string_or_null(command.data), "source",
        "lang", "c", "version", string_or_null(gb_json_text(e->evaluation->run, "program")),
        "commit", string_or_null(gb_json_text(json_object_get(facts, "built"), "source")));
    gb_text_free(&command);
    return all;
}

/* What was done, artifact by artifact. */
static json_t *method(const exported *e)
{
    json_t *steps = json_array();
    for (size_t i = 0; i < e->steps.count; i++) {
        const chain_step *step = &e->steps.steps[i];
        const char *kind = step->run ? gb_json_text(step->run, "kind") : "file";
        json_t *settings = step->run ? report_export_settings(step->run) : json_object();
        json_array_append_new(steps, json_pack("{s:s, s:s, s:o}", "name", step->name, "method",
                                               kind, "settings", settings));
    }
    return json_pack("{s:b, s:s, s:o}", "automatic", 1, "score ties",
                     "by rank; equal scores in the order of the collection", "retrieval", steps);
}

static json_t *goal(const exported *e, const char *split)
{
    json_t *measures = json_array(), *value;
    const char *key;
    size_t length = strlen(split);
    json_object_foreach(e->metrics, key,
                        value) if (!strncmp(key, split, length) && key[length] == ':')
        json_array_append_new(measures, json_string(key + length + 1));
    return json_pack("{s:o, s:{s:o}}", "description", string_or_null(e->params->goal), "evaluation",
                     "reported measures", measures);
}

static json_t *data(const exported *e, const char *split)
{
    json_t *training = json_array();
    for (size_t i = 0; i < e->steps.count; i++)
        if (!strncmp(e->steps.steps[i].name, "collection-", 11))
            json_array_append_new(training, json_string(e->steps.steps[i].name));
    const char *artifact =
        gb_json_text(json_object_get(e->evaluation->run, "inputs"), "collection");
    return json_pack("{s:{s:s, s:o, s:s, s:o}, s:o}", "test collection", "name", e->task, "source",
                     string_or_null(gb_json_text(e->collection, "source")), "qrels", split,
                     "artifact", string_or_null(artifact), "collections behind it", training);
}

void report_export_metadata(const exported *e, const char *split, gb_text *out)
{
    gb_text_printf(out, "# ir_metadata.start\n# schema version: \"0.1\"\n");
    section(out, "tag", json_string(e->tag));
    section(out, "actor", json_pack("{s:o}", "team", string_or_null(e->params->team)));
    section(out, "research goal", goal(e, split));
    section(out, "platform", platform(e));
    section(out, "implementation", implementation(e));
    section(out, "method", method(e));
    section(out, "data", data(e, split));
    gb_text_printf(out, "# ir_metadata.end\n");
}
