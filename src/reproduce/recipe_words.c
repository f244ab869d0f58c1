/* Gives recipes their words: artifacts, results, settings, public data. */
#include "recipe_host.h"

#include <lauxlib.h>
#include <string.h>

static const char artifact_type[] = "artifact"; /* of the userdata */

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
enum { MAX_LISTS = 16 };  /* within lists */

/* Raises what is in the host's status. */
static int raise(lua_State *L)
{
    lua_pushstring(L, repro_host_of(L)->status.what);
    return lua_error(L);
}

static const char *keep(lua_State *L, const char *text)
{
    repro_host *h = repro_host_of(L);
    const char *kept = repro_graph_keep(h->graph, text, &h->status);
    if (!kept)
        raise(L);
    return kept;
}

/* ---- commands ---- */

/* Appends the words of the argument at `at`, which lies in so many lists: text, a whole number, an
 * artifact, or a list of these. */
static void collect(lua_State *L, int at, int argument, int lists, labelled_word *words,
                    size_t *count)
{
    if (lua_istable(L, at)) {
        lua_Integer length = luaL_len(L, at);
        if (lists == MAX_LISTS) /* one that holds itself has no end */
            luaL_error(L, "argument %d of a command has more than %d lists within lists", argument,
                       MAX_LISTS);
        luaL_checkstack(L, 3, "lists within lists");
        for (lua_Integer i = 1; i <= length; i++) {
            lua_geti(L, at, i);
            collect(L, lua_gettop(L), argument, lists + 1, words, count);
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
static const char *write_line(repro_host *h, const labelled_word *words, size_t count)
{
    gb_text line = {0};
    gb_text_printf(&line, "gabbro");
    for (size_t i = 0; i < count; i++) {
        gb_text_printf(&line, " ");
        if (*words[i].word.text || !words[i].label)
            gb_text_shell_word(&line, words[i].word.text);
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

/* Artifacts that are not there yet count as given, by names that no two share. */
static void check_command(lua_State *L, const labelled_word *words, size_t count)
{
    static char program[] = "gabbro";
    repro_host *h = repro_host_of(L);
    char **argv = lua_newuserdatauv(L, (count + 2) * sizeof *argv, 0);
    luaL_checkstack(L, (int)count + 3, "a command");
    argv[0] = program;
    for (size_t i = 0; i < count; i++) {
        const repro_word *word = &words[i].word;
        argv[i + 1] = (char *)(word->node ? lua_pushfstring(L, "%s<artifact %d>", word->text,
                                                            (int)word->node->index)
                                          : word->text);
    }
    argv[count + 1] = NULL;
    if (!repro_host_check(L, (int)count + 1, argv, &h->status))
        raise(L);
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
    repro_host *h = repro_host_of(L);
    repro_table *table = h->table;
    const char *label = luaL_checkstring(L, 1);
    luaL_checkstring(L, 2);
    int arguments = lua_gettop(L);
    labelled_word *words = lua_newuserdatauv(L, MAX_WORDS * sizeof *words, 0);
    repro_word command[MAX_WORDS];
    size_t count = 0;
    for (int i = 2; i <= arguments; i++)
        collect(L, i, i - 1, 0, words, &count);
    for (size_t i = 0; i < count; i++)
        command[i] = words[i].word;
    if (h->params->commands)
        check_command(L, words, count);
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

/* The report would refuse a row that it does not know, after everything has been made. */
static void check_row(lua_State *L, const char *row)
{
    const gb_table_spec *spec = repro_host_of(L)->params->spec;
    gb_nearest nearest = {.word = row};
    for (size_t i = 0; spec && i < spec->row_count; i++) {
        if (!strcmp(spec->rows[i].key, row))
            return;
        if (*spec->rows[i].key)
            gb_nearest_compare(&nearest, spec->rows[i].key);
    }
    if (!spec)
        return;
    char place[REPRO_PLACE], hint[100] = "list it in tables/rows/";
    repro_host_place(L, place);
    if (nearest.name)
        snprintf(hint, sizeof hint, "did you mean %.80s?", nearest.name);
    gb_fail(&repro_host_of(L)->status, GB_DATA, place, hint, "%s has no row with the key %s",
            spec->name, row);
    raise(L);
}

/* result{row = KEY, seed = SEED, evaluation = ARTIFACT ...}: see repro_result. */
static int add_result(lua_State *L)
{
    repro_host *h = repro_host_of(L);
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
    if (result.row)
        check_row(L, result.row);
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
    repro_host_of(L)->on_request = true;
    lua_call(L, 0, 0);
    repro_host_of(L)->on_request = false;
    return 0;
}

/* figure(TITLE, X, MEASURE, Y): the results are points of a figure. */
static int set_figure(lua_State *L)
{
    repro_table *table = repro_host_of(L)->table;
    table->title = keep(L, luaL_checkstring(L, 1));
    table->x = keep(L, luaL_checkstring(L, 2));
    table->measure = keep(L, luaL_checkstring(L, 3));
    table->y = keep(L, luaL_checkstring(L, 4));
    return 0;
}

/* page(ARTIFACT, FILE): its files are copied to the results, FILE is the one to look at. */
static int set_page(lua_State *L)
{
    repro_table *table = repro_host_of(L)->table;
    table->page = ((const artifact *)luaL_checkudata(L, 1, artifact_type))->word.node;
    table->page_file = keep(L, luaL_checkstring(L, 2));
    return 0;
}

/* notice(ARTIFACT, BEFORE, BEHIND): once it is there its first measure is printed between them. */
static int add_notice(lua_State *L)
{
    repro_host *h = repro_host_of(L);
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
    repro_host_of(L)->table->collection = take_word(L);
    return 0;
}

/* ---- settings and data ---- */

/* setting(NAME [, OTHERWISE]) */
static int get_setting(lua_State *L)
{
    const char *value =
        repro_settings_get(&repro_host_of(L)->table->settings, luaL_checkstring(L, 1));
    if (value)
        lua_pushstring(L, value);
    else
        lua_settop(L, 2);
    return 1;
}

/* settings.NAME: it must be there. */
static int index_setting(lua_State *L)
{
    repro_host *h = repro_host_of(L);
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
    repro_host *h = repro_host_of(L);
    const char *name = luaL_checkstring(L, 2), *value = luaL_checkstring(L, 3);
    if (!repro_settings_put(&h->table->settings, name, value, &h->status))
        return raise(L);
    return 0;
}

/* public(NAME): the folder of a public collection or model; a path is its own place. */
static int public_folder(lua_State *L)
{
    repro_host *h = repro_host_of(L);
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
    repro_host *h = repro_host_of(L);
    gb_fail(&h->status, GB_USAGE, NULL, NULL, "%s", luaL_checkstring(L, 1));
    return raise(L);
}

/* ---- all of them ---- */

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
    set_text(L, "vocabulary", params->vocabulary);
    set_text(L, "generator", params->generator);
    set_words(L, "ranks", params->ranks);
    set_words(L, "shards", params->shards);
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

int repro_host_open(lua_State *L)
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
    lua_pushglobaltable(L);
    luaL_setfuncs(L, functions, 0);
    luaL_newmetatable(L, artifact_type);
    luaL_setfuncs(L, of_artifacts, 0);
    lua_newtable(L);
    lua_newtable(L);
    luaL_setfuncs(L, of_settings, 0);
    lua_setmetatable(L, -2);
    lua_setglobal(L, "settings");
    push_run(L, repro_host_of(L)->params);
    lua_settop(L, 0);
    return 0;
}
