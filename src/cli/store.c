/* gabbro store: look at the run store and clean it. */
#include "cli.h"
#include <gabbro/experiment.h>

#include <stdlib.h>
#include <string.h>

static bool verify_one(void *ctx, const char *name, const char *path, const json_t *run,
                       gb_status *status)
{
    (void)run;
    bool *all = ctx;
    gb_status why = {0};
    if (gb_artifact_verify(path, &why)) {
        printf("ok       %s\n", name);
        return true;
    }
    if (why.code == GB_MEMORY) {
        *status = why;
        return false;
    }
    printf("DAMAGED  %s: %s: %s\n", name, why.where, why.what);
    *all = false;
    return true;
}

static bool run_verify(gb_store *store, const char *text, gb_status *status)
{
    bool all = true;
    if (!text) {
        if (!gb_store_each(store, verify_one, &all, status))
            return false;
    } else {
        char *path = gb_store_find(store, text, status);
        const char *slash = path ? strrchr(path, '/') : NULL;
        bool ok = path && verify_one(&all, slash ? slash + 1 : path, path, NULL, status);
        free(path);
        if (!ok)
            return false;
    }
    return all ||
           gb_fail(status, GB_MISMATCH, gb_store_root(store),
                   "remove their folders, and those that gabbro store show says use them; they "
                   "are made again when they are needed",
                   "some artifacts are not as they were written");
}

static bool run_gc(gb_store *store, bool dry_run, gb_status *status)
{
    gb_store_freed freed;
    if (!gb_store_gc(store, dry_run, &freed, status))
        return false;
    printf("%s %u unfinished and %u damaged artifacts, ", dry_run ? "would remove" : "removed",
           freed.work, freed.damaged);
    gb_print_bytes(stdout, freed.bytes);
    printf("\n");
    return true;
}

/* artifact: NULL for all. */
static bool run_catalog(gb_store *store, const char *artifact, gb_status *status)
{
    gb_catalog *catalog = gb_catalog_read(store, status);
    bool ok = catalog != NULL;
    if (ok && artifact)
        ok = gb_catalog_show(catalog, artifact, stdout, status);
    else if (ok)
        gb_catalog_print(catalog, stdout);
    gb_catalog_free(catalog);
    return ok;
}

static bool run_words(gb_store *store, const gb_words *words, bool dry_run, gb_status *status)
{
    const char *action = words->items[0], *artifact = words->count > 1 ? words->items[1] : NULL;
    if (dry_run && strcmp(action, "gc") != 0)
        return gb_fail(status, GB_USAGE, "--dry-run", "leave it out", "gc alone removes anything");
    if (!strcmp(action, "verify"))
        return run_verify(store, artifact, status);
    if ((artifact != NULL) == !strcmp(action, "show") && (artifact || !strcmp(action, "list")))
        return run_catalog(store, artifact, status);
    if (!artifact && !strcmp(action, "gc"))
        return run_gc(store, dry_run, status);
    if (artifact && !strcmp(action, "why"))
        return gb_store_why(store, artifact, stdout, status);
    if (artifact && !strcmp(action, "path")) {
        char *path = gb_store_find(store, artifact, status);
        if (path)
            printf("%s\n", path);
        free(path);
        return path != NULL;
    }
    return gb_fail(status, GB_USAGE, NULL, "see --help", "store needs %s", gb_cli_store.needs);
}

static int run(const gb_call *call)
{
    const char *root = NULL;
    bool dry_run = false;
    const gb_option options[] = {
        {"store", GB_OPTION_TEXT, &root, 0, "DIR",
         "store (default $GABBRO_STORE, $XDG_DATA_HOME/gabbro/store or "
         "~/.local/share/gabbro/store)"},
        {"dry-run", GB_OPTION_FLAG, &dry_run, 0, NULL, "of gc: say what would be removed"},
        {0}};
    gb_words words = {0};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_store, options, call, &words, &code))
        return code;
    char *found = gb_store_root_find(call->config, root, &status);
    bool named = root || call->config->store;
    if (found && named && !gb_dir_exists(found))
        gb_fail(&status, GB_DATA, found, "check --store or GABBRO_STORE", "there is no such store");
    gb_store *store = found && status.code == GB_OK ? gb_store_open(found, &status) : NULL;
    free(found);
    if (store)
        run_words(store, &words, dry_run, &status);
    gb_store_close(store);
    return gb_command_end(&status);
}

const gb_command gb_cli_store = {
    .name = "store",
    .summary = "look at the store of artifacts and clean it",
    .operands = "ACTION [ARTIFACT]",
    .needs = "one of list, show ARTIFACT, path ARTIFACT, why ARTIFACT, verify [ARTIFACT], gc",
    .operands_min = 1,
    .operands_max = 2,
    .description =
        "Actions:\n"
        "  list                 finished artifacts, the oldest first: what each is, its seed,\n"
        "                       how many others were made of it, and the tables that need it\n"
        "  show ARTIFACT        all about one, by any unique beginning of its name or key:\n"
        "                       rows, settings, facts, what it was made from, what was made from "
        "it\n"
        "  path ARTIFACT        its folder\n"
        "  why ARTIFACT         what it is made of: settings that are not at their defaults\n"
        "                       and, recursively, its inputs\n"
        "  verify [ARTIFACT]    read all files again and compare their hashes\n"
        "  gc [--dry-run]       remove unfinished work, damaged artifacts and stale locks",
    .run = run};
