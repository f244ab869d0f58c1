/* Importing sources of other layouts, and refusing damaged ones. */
#ifndef GABBRO_TESTS_IMPORT_HELP_H
#define GABBRO_TESTS_IMPORT_HELP_H

#include "gabbro/data.h"
#include "small_collection.h"

static inline void expect_file(const char *path, const char *text)
{
    char *got = gb_read_file(path, NULL, NULL);
    cr_assert_not_null(got, "no %s", path);
    cr_expect_str_eq(got, text, "%s: \"%s\"", path, got);
    free(got);
}

static inline gb_collection *import_as(const gb_import_params *params,
                                       const gb_import_variant *variant, const char *target)
{
    gb_status status = {0};
    cr_assert(gb_collection_import_as(params, variant, target, &status), "%s: %s", status.where,
              status.what);
    return open_imported(target);
}

/* A source as it is: no split made of another. */
static inline gb_collection *import_plain(const char *path, const char *target)
{
    gb_log_set_level(GB_LOG_WARN);
    gb_import_params params = GB_IMPORT_DEFAULTS;
    params.path = path;
    params.keep_splits = true;
    return import_as(&params, &(gb_import_variant){0}, target);
}

static inline void expect_refused(const char *path, const char *where, const char *what)
{
    gb_status status = {0};
    gb_import_params params = GB_IMPORT_DEFAULTS;
    gb_log_set_level(GB_LOG_WARN);
    params.path = path;
    params.keep_splits = true;
    cr_expect_not(gb_collection_import(&params, "refused", &status), "%s: %s", where, what);
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.where, where, "\"%s\", not \"%s\" (%s)", status.where, where,
                     status.what);
    cr_expect_not_null(strstr(status.what, what), "\"%s\" does not say \"%s\"", status.what, what);
    cr_expect(status.hint[0], "no hint with \"%s\"", status.what);
    cr_expect_not(gb_dir_exists("refused"));
}

#endif
