/* Reading the catalog of tables. */
#include "catalog.h"

#include <gabbro/options.h>
#include <gabbro/report.h>

#include <stdlib.h>
#include <string.h>

static const char *keep(repro_catalog *catalog, const char *text, gb_status *status)
{
    return gb_arena_strdup(catalog->arena, text, strlen(text), status);
}

static repro_entry *add(repro_catalog *catalog, const char *name, const char *title,
                        const char *aliases, gb_status *status)
{
    if (!gb_grow(&catalog->entries, &catalog->capacity, catalog->count + 1,
                 sizeof *catalog->entries, status))
        return NULL;
    repro_entry *entry = &catalog->entries[catalog->count];
    *entry = (repro_entry){.name = keep(catalog, name, status),
                           .title = keep(catalog, title, status),
                           .aliases = keep(catalog, aliases, status),
                           .cost = ""};
    if (!entry->name || !entry->title || !entry->aliases)
        return NULL;
    catalog->count++;
    return entry;
}

static repro_entry *named(const repro_catalog *catalog, const char *name)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (!strcmp(catalog->entries[i].name, name))
            return &catalog->entries[i];
    return NULL;
}

static const char *last_part(const repro_entry *entry)
{
    return strchr(entry->name, '/') + 1;
}

bool repro_entry_is_study(const repro_entry *entry)
{
    return !strncmp(entry->name, "study/", 6);
}

bool repro_entry_is_figure(const repro_entry *entry)
{
    return !strncmp(last_part(entry), "fig", 3);
}

/* ---- tables.tsv ---- */

static bool read_published(repro_catalog *catalog, const char *tables_dir, gb_status *status)
{
    char *path = gb_path_join(status, tables_dir, "tables.tsv"), *line;
    gb_lines *lines = path ? gb_lines_open(path, status) : NULL;
    size_t length;
    int got = lines ? 0 : -1;
    while (lines && (got = gb_lines_next_text(lines, &line, &length, status)) == 1) {
        char *title = strchr(line, '\t'), *aliases = title ? strchr(title + 1, '\t') : NULL;
        if (gb_lines_number(lines) == 1 || !title)
            continue;
        *title++ = '\0';
        if (!strchr(line, '/')) {
            gb_lines_fail(lines, status, "name it PAPER/TABLE", "the table \"%.80s\" has no paper",
                          line);
            got = -1;
            break;
        }
        if (aliases)
            *aliases++ = '\0';
        repro_entry *entry = add(catalog, line, title, aliases ? aliases : "", status);
        if (!entry) {
            got = -1;
            break;
        }
        gb_table_spec *spec = gb_table_spec_load(tables_dir, line, &entry->fault);
        entry->published = true;
        entry->ready = spec != NULL;
        if (entry->fault.code == GB_USAGE) /* its files are not there yet */
            entry->fault = (gb_status){0};
        gb_table_spec_free(spec);
    }
    gb_lines_close(lines);
    free(path);
    return got == 0;
}

/* ---- recipes ---- */

/* What a line of a recipe's head says of an entry: "-- cost: ..." */
static bool take_head(repro_catalog *catalog, repro_entry *entry, const char *line,
                      gb_status *status)
{
    if (!strncmp(line, "cost: ", 6))
        entry->cost = keep(catalog, line + 6, status);
    else if (!strncmp(line, "alias: ", 7))
        entry->aliases = keep(catalog, line + 7, status);
    else if (!strncmp(line, "times:", 6))
        entry->measures_time = true;
    else if (!*entry->title)
        entry->title = keep(catalog, line, status);
    return entry->cost && entry->aliases && entry->title;
}

static bool read_head(repro_catalog *catalog, repro_entry *entry, const char *path,
                      gb_status *status)
{
    gb_lines *lines = gb_lines_open(path, status);
    char *line;
    size_t length;
    int got = 0;
    bool ok = lines != NULL;
    while (ok && (got = gb_lines_next(lines, &line, &length, status)) == 1 &&
           !strncmp(line, "-- ", 3))
        ok = take_head(catalog, entry, line + 3, status);
    gb_lines_close(lines);
    return ok && got >= 0;
}

/* path: .../qac/table1.lua. Studies are passed over where others are wanted, and the reverse. */
static bool read_recipe(repro_catalog *catalog, const char *path, bool studies, gb_status *status)
{
    char name[128];
    const char *file = strrchr(path, '/'), *paper = file;
    while (paper > path && paper[-1] != '/')
        paper--;
    snprintf(name, sizeof name, "%.*s", (int)(strlen(paper) - strlen(".lua")), paper);
    repro_entry *entry = named(catalog, name);
    if (!strncmp(name, "study/", 6) != studies)
        return true;
    bool published = entry != NULL;
    if (!entry)
        entry = add(catalog, name, "", "", status);
    if (!entry || !read_head(catalog, entry, path, status))
        return false;
    /* Of another table tables/ says nothing yet. */
    if (!published)
        entry->ready = studies || repro_entry_is_figure(entry);
    return true;
}

/* Of tables without a recipe nothing can be made. */
static bool has_recipe(const gb_entries *found, const char *name)
{
    char end[140];
    snprintf(end, sizeof end, "/%.120s.lua", name);
    size_t length = strlen(end);
    for (size_t i = 0; i < found->count; i++) {
        size_t whole = strlen(found->names[i]);
        if (whole >= length && !strcmp(found->names[i] + whole - length, end))
            return true;
    }
    return false;
}

/* Paths of the recipes below a folder: PAPER/TABLE.lua. */
static bool find_recipes(const char *folder, gb_entries *found, gb_status *status)
{
    gb_entries papers = {0}, tables = {0};
    bool ok = !gb_dir_exists(folder) || gb_entries_read(folder, "*", &papers, status);
    for (size_t i = 0; ok && i < papers.count; i++) {
        char *paper = gb_path_join(status, folder, papers.names[i]);
        ok = paper && (!gb_dir_exists(paper) || gb_entries_read(paper, "*.lua", &tables, status));
        for (size_t j = 0; ok && j < tables.count; j++) {
            char *path = gb_path_join(status, paper, tables.names[j]);
            ok = path && gb_grow(&found->names, &found->capacity, found->count + 1,
                                 sizeof *found->names, status);
            if (ok)
                found->names[found->count++] = path;
            else
                free(path);
        }
        gb_entries_free(&tables);
        free(paper);
    }
    gb_entries_free(&papers);
    return ok;
}

bool repro_catalog_read(repro_catalog *catalog, const char *tables_dir, const char *paper,
                        gb_status *status)
{
    *catalog = (repro_catalog){.arena = gb_arena_create(1 << 14, status)};
    char *shared = gb_installed_file("reproduce/sets.lua");
    if (!catalog->arena)
        return false;
    if (!shared)
        return gb_fail(status, GB_DATA, "reproduce/sets.lua", "install gabbro again",
                       "the recipes that came with the program are missing");
    *strrchr(shared, '/') = '\0';
    char *folder = paper ? gb_path_join(status, paper, "reproduce") : gb_strdup(shared, status);
    gb_entries found = {0};
    bool ok = folder && read_published(catalog, tables_dir, status) &&
              find_recipes(folder, &found, status);
    for (size_t i = 0; ok && i < catalog->count; i++)
        catalog->entries[i].ready =
            catalog->entries[i].ready && has_recipe(&found, catalog->entries[i].name);
    for (size_t i = 0; ok && i < 2 * found.count; i++)
        ok = read_recipe(catalog, found.names[i % found.count], i >= found.count, status);
    gb_entries_free(&found);
    free(folder);
    free(shared);
    return ok;
}

void repro_catalog_free(repro_catalog *catalog)
{
    gb_arena_destroy(catalog->arena);
    free(catalog->entries);
    *catalog = (repro_catalog){0};
}

/* ---- use ---- */

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; *at; at += *at == ' ') {
        size_t here = strcspn(at, " ");
        if (here == length && !strncmp(at, word, length))
            return true;
        at += here;
    }
    return false;
}

/* "tabel1" is near to the second half of "qac/table1". */
static void fail_unknown(const repro_catalog *catalog, const char *name, gb_status *status)
{
    const char *meant = NULL;
    gb_nearest nearest = {.word = name};
    for (size_t i = 0; i < catalog->count; i++) {
        const char *all = catalog->entries[i].name, *half = strchr(all, '/'), *was = nearest.name;
        gb_nearest_compare(&nearest, all);
        if (half)
            gb_nearest_compare(&nearest, half + 1);
        meant = nearest.name == was ? meant : all;
    }
    char hint[100] = "see: reproduce list";
    if (meant)
        snprintf(hint, sizeof hint, "did you mean %.60s? See: reproduce list", meant);
    gb_fail(status, GB_USAGE, NULL, hint, "no table %.60s", name);
}

const repro_entry *repro_catalog_find(const repro_catalog *catalog, const char *name,
                                      gb_status *status)
{
    const repro_entry *entry = named(catalog, name);
    for (size_t i = 0; !entry && i < catalog->count; i++)
        if (has_word(catalog->entries[i].aliases, name))
            entry = &catalog->entries[i];
    if (entry && entry->ready)
        return entry;
    if (entry && entry->fault.code != GB_OK) {
        if (status)
            *status = entry->fault;
    } else if (entry)
        gb_fail(status, GB_USAGE, NULL, "see: reproduce list", "%.60s cannot be reproduced yet",
                name);
    else
        fail_unknown(catalog, name, status);
    return NULL;
}

void repro_catalog_print(const repro_catalog *catalog)
{
    for (size_t i = 0; i < catalog->count; i++) {
        const repro_entry *entry = &catalog->entries[i];
        if (!entry->ready) {
            printf("%-14s %s (%s)\n", entry->name, entry->title,
                   entry->fault.code == GB_OK ? "not yet" : "a mistake in its files");
            continue;
        }
        printf("%-14s %s", entry->name, entry->title);
        for (const char *at = entry->aliases; *at; at += *at == ' ') {
            size_t length = strcspn(at, " ");
            printf("%s%.*s", at == entry->aliases ? " (also: " : ", ", (int)length, at);
            at += length;
        }
        printf("%s\n%-14s   %s\n", *entry->aliases ? ")" : "", "", entry->cost);
    }
}
