/* Recipes, with the words of the folder reproduce. */
#include "fuzz.h"

#include "reproduce/recipe.h"

static char *shared(const char *name)
{
    char *path = gb_installed_file(name), *text = path ? gb_read_file(path, NULL, NULL) : NULL;
    free(path);
    if (!text)
        abort();
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static repro_script scripts[] = {{"reproduce/sets.lua", NULL},
                                     {"reproduce/training.lua", NULL},
                                     {"reproduce/results.lua", NULL},
                                     {"reproduce/qac/table1.lua", NULL}};
    static repro_settings scale;
    static const uint64_t seed = 42;
    for (size_t i = 0; i < 3; i++)
        if (!scripts[i].text)
            scripts[i].text = shared(scripts[i].name);
    if (!scale.count) {
        char *path = gb_installed_file("reproduce/scales/mini");
        if (!path || !repro_settings_read(&scale, path, NULL, NULL))
            abort();
        free(path);
    }
    gb_status status = {0};
    repro_table table = {0};
    repro_graph *graph = repro_graph_create(&status);
    char *text = strndup((const char *)data, size);
    if (!graph || !text)
        abort();
    scripts[3].text = text;
    repro_recipe_params params = {.table = "qac/table1",
                                  .settings = &scale,
                                  .seeds = &seed,
                                  .seed_count = 1,
                                  .data_dir = "/data"};
    bool ok = repro_recipe_run_scripts(&params, scripts, 4, graph, &table, &status);
    fuzz_check(ok, &status);
    /* A plain run has all its commands, and what they need stands before them. */
    if (ok) {
        gb_text lines = {0};
        char sum[40];
        if (!repro_table_select(&table, graph, NULL, false, &status) ||
            !repro_table_checksum(&table, "/data", false, sum, &status))
            abort();
        repro_table_text(&table, "", &lines);
        gb_text_free(&lines);
        for (size_t n = 0; n < graph->count; n++)
            for (size_t w = 0; table.kept[n] && w < graph->nodes[n]->count; w++)
                if (graph->nodes[n]->words[w].node &&
                    !table.kept[graph->nodes[n]->words[w].node->index])
                    abort();
    }
    repro_table_free(&table);
    repro_graph_destroy(graph);
    free(text);
    return 0;
}
