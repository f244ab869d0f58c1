/* Shaders compiled from source at start by glslc, as the build compiles them. (libshaderc would do
 * it without a process, but Debian 12's cannot be loaded: it lacks symbols that only glslc has.)
 * What was compiled once is kept in the user's cache, so that only what was edited takes time. */
#include "vk/private.h"
#include <gabbro/os.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- glslc ---- */

#define MOST_WORDS 40

typedef struct compiler {
    const char *folder;            /* of the sources */
    const char *program;           /* glslc, or what the configuration says */
    char *cache;                   /* folder of what was compiled before */
    char *features;                /* the build's macros, cut at blanks */
    const char *words[MOST_WORDS]; /* command line; the last ones are of a shader */
    int count;                     /* words of all shaders */
    char identity[GB_HASH_SIZE];   /* of the compiler, its options and what is included */
} compiler;

/* All that a process says into *said (caller frees); its exit status, or -1. */
static int run(const char *const *words, gb_text *said)
{
    int ends[2], code = -1;
    gb_os_process process;
    if (GB_TRY_CALL(gb_os_pipe(ends)))
        return -1;
    const gb_os_command command = {
        .program = words[0], .words = words, .output = ends[1], .errors = ends[1]};
    bool failed = gb_os_start(&command, &process) != 0;
    close(ends[1]);
    char block[4096];
    for (ssize_t got; !failed && (got = read(ends[0], block, sizeof block)) != 0;) {
        if (got > 0)
            gb_text_append(said, block, (size_t)got);
        else if (errno != EINTR)
            break;
    }
    close(ends[0]);
    return failed || !gb_os_ended(&process, true, &code) ? -1 : code;
}

static bool fail_program(const compiler *c, gb_status *status)
{
    return gb_fail(status, GB_USAGE, c->program, "install glslc, or name it in GLSLC",
                   "kernels from source need it, and it does not run");
}

/* The words of a list between blanks, which is cut apart. */
static void add_words(const char **words, int *count, char *list)
{
    char *rest;
    for (char *word = strtok_r(list, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (*count < MOST_WORDS - 8)
            words[(*count)++] = word;
}

/* The command of the build: shaders/meson.build. */
static void command_line(compiler *c)
{
    c->words[c->count++] = c->program;
    c->words[c->count++] = "--target-env=vulkan1.1";
    c->words[c->count++] = "-O";
    c->words[c->count++] = "-Werror";
    add_words(c->words, &c->count, c->features);
}

/* What else than its own source a compiled shader depends on. */
static bool identify(compiler *c, gb_status *status)
{
    char *common = gb_path_join(status, c->folder, "common");
    const char *version[] = {c->program, "--version", NULL};
    char included[GB_HASH_SIZE] = "";
    gb_text text = {0};
    bool ok = common && (!gb_dir_exists(common) || gb_hash_tree(common, included, status));
    if (ok && run(version, &text) != 0)
        ok = fail_program(c, status);
    for (int i = 0; i < c->count; i++)
        gb_text_printf(&text, " %s", c->words[i]);
    gb_text_printf(&text, " %s", included);
    gb_hash_bytes(text.data ? text.data : "", text.length, c->identity);
    ok = ok && (!text.failed || gb_fail_memory(status, "naming compiled shaders"));
    gb_text_free(&text);
    free(common);
    return ok;
}

static bool open_compiler(compiler *c, const gb_config *config, const char *folder,
                          gb_status *status)
{
    c->folder = folder;
    c->program = config->glslc ? config->glslc : "glslc";
    c->cache = gb_config_cache(config, "shaders");
    if (!c->cache)
        c->cache =
            gb_format(status, "%s/gabbro/shaders", config->temporary ? config->temporary : "/tmp");
    c->features = gb_strdup(GABBRO_GLSLC_DEFINES, status);
    if (!c->cache || !c->features || !gb_make_dirs(c->cache, status))
        return false;
    command_line(c);
    return identify(c, status);
}

/* ---- one shader ---- */

/* "file:line: error: what" as the message of a failure. */
static bool fail_source(const gb_text *said, const char *path, gb_status *status)
{
    const char *message = said->data ? said->data : "glslc failed";
    const char *mark = strstr(message, ": error: ");
    char where[280];
    snprintf(where, sizeof where, "%.*s", (int)(mark ? mark - message : 0), message);
    const char *what = mark ? mark + 9 : message;
    return gb_fail(status, GB_DATA, mark ? where : path, NULL, "%.*s", (int)strcspn(what, "\n"),
                   what);
}

/* Compile into `kept`, whole or not at all. */
static bool compile(const compiler *c, const char *path, const char *defines, const char *kept,
                    gb_status *status)
{
    const char *words[MOST_WORDS];
    char own[128];
    char *folder = gb_draft_folder(kept, status);
    char *draft = folder ? gb_path_join(status, folder, "spv") : NULL;
    int n = c->count;
    if (!draft) {
        if (folder)
            gb_os_remove(folder);
        free(folder);
        return false;
    }
    memcpy(words, c->words, sizeof words);
    snprintf(own, sizeof own, "%s", defines);
    add_words(words, &n, own);
    words[n++] = "-I";
    words[n++] = c->folder;
    words[n++] = "-o";
    words[n++] = draft;
    words[n++] = path;
    words[n] = NULL;
    gb_text said = {0};
    int code = run(words, &said);
    bool ok = code == 0 && GB_TRY_CALL(gb_os_rename(draft, kept)) == 0;
    if (code < 0)
        fail_program(c, status);
    else if (code > 0)
        fail_source(&said, path, status);
    else if (!ok)
        gb_fail(status, GB_DATA, kept, NULL, "cannot be written: %s", strerror(errno));
    gb_remove_tree(folder, NULL);
    gb_text_free(&said);
    free(draft);
    free(folder);
    return ok;
}

static bool read_words(const char *path, gb_shader_binary *shader, gb_status *status)
{
    size_t length = 0;
    char *bytes = gb_read_file(path, &length, status);
    if (!bytes)
        return false;
    if (length < 20 || length % 4) {
        free(bytes);
        gb_os_remove(path);
        return gb_fail(status, GB_DATA, path, "run it again", "is no SPIR-V, and was removed");
    }
    shader->words = (const uint32_t *)(const void *)bytes; /* aligned as malloc aligns */
    shader->word_count = length / 4;
    return true;
}

static bool take_source(const compiler *c, const char *path, gb_shader_binary *shader,
                        gb_status *status)
{
    char source[GB_HASH_SIZE], key[GB_HASH_SIZE], all[2 * GB_HASH_SIZE + 128];
    if (!gb_hash_file(path, source, status))
        return false;
    int length = snprintf(all, sizeof all, "%s %s %s", c->identity, source, shader->defines);
    gb_hash_bytes(all, (size_t)length, key);
    char *kept = gb_format(status, "%s/%.32s.spv", c->cache, key);
    bool ok = kept && (gb_file_exists(kept) || compile(c, path, shader->defines, kept, status)) &&
              read_words(kept, shader, status);
    free(kept);
    return ok;
}

/* ---- all of a folder ---- */

/* Fills the places of `table` whose source is in the folder; *found: how many. */
static bool take_folder(const compiler *c, gb_shader_binary *table, uint32_t *found,
                        gb_status *status)
{
    for (size_t i = 0; i < gb_shader_binary_count; i++) {
        char *path = gb_path_join(status, c->folder, table[i].source);
        bool there = path && gb_file_exists(path);
        bool ok = path && (!there || take_source(c, path, &table[i], status));
        free(path);
        if (!ok)
            return false;
        *found += there;
    }
    return *found || gb_fail(status, GB_USAGE, c->folder, "give a folder like shaders/",
                             "it has no source of any kernel");
}

bool gb_shaders_use(const gb_config *config, const char *folder, uint32_t *count, gb_status *status)
{
    gb_status own = {0};
    if (count)
        *count = 0;
    if (!folder) {
        vk_shader_table_set(NULL);
        return true;
    }
    gb_shader_binary *table = gb_alloc(gb_shader_binary_count, sizeof *table, &own);
    for (size_t i = 0; table && i < gb_shader_binary_count; i++)
        table[i] = gb_shader_binaries[i];
    compiler c = {0};
    uint32_t found = 0;
    bool ok =
        table && open_compiler(&c, config, folder, &own) && take_folder(&c, table, &found, &own);
    free(c.cache);
    free(c.features);
    if (!ok) {
        vk_shader_table_free(table);
        return gb_fail(status, own.code, own.where, own.hint, "%s", own.what);
    }
    for (size_t i = 0; count && i < gb_shader_binary_count; i++) {
        const gb_shader_binary *built = &gb_shader_binaries[i];
        *count += table[i].word_count != built->word_count ||
                  memcmp(table[i].words, built->words, 4 * built->word_count) != 0;
    }
    vk_shader_table_set(table);
    return true;
}
