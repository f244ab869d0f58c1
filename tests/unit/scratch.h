/* A folder of its own for each test that writes files: the test moves into it (tests run in
 * processes of their own), uses short relative names, and removes it at the end. */
#ifndef GABBRO_TESTS_SCRATCH_H
#define GABBRO_TESTS_SCRATCH_H

#include <gabbro/base.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct scratch {
    char path[64]; /* the folder */
} scratch;

static inline scratch scratch_enter(void)
{
    scratch s = {.path = "/tmp/gabbro-test-XXXXXX"};
    cr_assert_not_null(mkdtemp(s.path));
    cr_assert_eq(chdir(s.path), 0);
    return s;
}

static inline void scratch_leave(const scratch *s)
{
    cr_assert_eq(chdir("/"), 0);
    cr_expect(gb_remove_tree(s->path, NULL));
}

/* Write a text file, making the folders above it. */
static inline void scratch_write(const char *name, const char *text)
{
    char folder[300];
    snprintf(folder, sizeof folder, "%s", name);
    char *slash = strrchr(folder, '/');
    if (slash) {
        *slash = '\0';
        cr_assert(gb_make_dirs(folder, NULL));
    }
    cr_assert(gb_write_file(name, text, strlen(text), NULL), "cannot write %s", name);
}

#endif
