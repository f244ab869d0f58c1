/* Runs recipes, in a Lua state with nothing in it but what a recipe may use. */
#include "recipe_host.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INSTRUCTIONS = 100000000, CHECK_EVERY = 100000, MAX_BYTES = 256 << 20 };

repro_host *repro_host_of(lua_State *L)
{
    return *(repro_host **)lua_getextraspace(L);
}

/* ---- bounds ---- */

static void *allocate(void *context, void *block, size_t before, size_t bytes)
{
    repro_host *h = context;
    size_t had = block ? before : 0;
    if (!bytes) {
        free(block);
        h->bytes -= had;
        return NULL;
    }
    if (h->bytes - had + bytes > MAX_BYTES)
        return NULL;
    void *grown = realloc(block, bytes);
    if (grown)
        h->bytes += bytes - had;
    return grown;
}

static void count_instructions(lua_State *L, lua_Debug *where)
{
    (void)where;
    repro_host *h = repro_host_of(L);
    h->instructions += CHECK_EVERY;
    if (h->instructions >= MAX_INSTRUCTIONS)
        luaL_error(L, "the recipe does not end: it has executed %d instructions", MAX_INSTRUCTIONS);
}

/* ---- running ---- */

/* Libraries without what reads files, depends on addresses or chance, or hides failures. */
static int open_libraries(lua_State *L)
{
    static const char *const left_out[] = {"dofile", "loadfile",      "load",   "print",
                                           "warn",   "pcall",         "xpcall", "pairs",
                                           "next",   "collectgarbage"};
    luaL_requiref(L, "_G", luaopen_base, 1);
    luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 1);
    luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 1);
    luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 1);
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        lua_pushnil(L);
        lua_setglobal(L, left_out[i]);
    }
    lua_getglobal(L, "math");
    for (size_t i = 0; i < 2; i++) {
        lua_pushnil(L);
        lua_setfield(L, -2, i ? "random" : "randomseed");
    }
    lua_settop(L, 0);
    return repro_host_open(L);
}

/* Fails with a message of Lua, which may begin with a place, "FILE:LINE: ". place: of the recipe,
 * NULL: that of the message, else the file. */
static void fail(repro_host *h, const char *place, const char *file, const char *what)
{
    char own[200] = "";
    const char *end = strstr(what, ": ");
    if (end && !strncmp(what, "reproduce/", 10))
        snprintf(own, sizeof own, "%.*s", (int)(end - what), what);
    if (!place)
        place = *own ? own : file;
    if (*own && !strcmp(own, place))
        what = end + 2;
    if (h->status.code == GB_OK)
        gb_fail(&h->status, GB_DATA, place, NULL, "%s", what);
}

void repro_host_place(lua_State *L, char place[REPRO_PLACE])
{
    const repro_host *h = repro_host_of(L);
    lua_Debug frame;
    *place = '\0';
    for (int level = 0; !*place && lua_getstack(L, level, &frame); level++)
        if (lua_getinfo(L, "Sl", &frame) && !strcmp(frame.source + 1, h->name) &&
            frame.currentline > 0)
            snprintf(place, REPRO_PLACE, "%s:%d", h->name, frame.currentline);
}

/* Of a failure: the line of the recipe that it happened in or under. */
static int explain(lua_State *L)
{
    repro_host *h = repro_host_of(L);
    const char *what = lua_tostring(L, 1);
    char place[REPRO_PLACE];
    repro_host_place(L, place);
    fail(h, *place ? place : NULL, h->name, what ? what : "the recipe failed");
    return 0;
}

static bool run_chunk(lua_State *L, const repro_script *script)
{
    repro_host *h = repro_host_of(L);
    char chunk[200];
    snprintf(chunk, sizeof chunk, "@%s", script->name);
    lua_pushcfunction(L, explain);
    int code = luaL_loadbufferx(L, script->text, strlen(script->text), chunk, "t");
    bool loaded = code == LUA_OK;
    if (loaded)
        code = lua_pcall(L, 0, 0, 1);
    if (code == LUA_ERRMEM)
        gb_fail(&h->status, GB_DATA, script->name, NULL,
                "the recipe takes more than %d MiB of memory", MAX_BYTES >> 20);
    else if (code != LUA_OK)
        fail(h, NULL, script->name, loaded ? "the recipe failed" : lua_tostring(L, -1));
    lua_settop(L, 0);
    return code == LUA_OK;
}

bool repro_recipe_run_scripts(const repro_recipe_params *params, const repro_script *scripts,
                              size_t count, repro_graph *graph, repro_table *table,
                              gb_status *status)
{
    repro_host h = {
        .params = params, .graph = graph, .table = table, .name = scripts[count - 1].name};
    *table = (repro_table){.name = repro_graph_keep(graph, params->table, status)};
    char paper[80];
    snprintf(paper, sizeof paper, "paper_%.*s", (int)strcspn(params->table, "/"), params->table);
    if (!table->name || !repro_settings_copy(params->settings, &table->settings, status) ||
        (params->collection && !repro_settings_apply_prefix(&table->settings, "own", status)) ||
        !repro_settings_apply_prefix(&table->settings, paper, status))
        return false;
    lua_State *L = lua_newstate(allocate, &h);
    if (!L)
        return gb_fail_memory(status, "running a recipe");
    *(repro_host **)lua_getextraspace(L) = &h;
    lua_pushcfunction(L, open_libraries);
    bool ok = lua_pcall(L, 0, 0, 0) == LUA_OK || gb_fail_memory(&h.status, "running a recipe");
    lua_sethook(L, count_instructions, LUA_MASKCOUNT, CHECK_EVERY);
    for (size_t i = 0; ok && i < count; i++)
        ok = run_chunk(L, &scripts[i]);
    lua_close(L);
    if (!ok && status)
        *status = h.status;
    return ok;
}

/* A file of the recipes, "sets.lua" or "qac/table1.lua"; of a paper that came without them, in its
 * folder. */
static bool read_script(const char *paper, const char *file, repro_script *script, char name[160],
                        gb_status *status)
{
    snprintf(name, 160, "reproduce/%.140s", file);
    char *path = paper ? gb_path_join(status, paper, name) : gb_installed_file(name);
    *script = (repro_script){name, path ? gb_read_file(path, NULL, status) : NULL};
    if (!path)
        gb_fail(status, GB_DATA, name, "install gabbro again", "a recipe is missing");
    free(path);
    return script->text != NULL;
}

bool repro_recipe_run(const repro_recipe_params *params, repro_graph *graph, repro_table *table,
                      gb_status *status)
{
    enum { SHARED = 3 };
    static const char *const shared[SHARED] = {"sets.lua", "training.lua", "results.lua"};
    repro_script scripts[SHARED + 1] = {0};
    char names[SHARED + 1][160], recipe[160];
    bool ok = true;
    *table = (repro_table){0};
    snprintf(recipe, sizeof recipe, "%.140s.lua", params->table);
    for (int i = 0; ok && i <= SHARED; i++)
        ok = read_script(i < SHARED ? NULL : params->paper, i < SHARED ? shared[i] : recipe,
                         &scripts[i], names[i], status);
    ok = ok && repro_recipe_run_scripts(params, scripts, SHARED + 1, graph, table, status);
    for (int i = 0; i <= SHARED; i++)
        free(scripts[i].text);
    return ok;
}
