/* Shared by the tests of the retrieve room: temporary files, captured commands, the test data. */
#ifndef GABBRO_TESTS_RETRIEVE_HELP_H
#define GABBRO_TESTS_RETRIEVE_HELP_H

#include <gabbro/retrieve.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char help_dir[] = "/tmp/gabbro-retrieve-XXXXXX"; /* of the running test */

static inline void help_setup(void)
{
    gb_log_set_level(GB_LOG_ERROR);
    cr_assert(mkdtemp(help_dir));
}

static inline void help_teardown(void)
{
    gb_remove_tree(help_dir, NULL);
}

/* Path of a file in the test's folder; valid until the fourth next call. */
static inline const char *help_path(const char *name)
{
    static char paths[4][300];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, 300, "%s/%s", help_dir, name);
    return path;
}

static inline const char *help_write(const char *name, const char *text)
{
    gb_status status = {0};
    const char *path = help_path(name);
    cr_assert(gb_write_file(path, text, strlen(text), &status), "%s", status.what);
    return path;
}

/* Path below GABBRO_TEST_DATA; skips the test when that is unset or lacks the file. Caller frees.
 */
static inline char *help_data(const char *name)
{
    const char *root = getenv("GABBRO_TEST_DATA");
    if (!root || !*root)
        cr_skip_test("skipped: GABBRO_TEST_DATA is not set");
    char *path = gb_path_join(NULL, root, name);
    if (!gb_file_exists(path) && !gb_dir_exists(path))
        cr_skip_test("skipped: GABBRO_TEST_DATA has no %s", name);
    return path;
}

/* Run a sub-command with its output in a file; argv ends with NULL. Caller frees the output. */
static inline char *help_capture(int (*command)(int, char **), const char *const *argv, int *code)
{
    int argc = 0, keep = dup(STDOUT_FILENO);
    char *copy[32], captured[300];
    snprintf(captured, sizeof captured, "%s/stdout", help_dir);
    for (; argv[argc]; argc++)
        copy[argc] = (char *)argv[argc];
    copy[argc] = NULL;
    fflush(stdout);
    cr_assert(freopen(captured, "w", stdout));
    *code = command(argc, copy);
    fflush(stdout);
    dup2(keep, STDOUT_FILENO);
    close(keep);
    char *output = gb_read_file(captured, NULL, NULL);
    cr_assert(output);
    return output;
}

#endif
