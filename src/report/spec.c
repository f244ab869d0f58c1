/* Loading what tables/ says of one table. */
#include "private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *report_copy(gb_arena *arena, const char *text, gb_status *status)
{
    return text && text[0] ? gb_arena_strdup(arena, text, strlen(text), status) : "";
}

char *report_table_path(const char *tables_dir, const char *folder, const char *table,
                        const char *end, gb_status *status)
{
    char *path = gb_format(status, "%s/%s/%s%s", tables_dir, folder, table, end);
    char *slash = path ? strchr(path + strlen(tables_dir) + strlen(folder) + 2, '/') : NULL;
    if (slash)
        *slash = '-';
    return path;
}

bool report_listed(const char *list, const char *separators, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; *at;) {
        at += strspn(at, separators);
        size_t here = strcspn(at, separators);
        if (here == length && strncmp(at, word, length) == 0)
            return true;
        at += here;
    }
    return false;
}

bool report_word_in(const char *words, const char *word)
{
    return report_listed(words, " ", word);
}

size_t report_spec_row(const gb_table_spec *spec, const char *key)
{
    for (size_t i = 0; i < spec->row_count; i++)
        if (spec->rows[i].key[0] && strcmp(spec->rows[i].key, key) == 0)
            return i;
    return SIZE_MAX;
}

static size_t published_row(const gb_table_spec *spec, const char *published, size_t length)
{
    for (size_t i = 0; i < spec->row_count; i++)
        if (strlen(spec->rows[i].published) == length &&
            strncmp(spec->rows[i].published, published, length) == 0)
            return i;
    return SIZE_MAX;
}

size_t report_spec_column(const gb_table_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->column_count; i++)
        if (strcmp(spec->columns[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

/* What the loaders share. */
typedef struct loader {
    gb_table_spec *spec; /* being filled */
    tsv file;            /* open file */
    size_t capacity;     /* of the array being filled */
    gb_status *status;   /* of the call */
} loader;

static const char *field(loader *load, size_t which)
{
    const char *text = load->file.fields[which];
    return report_copy(load->spec->arena, strcmp(text, "-") == 0 ? "" : text, load->status);
}

/* Room for one more element in an array of the spec; the arena keeps the outgrown ones. */
static void *one_more(loader *load, void *array, size_t count, size_t size)
{
    if (count < load->capacity)
        return array;
    load->capacity = load->capacity ? 2 * load->capacity : 32;
    void *grown = gb_arena_alloc(load->spec->arena, load->capacity * size, load->status);
    if (grown && count)
        memcpy(grown, array, count * size);
    return grown;
}

/* Calls each(load) for the lines of a file. */
static bool load_file(loader *load, char *path, const char *const *wanted, size_t count,
                      bool (*each)(loader *))
{
    bool ok = path && report_tsv_open(&load->file, path, wanted, count, load->status);
    load->capacity = 0;
    int got = 0;
    while (ok && (got = report_tsv_next(&load->file, load->status)) == 1)
        ok = each(load);
    report_tsv_close(&load->file);
    free(path);
    return ok && got == 0;
}

const char *gb_row_role_name(gb_row_role role)
{
    static const char *const names[] = {"quoted", "baseline", "trained", "extra"};
    return names[role];
}

static bool each_row(loader *load)
{
    gb_table_spec *spec = load->spec;
    gb_spec_row *rows = one_more(load, spec->rows, spec->row_count, sizeof *rows);
    if (!rows)
        return false;
    spec->rows = rows;
    gb_spec_row *row = &rows[spec->row_count];
    gb_row_role role = 0;
    while (role < GB_ROW_ROLES && strcmp(load->file.fields[2], gb_row_role_name(role)) != 0)
        role++;
    if (role == GB_ROW_ROLES)
        return gb_lines_fail(load->file.lines, load->status, "see tables/README.md",
                             "unknown role \"%s\"", load->file.fields[2]);
    row->role = role;
    bool ok = (row->key = field(load, 0)) && (row->published = field(load, 1)) &&
              (row->group = field(load, 3)) && (row->label = field(load, 4));
    if (ok && row->key[0] && report_spec_row(spec, row->key) != SIZE_MAX)
        return gb_lines_fail(load->file.lines, load->status, NULL, "row \"%s\" twice", row->key);
    spec->row_count += ok;
    return ok;
}

static bool each_column(loader *load)
{
    gb_table_spec *spec = load->spec;
    gb_spec_column *columns = one_more(load, spec->columns, spec->column_count, sizeof *columns);
    if (!columns)
        return false;
    spec->columns = columns;
    if (spec->column_count == GB_MOST_COLUMNS)
        return gb_lines_fail(load->file.lines, load->status, NULL, "more than %d columns",
                             GB_MOST_COLUMNS);
    gb_spec_column *column = &columns[spec->column_count];
    bool ok = (column->name = field(load, 0)) && (column->obtained = field(load, 1)) &&
              (column->header = field(load, 2)) && (column->label = field(load, 3));
    /* Until a published cell says otherwise. */
    column->scale = ok && strncmp(column->name, "efficiency:", 11) == 0 ? 1 : 100;
    column->decimals = 1;
    spec->column_count += ok;
    return ok;
}

/* Whether a field has one of the words; else the line is refused. */
static bool one_of(loader *load, const char *what, const char *word, const char *const *words)
{
    gb_text list = {0};
    size_t i;
    for (i = 0; words[i] && strcmp(word, words[i]) != 0; i++)
        gb_text_printf(&list, "%s\"%s\"", i ? ", " : "", words[i]);
    bool known = words[i] != NULL;
    if (!known)
        gb_lines_fail(load->file.lines, load->status, "see tables/README.md",
                      "%s is \"%s\", and not one of %s", what, word, gb_text_words(&list, &list));
    gb_text_free(&list);
    return known;
}

static bool set_unit(loader *load, gb_spec_column *column, const char *unit, int decimals)
{
    static const char *const units[] = {"percent", "percent points",     "fraction", "nats",
                                        "seconds", "samples per second", NULL};
    if (!one_of(load, "the unit", unit, units))
        return false;
    column->scale = strncmp(unit, "percent", 7) == 0 ? 100 : 1; /* "percent points" */
    int wanted = strcmp(unit, "seconds") == 0 ? 6 : decimals;   /* here batches take microseconds */
    if (wanted > column->decimals)
        column->decimals = wanted;
    return decimals <= 9 ||
           gb_lines_fail(load->file.lines, load->status, NULL, "too many decimals");
}

static bool each_cell(loader *load)
{
    gb_table_spec *spec = load->spec;
    const char *const *f = load->file.fields;
    gb_text key = {0};
    gb_text_printf(&key, "%s @ %s", f[0], f[1]);
    size_t row = key.failed ? SIZE_MAX : published_row(spec, key.data, key.length);
    gb_text_free(&key);
    size_t column = report_spec_column(spec, f[2]);
    if (row == SIZE_MAX)
        return gb_lines_fail(load->file.lines, load->status, "list it in tables/rows/",
                             "row \"%s @ %s\" is not in the list of rows", f[0], f[1]);
    if (column == SIZE_MAX)
        return gb_lines_fail(load->file.lines, load->status, "list it in tables/columns/",
                             "column \"%s\" is not in the list of columns", f[2]);
    gb_cell *cell = &spec->cells[row * spec->column_count + column];
    char *end;
    cell->value = strtod(f[3], &end);
    if (end == f[3] || *end || !isfinite(cell->value) || cell->present)
        return gb_lines_fail(load->file.lines, load->status, NULL,
                             cell->present ? "cell \"%s\" twice" : "\"%s\" is no number", f[3]);
    const char *point = strchr(f[3], '.');
    cell->decimals = point ? (int)strlen(point + 1) : 0;
    cell->present = true;
    static const char *const status[] = {"ok", "corrected", "doubtful", NULL};
    if (!one_of(load, "the status", f[7], status))
        return false;
    if (!spec->source[0] && !(spec->source = field(load, 6)))
        return false;
    return set_unit(load, &spec->columns[column], f[4], cell->decimals) &&
           (cell->marks = field(load, 5)) && (cell->status = field(load, 7)) &&
           (cell->note = field(load, 8));
}

static size_t names_in(const char *list)
{
    size_t count = 1;
    for (const char *at = list; (at = strstr(at, " ; ")); at += 3)
        count++;
    return count;
}

/* Rows of "name ; name ...". */
static bool rows_named(loader *load, const char *list, size_t *rows)
{
    for (const char *at = list; at; rows++) {
        const char *end = strstr(at, " ; ");
        size_t length = end ? (size_t)(end - at) : strlen(at);
        *rows = published_row(load->spec, at, length);
        if (*rows == SIZE_MAX)
            return gb_lines_fail(load->file.lines, load->status, NULL,
                                 "the table has no row \"%.*s\"", (int)length, at);
        at = end ? end + 3 : NULL;
    }
    return true;
}

static bool claim_sides(loader *load, gb_claim *claim, const char *left, const char *right)
{
    claim->lefts = names_in(left);
    claim->count = claim->lefts + names_in(right);
    if (claim->count > GB_MOST_SIDES)
        return gb_lines_fail(load->file.lines, load->status, NULL, "more than %d rows in a claim",
                             GB_MOST_SIDES);
    if (claim->rule.kind == GB_CLAIM_PAIRS && claim->count != 2 * claim->lefts)
        return gb_lines_fail(load->file.lines, load->status, "give each left row its right one",
                             "pairs of %zu left rows and %zu right ones", claim->lefts,
                             claim->count - claim->lefts);
    claim->sides =
        gb_arena_alloc(load->spec->arena, claim->count * sizeof *claim->sides, load->status);
    return claim->sides && rows_named(load, left, claim->sides) &&
           rows_named(load, right, claim->sides + claim->lefts);
}

static bool each_claim(loader *load)
{
    gb_table_spec *spec = load->spec;
    const char *const *f = load->file.fields;
    if (strcmp(f[1], spec->name) != 0)
        return true;
    gb_claim *claims = one_more(load, spec->claims, spec->claim_count, sizeof *claims);
    if (!claims)
        return false;
    spec->claims = claims;
    gb_claim *claim = &claims[spec->claim_count];
    static const char *const held[] = {"yes", "no", "text",
                                       NULL}; /* text: there is no cell to ask */
    if (!one_of(load, "\"holds\"", f[6], held))
        return false;
    claim->holds = strcmp(f[6], "no") != 0;
    for (size_t i = 0; i < spec->claim_count; i++)
        if (!strcmp(spec->claims[i].id, f[0]))
            return gb_lines_fail(load->file.lines, load->status, "give each claim its own",
                                 "the id \"%s\" was given before", f[0]);
    if (!gb_claim_rule_parse(f[2], &claim->rule))
        return gb_lines_fail(load->file.lines, load->status, "see tables/README.md",
                             "unknown kind of claim \"%s\"", f[2]);
    bool ok = (claim->id = field(load, 0)) && (claim->kind = field(load, 2)) &&
              (claim->column = field(load, 3)) && (claim->given = field(load, 7)) &&
              (claim->where = field(load, 8)) && (claim->statement = field(load, 9)) &&
              claim_sides(load, claim, f[4], f[5]);
    spec->claim_count += ok;
    return ok;
}

static bool each_deviation(loader *load)
{
    gb_table_spec *spec = load->spec;
    if (!report_word_in(load->file.fields[1], spec->name) &&
        !report_word_in(load->file.fields[1], "all"))
        return true;
    gb_deviation *all = one_more(load, spec->deviations, spec->deviation_count, sizeof *all);
    if (!all)
        return false;
    spec->deviations = all;
    gb_deviation *one = &all[spec->deviation_count];
    bool ok = (one->id = field(load, 0)) && (one->scales = field(load, 2)) &&
              (one->topic = field(load, 3)) && (one->paper = field(load, 4)) &&
              (one->here = field(load, 5)) && (one->why = field(load, 6));
    spec->deviation_count += ok;
    return ok;
}

static bool each_title(loader *load)
{
    if (strcmp(load->file.fields[0], load->spec->name) == 0)
        load->spec->title = field(load, 1);
    return load->spec->title != NULL;
}

/* The files in the order in which they need each other. */
static bool load_all(loader *load, const char *dir)
{
    static const char *const titles[] = {"table", "title"};
    static const char *const rows[] = {"key", "published", "role", "group", "label"};
    static const char *const columns[] = {"column", "obtained", "header", "label"};
    static const char *const cells[] = {"row",   "group",  "column", "value", "unit",
                                        "marks", "source", "status", "note"};
    static const char *const claims[] = {"id",    "table", "kind",  "column", "left",
                                         "right", "holds", "given", "where",  "statement"};
    static const char *const deviations[] = {"id",    "tables", "scales", "topic",
                                             "paper", "here",   "why"};
    gb_table_spec *spec = load->spec;
    gb_status *status = load->status;
    if (!load_file(load, gb_path_join(status, dir, "tables.tsv"), titles, 2, each_title))
        return false;
    char *path = report_table_path(dir, "rows", spec->name, ".tsv", status);
    if (!spec->title[0] || !path || !gb_file_exists(path)) {
        free(path);
        return gb_fail(status, GB_USAGE, spec->name, "`reproduce list` shows the tables",
                       spec->title[0] ? "this table cannot be reproduced yet" : "no such table");
    }
    if (!load_file(load, path, rows, 5, each_row) ||
        !load_file(load, report_table_path(dir, "columns", spec->name, ".tsv", status), columns, 4,
                   each_column))
        return false;
    spec->cells = gb_arena_alloc(
        spec->arena, spec->row_count * spec->column_count * sizeof *spec->cells + 1, status);
    return spec->cells &&
           load_file(load, report_table_path(dir, "published", spec->name, ".tsv", status), cells,
                     9, each_cell) &&
           load_file(load, gb_path_join(status, dir, "claims.tsv"), claims, 10, each_claim) &&
           load_file(load, gb_path_join(status, dir, "deviations.tsv"), deviations, 7,
                     each_deviation);
}

gb_table_spec *gb_table_spec_load(const char *tables_dir, const char *name, gb_status *status)
{
    gb_table_spec *spec = gb_alloc(1, sizeof *spec, status);
    if (!spec || !(spec->arena = gb_arena_create(1 << 16, status))) {
        free(spec);
        return NULL;
    }
    spec->title = spec->source = "";
    loader load = {.spec = spec, .status = status};
    if (!(spec->name = report_copy(spec->arena, name, status)) || !load_all(&load, tables_dir)) {
        gb_table_spec_free(spec);
        return NULL;
    }
    if (!spec->source[0])
        spec->source = "without numbers in the paper";
    return spec;
}

void gb_table_spec_free(gb_table_spec *spec)
{
    if (!spec)
        return;
    gb_arena_destroy(spec->arena);
    free(spec);
}

/* ---- where the files are ---- */

/* The folder of a tables.tsv. Takes over the path, which may be NULL. */
static char *folder_of(char *tables)
{
    if (tables)
        *strrchr(tables, '/') = '\0';
    return tables;
}

char *gb_tables_find(const gb_config *config, const char *given, gb_status *status)
{
    const char *named = given ? given : config->tables;
    if (named && !named[0])
        named = NULL;
    char *file =
        named ? gb_path_join(status, named, "tables.tsv") : gb_installed_file("tables/tables.tsv");
    if (named && file && !gb_file_exists(file)) {
        gb_fail(status, GB_USAGE, named, "give the folder that holds tables.tsv",
                "no table data here");
        free(file);
        return NULL;
    }
    if (!named && !file)
        gb_fail(status, GB_USAGE, NULL, "give --tables DIR or set GABBRO_TABLES",
                "the table data (tables.tsv, published/ ...) was not found");
    return folder_of(file);
}
