/* Kernels from source stand for the built-in ones, under another hash. */
#include "scratch.h"

#include <gabbro/vk.h>

#include <stdlib.h>
#include <string.h>

static gb_config config = {.cache_home = "cache"};

static bool have_glslc(void)
{
    if (system("glslc --version >/dev/null 2>&1") == 0)
        return true;
    cr_skip_test("skipped: no glslc");
    return false;
}

/* The source of one kernel with one piece of it replaced. */
static void write_kernel(const char *name, const char *old, const char *new)
{
    gb_status status = {0};
    char from[600], to[100];
    snprintf(from, sizeof from, "%s/%s.comp", GABBRO_TEST_SHADERS, name);
    snprintf(to, sizeof to, "kernels/%s.comp", name);
    char *text = gb_read_file(from, NULL, &status);
    cr_assert_not_null(text, "%s", status.what);
    char *at = strstr(text, old);
    cr_assert_not_null(at);
    char *all = gb_format(&status, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    scratch_write(to, all);
    free(text);
    free(all);
}

/* A folder of sources with what kernels include. */
static void start(void)
{
    char from[600];
    scratch_write("kernels/README", "");
    snprintf(from, sizeof from, "%s/common", GABBRO_TEST_SHADERS);
    cr_assert_eq(symlink(from, "kernels/common"), 0);
}

Test(shader_source, unedited_is_the_same)
{
    gb_status status = {0};
    char built[GB_HASH_SIZE], hash[GB_HASH_SIZE];
    uint32_t differ = 7;
    if (!have_glslc())
        return;
    scratch s = scratch_enter();
    start();
    gb_shaders_hash(GB_USER_ALL, built);
    write_kernel("adamw", "\nvoid main()", "\n// nothing else\nvoid main()"); /* and for texels */
    cr_assert(gb_shaders_use(&config, "kernels", &differ, &status), "%s", status.what);
    gb_shaders_hash(GB_USER_ALL, hash);
    cr_expect_eq(differ, 0);
    cr_expect_str_eq(hash, built);
    cr_expect(gb_shaders_use(&config, NULL, NULL, &status));
    scratch_leave(&s);
}

Test(shader_source, edited_has_another_hash)
{
    gb_status status = {0};
    char first[GB_HASH_SIZE], set[GB_HASH_SIZE], hash[GB_HASH_SIZE];
    uint32_t differ = 0;
    if (!have_glslc())
        return;
    scratch s = scratch_enter();
    start();
    gb_shaders_hash(GB_USER_SEARCH, first);
    gb_shaders_hash(GB_USER_TRAIN, set);
    const uint32_t *words = gb_shader_find("tanh")->words;
    write_kernel("tanh", "(1.0 + e)", "(1.5 + e)");
    for (int again = 0; again < 2; again++) { /* compiled, then as it was kept */
        cr_assert(gb_shaders_use(&config, "kernels", &differ, &status), "%s", status.what);
        cr_expect_eq(differ, 1);
        cr_expect_neq(gb_shader_find("tanh")->words, words);
    }
    gb_shaders_hash(GB_USER_TRAIN, hash);
    cr_expect_str_neq(hash, set);
    gb_shaders_hash(GB_USER_SEARCH, hash);
    cr_expect_str_eq(hash, first, "what nobody runs there keeps its keys");
    cr_expect(gb_shaders_use(&config, NULL, NULL, &status));
    gb_shaders_hash(GB_USER_TRAIN, hash);
    cr_expect_str_eq(hash, set, "and back");
    scratch_leave(&s);
}

/* What another process of our number, in another container, has begun beside the same kernel. */
Test(shader_source, a_draft_of_somebody_else_stays)
{
    gb_status status = {0};
    gb_entries kept = {0};
    if (!have_glslc())
        return;
    scratch s = scratch_enter();
    start();
    write_kernel("tanh", "(1.0 + e)", "(1.5 + e)");
    cr_assert(gb_shaders_use(&config, "kernels", NULL, &status), "%s", status.what);
    cr_assert(gb_entries_read("cache/gabbro/shaders", "*", &kept, &status), "%s", status.what);
    cr_assert_geq(kept.count, 1);
    char *place = gb_path_join(NULL, "cache/gabbro/shaders", kept.names[0]);
    char *theirs = gb_format(NULL, "%s.%ld", place, (long)getpid());
    cr_assert_eq(rename(place, theirs), 0);
    cr_assert(gb_shaders_use(&config, "kernels", NULL, &status), "%s", status.what);
    cr_expect(gb_file_exists(place));
    cr_expect(gb_file_exists(theirs));
    cr_expect(gb_shaders_use(&config, NULL, NULL, &status));
    free(place), free(theirs);
    gb_entries_free(&kept);
    scratch_leave(&s);
}

Test(shader_source, says_what_is_wrong)
{
    gb_status status = {0};
    if (!have_glslc())
        return;
    scratch s = scratch_enter();
    start();
    cr_expect_not(gb_shaders_use(&config, "kernels", NULL, &status));
    cr_expect_eq(status.code, GB_USAGE, "a folder without kernels");
    const uint32_t *words = gb_shader_find("tanh")->words;
    write_kernel("tanh", "vec4 v = x[at];", "vec4 v = nothing[at];");
    status = (gb_status){0};
    cr_expect_not(gb_shaders_use(&config, "kernels", NULL, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.where, "kernels/tanh.comp:19", "%s", status.where);
    cr_expect_not_null(strstr(status.what, "undeclared"), "%s", status.what);
    cr_expect_eq(gb_shader_find("tanh")->words, words, "nothing changes");
    config.glslc = "no-such-glslc";
    status = (gb_status){0};
    cr_expect_not(gb_shaders_use(&config, "kernels", NULL, &status));
    cr_expect_eq(status.code, GB_USAGE);
    scratch_leave(&s);
}
