/* The host of recipes: a Lua state with nothing in it but what a recipe may use. */
#include "recipe.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INSTRUCTIONS = 100000000, CHECK_EVERY = 100000, MAX_BYTES = 256 << 20 };
static const char artifact_type[] = "artifact"; /* of the userdata */

typedef struct host {
    const repro_recipe_params *params; /* of the call */
    repro_graph *graph;                /* being filled */
    repro_table *table;                /* being filled */
    const char *name;                  /* of the recipe, in messages */
    size_t bytes;                      /* that Lua has */
    size_t instructions;               /* executed */
    bool on_request;                   /* what is declared now is left out of a plain run */
    gb_status status;                  /* of a failure that is not Lua's */
} host;

/* An artifact as a recipe holds it, or text with an artifact behind it. */
typedef struct artifact {
    repro_word word;   /* what makes it, and the text before it */
    const char *label; /* of the call that declared it */
} artifact;

/* A word of a command with the label of its artifact. */
typedef struct labelled_word {
    repro_word word;   /* of the command */
    const char *label; /* NULL for text alone */
} labelled_word;
enum { MAX_WORDS = 512 }; /* of a command */

static host *host_of(lua_State *L)
{
    return *(host **)lua_getextraspace(L);
}

/* Raises what is in the host's status. */
static int raise(lua_State *L)
{
    lua_pushstring(L, host_of(L)->status.what);
    return lua_error(L);
}

static const char *keep(lua_State *L, const char *text)
{
    host *h = host_of(L);
    const char *kept = repro_graph_keep(h->graph, text, &h->status);
    if (!kept)
        raise(L);
    return kept;
}

/* ---- bounds ---- */

static void *allocate(void *context, void *block, size_t before, size_t bytes)
{
    host *h = context;
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
    host *h = host_of(L);
    h->instructions += CHECK_EVERY;
    if (h->instructions >= MAX_INSTRUCTIONS)
        luaL_error(L, "the recipe does not end: it has executed %d instructions", MAX_INSTRUCTIONS);
}

/* ---- commands ---- */

/* Appends the words of the argument at `at`: text, a whole number, an artifact, or a list of these.
 */
static void collect(lua_State *L, int at, int argument, labelled_word *words, size_t *count)
{
    if (lua_istable(L, at)) {
        lua_Integer length = luaL_len(L, at);
        luaL_checkstack(L, 3, "lists within lists");
        for (lua_Integer i = 1; i <= length; i++) {
            lua_geti(L, at, i);
            collect(L, lua_gettop(L), argument, words, count);
            lua_pop(L, 1);
        }
        return;
    }
    const artifact *of = luaL_testudata(L, at, artifact_type);
    size_t length = 0;
    if (*count == MAX_WORDS)
        luaL_error(L, "a command has more than %d words", MAX_WORDS);
    if (!of && !lua_isinteger(L, at) && lua_type(L, at) != LUA_TSTRING)
        luaL_error(L, "argument %d of a command is %s: it takes text, whole numbers and artifacts",
                   argument, luaL_typename(L, at));
    const char *text = of ? NULL : lua_tolstring(L, at, &length);
    if (text && strlen(text) != length)
        luaL_error(L, "argument %d of a command has a zero byte in it", argument);
    words[(*count)++] =
        of ? (labelled_word){of->word, of->label} : (labelled_word){.word.text = keep(L, text)};
}

/* "mine, seed 42" as one word: mine-seed-42 */
static const char *label_word(lua_State *L, const char *label)
{
    char word[256];
    size_t length = 0;
    for (const char *at = label; *at && length + 2 < sizeof word; at++) {
        bool between = *at == ' ' || *at == ',';
        if (!between)
            word[length++] = *at;
        else if (length && word[length - 1] != '-')
            word[length++] = '-';
    }
    word[length] = '\0';
    return keep(L, word);
}

/* The command as people read it. */
static const char *write_line(host *h, const labelled_word *words, size_t count)
{
    gb_text line = {0};
    gb_text_printf(&line, "gabbro");
    for (size_t i = 0; i < count; i++) {
        gb_text_printf(&line, " %s", words[i].word.text);
        if (words[i].label)
            gb_text_printf(&line, "<%s>", words[i].label);
    }
    const char *kept = NULL;
    if (line.failed)
        gb_fail_memory(&h->status, "noting a command");
    else
        kept = repro_graph_keep(h->graph, line.data, &h->status);
    gb_text_free(&line);
    return kept;
}

static int push_artifact(lua_State *L, artifact made)
{
    artifact *pushed = lua_newuserdatauv(L, sizeof *pushed, 0);
    *pushed = made;
    luaL_setmetatable(L, artifact_type);
    return 1;
}

/* artifact(LABEL, COMMAND, ARGUMENTS...): the artifact that `gabbro COMMAND ARGUMENTS...` makes. */
static int declare(lua_State *L)
{
    host *h = host_of(L);
    repro_table *table = h->table;
    const char *label = luaL_checkstring(L, 1);
    luaL_checkstring(L, 2);
    int arguments = lua_gettop(L);
    labelled_word *words = lua_newuserdatauv(L, MAX_WORDS * sizeof *words, 0);
    repro_word command[MAX_WORDS];
    size_t count = 0;
    for (int i = 2; i <= arguments; i++)
        collect(L, i, i - 1, words, &count);
    for (size_t i = 0; i < count; i++)
        command[i] = words[i].word;
    repro_node *node = repro_graph_node(h->graph, label, command, count, &h->status);
    const char *line = node ? write_line(h, words, count) : NULL;
    if (!line || !gb_grow(&table->calls, &table->call_capacity, table->call_count + 1,
                          sizeof *table->calls, &h->status))
        return raise(L);
    table->calls[table->call_count++] = (repro_call){node, line, h->on_request};
    return push_artifact(L, (artifact){{"", node}, label_word(L, label)});
}

static int same_artifact(lua_State *L)
{
    const artifact *a = luaL_testudata(L, 1, artifact_type),
                   *b = luaL_testudata(L, 2, artifact_type);
    lua_pushboolean(L,
                    a && b && a->word.node == b->word.node && !strcmp(a->word.text, b->word.text));
    return 1;
}

/* TEXT .. ARTIFACT is one word. */
static int join_artifact(lua_State *L)
{
    const artifact *of = luaL_testudata(L, 2, artifact_type);
    if (!of)
        return luaL_error(L, "text goes before an artifact, not behind it");
    lua_pushfstring(L, "%s%s", luaL_checkstring(L, 1), of->word.text);
    return push_artifact(L, (artifact){{keep(L, lua_tostring(L, -1)), of->word.node}, of->label});
}

static int name_artifact(lua_State *L)
{
    const artifact *of = luaL_checkudata(L, 1, artifact_type);
    lua_pushfstring(L, "%s<%s>", of->word.text, of->label);
    return 1;
}

/* ---- results ---- */

/* The artifact or text at the top of the stack, which is popped; text NULL where there is nothing.
 */
static repro_word take_word(lua_State *L)
{
    const artifact *of = luaL_testudata(L, -1, artifact_type);
    repro_word word = {0};
    if (of)
        word = of->word;
    else if (lua_isinteger(L, -1) || lua_type(L, -1) == LUA_TSTRING)
        word.text = keep(L, lua_tostring(L, -1));
    else if (!lua_isnil(L, -1))
        luaL_error(L, "a result has text, whole numbers and artifacts, not a %s",
                   luaL_typename(L, -1));
    lua_pop(L, 1);
    return word;
}

static repro_word field(lua_State *L, const char *name)
{
    lua_getfield(L, 1, name);
    return take_word(L);
}

/* result{row = KEY, seed = SEED, evaluation = ARTIFACT ...}: see repro_result. */
static int add_result(lua_State *L)
{
    host *h = host_of(L);
    repro_table *table = h->table;
    luaL_checktype(L, 1, LUA_TTABLE);
    repro_result result = {.row = field(L, "row").text,
                           .series = field(L, "series").text,
                           .x = field(L, "x").text,
                           .set = field(L, "set").text,
                           .seed = field(L, "seed").text,
                           .evaluation = field(L, "evaluation"),
                           .model = field(L, "model"),
                           .on_request = h->on_request};
    if (!result.seed || !result.evaluation.node || (!result.row && !result.series))
        return luaL_error(L, "a result needs a row or a series, a seed, and an evaluation");
    if (!gb_grow(&table->results, &table->result_capacity, table->result_count + 1,
                 sizeof *table->results, &h->status))
        return raise(L);
    table->results[table->result_count++] = result;
    return 0;
}

/* on_request(FUNCTION): what it declares is left out of a plain run. */
static int declare_on_request(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    host_of(L)->on_request = true;
    lua_call(L, 0, 0);
    host_of(L)->on_request = false;
    return 0;
}

/* figure(TITLE, X, MEASURE, Y): the results are points of a figure. */
static int set_figure(lua_State *L)
{
    repro_table *table = host_of(L)->table;
    table->title = keep(L, luaL_checkstring(L, 1));
    table->x = keep(L, luaL_checkstring(L, 2));
    table->measure = keep(L, luaL_checkstring(L, 3));
    table->y = keep(L, luaL_checkstring(L, 4));
    return 0;
}

/* page(ARTIFACT, FILE): its files are copied to the results, FILE is the one to look at. */
static int set_page(lua_State *L)
{
    repro_table *table = host_of(L)->table;
    table->page = ((const artifact *)luaL_checkudata(L, 1, artifact_type))->word.node;
    table->page_file = keep(L, luaL_checkstring(L, 2));
    return 0;
}

/* notice(ARTIFACT, BEFORE, BEHIND): once it is there its first measure is printed between them. */
static int add_notice(lua_State *L)
{
    host *h = host_of(L);
    repro_table *table = h->table;
    const artifact *of = luaL_checkudata(L, 1, artifact_type);
    repro_notice notice = {of->word.node, keep(L, luaL_checkstring(L, 2)),
                           keep(L, luaL_checkstring(L, 3))};
    if (!gb_grow(&table->notices, &table->notice_capacity, table->notice_count + 1,
                 sizeof *table->notices, &h->status))
        return raise(L);
    table->notices[table->notice_count++] = notice;
    return 0;
}

/* at_hand(COLLECTION): the collection that the results name, unless another one comes behind it. */
static int set_collection(lua_State *L)
{
    lua_settop(L, 1);
    host_of(L)->table->collection = take_word(L);
    return 0;
}

/* ---- settings and data ---- */

/* setting(NAME [, OTHERWISE]) */
static int get_setting(lua_State *L)
{
    const char *value = repro_settings_get(&host_of(L)->table->settings, luaL_checkstring(L, 1));
    if (value)
        lua_pushstring(L, value);
    else
        lua_settop(L, 2);
    return 1;
}

/* settings.NAME: it must be there. */
static int index_setting(lua_State *L)
{
    host *h = host_of(L);
    const char *name = luaL_checkstring(L, 2);
    const char *value = repro_settings_get(&h->table->settings, name);
    if (!value) {
        gb_fail(&h->status, GB_USAGE, NULL, NULL,
                "%s needs the setting %.60s, which this scale does "
                "not have",
                h->params->table, name);
        return raise(L);
    }
    lua_pushstring(L, value);
    return 1;
}

static int assign_setting(lua_State *L)
{
    host *h = host_of(L);
    const char *name = luaL_checkstring(L, 2), *value = luaL_checkstring(L, 3);
    if (!repro_settings_put(&h->table->settings, name, value, &h->status))
        return raise(L);
    return 0;
}

/* public(NAME): the folder of a public collection or model; a path is its own place. */
static int public_folder(lua_State *L)
{
    host *h = host_of(L);
    repro_table *table = h->table;
    const char *name = luaL_checkstring(L, 1);
    if (*name == '/') {
        lua_settop(L, 1);
        return 1;
    }
    if ((h->params->input && !h->params->input(h->params->context, name, &h->status)) ||
        !gb_grow(&table->inputs, &table->input_capacity, table->input_count + 1,
                 sizeof *table->inputs, &h->status))
        return raise(L);
    table->inputs[table->input_count++] = keep(L, name);
    lua_pushfstring(L, "%s/%s", h->params->data_dir, name);
    return 1;
}

/* there(PATH): whether there is a file of public data. */
static int is_there(lua_State *L)
{
    lua_pushboolean(L, gb_file_exists(luaL_checkstring(L, 1)));
    return 1;
}

/* refuse(MESSAGE): what was asked for cannot be had. */
static int refuse(lua_State *L)
{
    host *h = host_of(L);
    gb_fail(&h->status, GB_USAGE, NULL, NULL, "%s", luaL_checkstring(L, 1));
    return raise(L);
}

/* ---- the state ---- */

static void set_words(lua_State *L, const char *name, repro_words words)
{
    lua_createtable(L, (int)words.count, 0);
    for (size_t i = 0; i < words.count; i++) {
        lua_pushstring(L, words.items[i]);
        lua_seti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, name);
}

static void set_text(lua_State *L, const char *name, const char *text)
{
    lua_pushstring(L, text); /* nil for NULL */
    lua_setfield(L, -2, name);
}

/* The table `run`: what was asked for. */
static void push_run(lua_State *L, const repro_recipe_params *params)
{
    lua_newtable(L);
    set_text(L, "table", params->table);
    set_text(L, "collection", params->collection);
    set_text(L, "queries", params->queries);
    set_text(L, "init", params->init);
    set_text(L, "generator", params->generator);
    set_words(L, "ranks", params->ranks);
    set_words(L, "shares", params->shares);
    lua_pushboolean(L, params->plan);
    lua_setfield(L, -2, "plan");
    lua_createtable(L, (int)params->seed_count, 0);
    for (size_t i = 0; i < params->seed_count; i++) {
        lua_pushinteger(L, (lua_Integer)params->seeds[i]);
        lua_seti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "seeds");
    lua_setglobal(L, "run");
}

/* Libraries without what reads files, depends on addresses or chance, or hides failures. */
static void open_libraries(lua_State *L)
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
    set_text(L, "random", NULL);
    set_text(L, "randomseed", NULL);
    lua_settop(L, 0);
}

static int open_state(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"artifact", declare},       {"result", add_result},   {"on_request", declare_on_request},
        {"figure", set_figure},      {"page", set_page},       {"notice", add_notice},
        {"at_hand", set_collection}, {"setting", get_setting}, {"public", public_folder},
        {"there", is_there},         {"refuse", refuse},       {NULL, NULL}};
    static const luaL_Reg of_artifacts[] = {{"__eq", same_artifact},
                                            {"__concat", join_artifact},
                                            {"__tostring", name_artifact},
                                            {NULL, NULL}};
    static const luaL_Reg of_settings[] = {
        {"__index", index_setting}, {"__newindex", assign_setting}, {NULL, NULL}};
    open_libraries(L);
    lua_pushglobaltable(L);
    luaL_setfuncs(L, functions, 0);
    luaL_newmetatable(L, artifact_type);
    luaL_setfuncs(L, of_artifacts, 0);
    lua_newtable(L);
    lua_newtable(L);
    luaL_setfuncs(L, of_settings, 0);
    lua_setmetatable(L, -2);
    lua_setglobal(L, "settings");
    push_run(L, host_of(L)->params);
    lua_settop(L, 0);
    return 0;
}

/* ---- running ---- */

/* Fails with a message of Lua, which may begin with a place, "FILE:LINE: ". place: of the recipe,
 * NULL: that of the message, else the file. */
static void fail(host *h, const char *place, const char *file, const char *what)
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

/* Of a failure: the line of the recipe that it happened in or under. */
static int explain(lua_State *L)
{
    host *h = host_of(L);
    lua_Debug frame;
    const char *what = lua_tostring(L, 1);
    char place[200] = "";
    for (int level = 0; !*place && lua_getstack(L, level, &frame); level++)
        if (lua_getinfo(L, "Sl", &frame) && !strcmp(frame.source + 1, h->name) &&
            frame.currentline > 0)
            snprintf(place, sizeof place, "%s:%d", h->name, frame.currentline);
    fail(h, *place ? place : NULL, h->name, what ? what : "the recipe failed");
    return 0;
}

static bool run_chunk(lua_State *L, const repro_script *script)
{
    host *h = host_of(L);
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
    host h = {.params = params, .graph = graph, .table = table, .name = scripts[count - 1].name};
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
    *(host **)lua_getextraspace(L) = &h;
    lua_pushcfunction(L, open_state);
    bool ok = lua_pcall(L, 0, 0, 0) == LUA_OK || gb_fail_memory(&h.status, "running a recipe");
    lua_sethook(L, count_instructions, LUA_MASKCOUNT, CHECK_EVERY);
    for (size_t i = 0; ok && i < count; i++)
        ok = run_chunk(L, &scripts[i]);
    lua_close(L);
    if (!ok && status)
        *status = h.status;
    return ok;
}

/* A file of the recipes, "sets.lua" or "qac/table1.lua". */
static bool read_script(const char *file, repro_script *script, char name[160], gb_status *status)
{
    snprintf(name, 160, "reproduce/%.140s", file);
    char *path = gb_share_file(name);
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
        ok = read_script(i < SHARED ? shared[i] : recipe, &scripts[i], names[i], status);
    ok = ok && repro_recipe_run_scripts(params, scripts, SHARED + 1, graph, table, status);
    for (int i = 0; i <= SHARED; i++)
        free(scripts[i].text);
    return ok;
}
