/* Recipes: what they declare, what a table keeps of it, and what they cannot do. */
#include "reproduce/recipe.h"
#include "scratch.h"

/* A recipe that was run. */
typedef struct ran {
    repro_settings settings;
    repro_graph *graph;
    repro_table table;
    gb_status status;
    bool ok;
} ran;

static const uint64_t seeds[] = {42, 43};

static ran run_as(repro_recipe_params params, const char *text)
{
    ran r = {0};
    repro_script script = {"reproduce/made/up.lua", (char *)text};
    r.graph = repro_graph_create(&r.status);
    repro_settings_choose(&r.settings, "rate=0.1", NULL, &r.status);
    repro_settings_choose(&r.settings, "paper_made_rate=0.2", NULL, &r.status);
    r.settings.items[0].chosen = false;
    params.table = "made/up";
    params.settings = &r.settings;
    params.seeds = params.seeds ? params.seeds : seeds;
    params.seed_count = params.seed_count ? params.seed_count : 1;
    params.data_dir = "/data";
    r.ok = repro_recipe_run_scripts(&params, &script, 1, r.graph, &r.table, &r.status);
    return r;
}

static ran run(const char *text)
{
    return run_as((repro_recipe_params){0}, text);
}

static void leave(ran *r)
{
    repro_table_free(&r->table);
    repro_settings_free(&r->settings);
    repro_graph_destroy(r->graph);
}

/* The commands of a table with these rows. */
static void expect_text(ran *r, const char *rows, bool everything, const char *text)
{
    gb_text lines = {0};
    cr_assert(r->ok, "%s: %s", r->status.where, r->status.what);
    cr_assert(repro_table_select(&r->table, r->graph, rows, everything, &r->status), "%s",
              r->status.what);
    repro_table_text(&r->table, "", &lines);
    cr_expect_str_eq(lines.data ? lines.data : "", text);
    gb_text_free(&lines);
}

/* ---- the graph ---- */

Test(recipes, equal_commands_are_one_artifact)
{
    ran r = run("local a = artifact('make a, big', 'make', '--size', 3)\n"
                "local b = artifact('make a again', 'make', '--size', '3')\n"
                "local c = artifact('use', 'use', '--of', {a, {}}, 'x=' .. b)\n"
                "if a ~= b or a == c then refuse 'they are not the same' end\n"
                "result {row = 'r', seed = run.seeds[1], evaluation = c}\n");
    expect_text(&r, NULL, false,
                "gabbro make --size 3\n"
                "gabbro use --of <make-a-big> x=<make-a-again>\n");
    cr_expect_eq(r.graph->count, 2);
    cr_expect_eq(r.graph->nodes[1]->words[2].node, r.graph->nodes[0]);
    leave(&r);
}

Test(recipes, a_command_is_told_apart_by_every_word)
{
    ran r =
        run("artifact('1', 'a', 'b c')\nartifact('2', 'a', 'b', 'c')\nartifact('3', 'a', 'b', '')\n"
            "local x = artifact('4', 'a', 'b')\nartifact('5', 'a', x)\nartifact('6', 'a', '3')\n"
            "artifact('7', 'a', '3' .. x)\n");
    cr_assert(r.ok, "%s", r.status.what);
    cr_expect_eq(r.graph->count, 7);
    leave(&r);
}

Test(recipes, a_row_that_is_left_out_takes_what_only_it_needs_with_it)
{
    const char *text =
        "local data = artifact('data', 'data')\n"
        "artifact('unused', 'unused')\n"
        "local function row(name)\n"
        "  local model = artifact(name, 'train', '--on', data, '--as', name)\n"
        "  artifact('idle', 'idle', model)\n"
        "  result {row = name, seed = 1, evaluation = artifact('e', 'evaluate', model)}\n"
        "end\n"
        "row 'one'\n"
        "row 'two'\n"
        "on_request(function() row 'three' end)\n";
    const char *data = "gabbro data\ngabbro unused\n", *one = "gabbro train --on <data> --as one\n"
                                                              "gabbro idle <one>\n"
                                                              "gabbro evaluate <one>\n";
    const char *two =
        "gabbro train --on <data> --as two\ngabbro idle <two>\ngabbro evaluate <two>\n";
    const char *three =
        "gabbro train --on <data> --as three\ngabbro idle <three>\ngabbro evaluate <three>\n";
    char whole[400];
    ran r = run(text);
    snprintf(whole, sizeof whole, "%s%s%s", data, one, two);
    expect_text(&r, NULL, false, whole);
    snprintf(whole, sizeof whole, "%s%s%s%s", data, one, two, three);
    expect_text(&r, NULL, true, whole);
    snprintf(whole, sizeof whole, "%s%s", data, two);
    expect_text(&r, "tw*", false, whole);
    snprintf(whole, sizeof whole, "%s%s%s", data, one, three);
    expect_text(&r, "three|one", false, whole);
    cr_expect_not(repro_table_select(&r.table, r.graph, "one|four", false, &r.status));
    cr_expect_eq(r.status.code, GB_USAGE);
    cr_expect_str_eq(r.status.what, "made/up has no row four; it has: one two three");
    leave(&r);
}

Test(recipes, the_sum_of_a_recipe_is_that_of_cksum)
{
    cr_expect_eq(repro_cksum("123456789", 9), 930766865u);
    cr_expect_eq(repro_cksum("", 0), 4294967295u);
    ran r = run("artifact('a', 'read', public 'set', public 'set' .. '/file', '/database')\n");
    char sum[40];
    expect_text(&r, NULL, false, "gabbro read /data/set /data/set/file /database\n");
    /* printf 'gabbro read set set/file /database\n' | cksum */
    cr_assert(repro_table_checksum(&r.table, "/data", false, sum, &r.status));
    cr_expect_str_eq(sum, "2934984675-35");
    cr_expect_eq(r.table.input_count, 2);
    leave(&r);
}

Test(recipes, options_of_a_command)
{
    ran r =
        run("local a = artifact('a', 'a')\nartifact('b', 'b', '--x', 1, '--of', a, '--x', 2)\n");
    cr_assert(r.ok);
    cr_expect_str_eq(repro_node_option(r.graph->nodes[1], "--x").text, "2");
    cr_expect_eq(repro_node_option(r.graph->nodes[1], "--of").node, r.graph->nodes[0]);
    cr_expect_null(repro_node_option(r.graph->nodes[1], "--y").text);
    leave(&r);
}

/* ---- what a recipe is given ---- */

Test(recipes, settings_are_those_of_the_paper)
{
    ran r =
        run("artifact(settings.rate, 'a', setting('none', 'otherwise'), setting 'none' or 'nil')\n"
            "settings.rate = 5\n");
    expect_text(&r, NULL, false, "gabbro a otherwise nil\n");
    cr_expect_str_eq(r.graph->nodes[0]->label, "0.2");
    cr_expect_str_eq(repro_settings_get(&r.table.settings, "rate"), "5");
    cr_expect_str_eq(repro_settings_get(&r.settings, "rate"), "0.1", "of this table alone");
    leave(&r);
}

Test(recipes, what_was_asked_for)
{
    static const char *const ranks[] = {"--ranks", "2"};
    ran r = run_as(
        (repro_recipe_params){
            .seeds = seeds, .seed_count = 2, .init = "/bert", .ranks = {ranks, 2}},
        "artifact('a', 'a', run.init, run.ranks, run.shards, run.seeds, run.table)\n");
    expect_text(&r, NULL, false, "gabbro a /bert --ranks 2 42 43 made/up\n");
    leave(&r);
}

/* ---- what it cannot do ---- */

static void refuse(const char *text, gb_code code, const char *where, const char *what)
{
    ran r = run(text);
    cr_expect_not(r.ok, "%s", text);
    cr_expect_eq(r.status.code, code, "%s: %d", text, r.status.code);
    cr_expect_str_eq(r.status.where, where, "%s: at %s", text, r.status.where);
    cr_expect(strstr(r.status.what, what), "%s: %s", text, r.status.what);
    leave(&r);
}

Test(recipes, errors_name_the_line)
{
    refuse("\nlocal a = b.c\n", GB_DATA, "reproduce/made/up.lua:2", "b");
    refuse("local a =\n\n= 3\n", GB_DATA, "reproduce/made/up.lua:3", "unexpected symbol");
    refuse("local function f()\n  artifact('a', 'b', nil)\nend\n\nf()\n", GB_DATA,
           "reproduce/made/up.lua:2", "nil");
    refuse("artifact('a', 'b', 0.5)\n", GB_DATA, "reproduce/made/up.lua:1", "whole numbers");
    refuse("artifact('a', 'b\\0c')\n", GB_DATA, "reproduce/made/up.lua:1", "zero byte");
    refuse("artifact(3)\n", GB_DATA, "reproduce/made/up.lua:1", "string expected");
    refuse("result {row = 'a'}\n", GB_DATA, "reproduce/made/up.lua:1", "an evaluation");
    refuse("settings.speed = 3\n", GB_USAGE, "", "speed");
    refuse("artifact('a', 'b', settings.speed)\n", GB_USAGE, "", "needs the setting speed");
    refuse("refuse('not with ' .. run.table)\n", GB_USAGE, "", "not with made/up");
}

Test(recipes, there_are_no_files_processes_time_or_chance)
{
    static const char *const names[] = {"io",     "os",       "require",   "package",
                                        "dofile", "loadfile", "load",      "debug",
                                        "print",  "pcall",    "xpcall",    "pairs",
                                        "next",   "warn",     "coroutine", "collectgarbage"};
    char text[128];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(text, sizeof text, "if %s ~= nil then refuse 'there is %s' end\n", names[i],
                 names[i]);
        ran r = run(text);
        cr_expect(r.ok, "%s", r.status.what);
        leave(&r);
    }
    refuse("math.random()\n", GB_DATA, "reproduce/made/up.lua:1", "random");
    refuse("\x1bLua", GB_DATA, "reproduce/made/up.lua", "binary");
}

Test(recipes, an_endless_one_ends)
{
    refuse("while true do end\n", GB_DATA, "reproduce/made/up.lua:1", "does not end");
    refuse("local t = {}\n\nwhile true do t[#t + 1] = ('x'):rep(1000) .. #t end\n", GB_DATA,
           "reproduce/made/up.lua", "memory");
    refuse("local function f() return 1 + f() end\nf()\n", GB_DATA, "reproduce/made/up.lua:1",
           "stack overflow");
    refuse("local t = {}\nt[1] = t\nartifact('a', 'b', t)\n", GB_DATA, "reproduce/made/up.lua:3",
           "lists within lists");
}
