/* A site of one small table and one figure, and how its pages are read. */
#ifndef GABBRO_TESTS_SITE_HELP_H
#define GABBRO_TESTS_SITE_HELP_H

#include "gabbro/report.h"
#include "gabbro/store.h"
#include "scratch.h"
#include "xml_check.h"

static scratch here;
static char trained[GB_ARTIFACT_NAME], measured[GB_ARTIFACT_NAME]; /* steps in the store "store" */

static inline void put(const char *name, const char *text)
{
    gb_status status = {0};
    cr_assert(gb_write_file(name, text, strlen(text), &status), "%s", status.what);
}

/* A step with one file; returns its name. */
static inline void make_step(gb_store *store, const char *kind, json_t *settings, json_t *inputs,
                             const char *file, const char *text, char name[GB_ARTIFACT_NAME])
{
    gb_status status = {0};
    gb_artifact_desc desc = {.kind = kind, .version = 1, .settings = settings, .inputs = inputs};
    gb_artifact *step = gb_artifact_begin(store, &desc, &status);
    cr_assert(step, "%s", status.what);
    char *path = gb_path_join(NULL, gb_artifact_path(step), file);
    put(path, text);
    free(path);
    json_t *facts = json_pack("{s:s}", "converged", "a < b");
    cr_assert(gb_artifact_finish(step, facts, &status), "%s", status.what);
    snprintf(name, GB_ARTIFACT_NAME, "%s", gb_artifact_name(step));
    gb_artifact_close(step);
    json_decref(settings);
    json_decref(inputs);
    json_decref(facts);
}

static const char table_json[] =
    "{\"format\": 1, \"table\": \"qac/table1\", \"title\": \"One & only\", \"source\": \"arXiv\",\n"
    " \"scale\": \"mini\", \"collection\": \"world\", \"collection_kind\": \"world\",\n"
    " \"device\": {\"device\": \"lavapipe\", \"driver\": \"22\", \"kernels\": \"abc\"},\n"
    " \"columns\": [{\"column\": \"dev:MRR@10\", \"header\": \"MRR\", \"label\": \"Dev, MRR@10\",\n"
    "   \"scale\": 100, \"decimals\": 1}],\n"
    " \"rows\": [\n"
    "  {\"row\": \"\", \"label\": \"Old <1>\", \"group\": \"G\", \"cells\":\n"
    "   {\"dev:MRR@10\": {\"published\": 38.2}}, \"steps\": {}},\n"
    "  {\"row\": \"span/r1\", \"published_row\": \"Span @ G\", \"label\": \"Span & co\", "
    "\"group\": \"G\", \"cells\": "
    "{\"dev:MRR@10\":\n"
    "   {\"published\": 38.8, \"recorded\": {\"mean\": 31, \"sd\": 2, \"low\": 29, \"high\": 33,\n"
    "    \"seeds\": 3}, \"here\": {\"42\": 0.25, \"43\": 0.35}, \"against_recorded\": "
    "\"within\"}},\n"
    "   \"steps\": {\"42\": \"%s\", \"43\": \"evaluate-gone\"},\n"
    "   \"converged\": {\"42\": false, \"43\": true}}],\n"
    " \"claims\": [\n"
    "  {\"claim\": \"x-1\", \"verdict\": \"supported\", \"statement\": \"a > b\", \"mean\": 2,\n"
    "   \"low\": 1, \"high\": 3, \"seeds\": 3, \"published\": 0.6, \"reason\": \"\",\n"
    "   \"left\": [\"Span @ G\"], \"kind\": \"ge:1\", \"column\": \"dev:MRR@10\",\n"
    "   \"where\": \"4.2\", \"margin\": 1, \"caution\": \"not compared: only quoted: Old <1>\",\n"
    "   \"over_queries\": {\"p\": 0.03, \"queries\": 9}},\n"
    "  {\"claim\": \"x-2\", \"verdict\": \"undecided\", \"statement\": \"c\", \"mean\": 1, "
    "\"low\": null,\n"
    "   \"high\": null, \"seeds\": 1, \"more_seeds\": 4, \"reason\": \"\"},\n"
    "  {\"claim\": \"x-3\", \"verdict\": \"not judged\", \"statement\": \"d\", \"mean\": null,\n"
    "   \"seeds\": 0, \"reason\": \"quoted\"}],\n"
    " \"deviation_texts\": [{\"id\": \"D1\", \"topic\": \"t\", \"paper\": \"p\", \"here\": \"h\",\n"
    "   \"why\": \"cost < time\"}]}\n";

static inline void enter(void)
{
    here = scratch_enter();
    gb_log_set_level(GB_LOG_ERROR);
    gb_status status = {0};
    gb_store *store = gb_store_open("store", &status);
    cr_assert(store, "%s", status.what);
    gb_text losses = {0};
    gb_text_printf(&losses, "step\ttotal\tmlm\n");
    for (int i = 0; i < 300; i++)
        gb_text_printf(&losses, "%d\t%g\t%g\n", i, 5. / (i + 1), 4. / (i + 1));
    make_step(store, "pretrain",
              json_pack("{s:s, s:f, s:b, s:b, s:n, s:s, s:s}", "objective", "mlm", "learning-rate",
                        .002, "flag", 1, "off", 0, "nothing", "words", "it's two", "prompt-name",
                        "x"),
              json_pack("{s:s}", "from",
                        "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
              "losses.tsv", losses.data, trained);
    gb_text_free(&losses);
    make_step(store, "evaluate", json_pack("{s:i, s:s}", "depth", 1000, "objective", "bow"),
              json_pack("{s:s, s:[s]}", "model", trained, "others", trained), "metrics.json", "{}",
              measured);
    gb_store_close(store);
    cr_assert(gb_make_dirs("in", &status) && gb_make_dirs("fig", &status));
    gb_text text = {0};
    gb_text_printf(&text, table_json, measured);
    put("in/table.json", text.data);
    text.length = 0;
    gb_text_printf(&text,
                   "{\"table\": \"qac/table1\"}\n{\"row\": \"span/r1\", \"evaluation\": "
                   "\"../store/%s\"}\n",
                   measured);
    put("in/results.jsonl", text.data);
    gb_text_free(&text);
    put("in/table.csv", "a,b\r\n");
    put("fig/coverage.html", "<html><title>Tokens &amp; co</title></html>");
    put("fig/curve.svg", "<svg/>");
}

static inline void leave(void)
{
    scratch_leave(&here);
}

static inline void write_site(const char *const *folders, size_t count)
{
    gb_status status = {0};
    gb_site_params params = {.folders = folders, .count = count};
    cr_assert(gb_site_write(&params, "site", &status), "%s: %s", status.where, status.what);
}

static inline char *read_page(const char *name)
{
    gb_status status = {0};
    char *path = gb_path_join(NULL, "site", name), *text = gb_read_file(path, NULL, &status);
    cr_assert(text, "%s", path);
    free(path);
    return text;
}

/* Links of a page lead to files that are there, and to ids that their pages have. */
static inline size_t check_links(const char *page)
{
    char *text = read_page(page);
    size_t links = 0;
    xml_check_alone(text);
    for (const char *at = text; (at = strpbrk(at, "hs"));) {
        const char *value = !strncmp(at, "href=\"", 6)  ? at + 6
                            : !strncmp(at, "src=\"", 5) ? at + 5
                                                        : NULL;
        if (!value || at[-1] == ':') {
            at++;
            continue;
        }
        size_t length = strcspn(value, "\"#"), slash = 0;
        for (size_t i = 0; page[i]; i++)
            slash = page[i] == '/' ? i + 1 : slash;
        char path[300], id[100];
        snprintf(path, sizeof path, "site/%.*s%.*s", (int)slash, page, (int)length, value);
        if (!length)
            snprintf(path, sizeof path, "site/%s", page);
        cr_expect(gb_file_exists(path), "%s: %s", page, path);
        if (value[length] == '#' && gb_file_exists(path)) {
            char *target = gb_read_file(path, NULL, NULL);
            snprintf(id, sizeof id, " id=\"%.*s\"", (int)strcspn(value + length + 1, "\""),
                     value + length + 1);
            cr_expect(strstr(target, id), "%s: no %s in %s", page, id, path);
            free(target);
        }
        cr_expect(*value != '/' && !strstr(path, "://"), "relative links only");
        links++;
        at = value;
    }
    free(text);
    return links;
}

#endif
