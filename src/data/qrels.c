/* Judgements: parsing lines, and resolving a split's ids to rows of a collection. */
#include "data/qrels.h"
#include "gabbro/data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char columns_hint[] =
    "lines are query, 0, passage, grade, or, with this heading or none, query-id, corpus-id, score";

static bool parse_grade(const char *text, int32_t *grade)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    *grade = (int32_t)value;
    return end != text && !*end && !errno && value >= -GB_MOST_GRADE && value <= GB_MOST_GRADE;
}

int gb_qrel_parse(const gb_lines *lines, char *line, gb_qrel_line *judgement, gb_status *status)
{
    enum { MOST = 5 };
    char *fields[MOST];
    int count = 0;
    for (char *field; count < MOST && (field = gb_take_field(&line, GB_BLANKS));)
        if (*field)
            fields[count++] = field;
    if (!count || *fields[0] == '#')
        return 0;
    if (!judgement->fields && count == 3 && !strcmp(fields[0], "query-id"))
        return 0; /* BEIR's header */
    if ((count != 3 && count != 4) || (judgement->fields && judgement->fields != count)) {
        gb_lines_fail(lines, status, columns_hint, "%d fields%s instead of %s", count,
                      count == MOST ? " or more" : "",
                      judgement->fields == 3   ? "3"
                      : judgement->fields == 4 ? "4"
                                               : "3 or 4");
        return -1;
    }
    *judgement = (gb_qrel_line){fields[0], fields[count - 2], 0, count};
    if (parse_grade(fields[count - 1], &judgement->grade))
        return 1;
    gb_lines_fail(lines, status, columns_hint, "grade \"%.40s\" is not a small whole number",
                  fields[count - 1]);
    return -1;
}

int data_qrel_next(gb_lines *lines, gb_qrel_line *judgement, gb_status *status)
{
    char *line;
    size_t length;
    int got, parsed = 0;
    while (!parsed && (got = gb_lines_next_text(lines, &line, &length, status)) == 1)
        parsed = gb_qrel_parse(lines, line, judgement, status);
    return parsed ? parsed : got;
}

/* ---- resolving ---- */

/* The different ids of one column. Only ids that are judged are kept in memory, not the
 * collection's. */
typedef struct id_column {
    gb_map *map;        /* id -> number in order of appearance */
    uint32_t *lines;    /* first line of each id */
    uint32_t *rows;     /* row in the collection, GB_MAP_NONE: not found */
    size_t lines_space; /* capacity of lines */
} id_column;

/* Number of the id, given now if it is new; GB_MAP_NONE on lack of memory. */
static uint32_t column_add(id_column *column, const char *id, uint64_t line, gb_status *status)
{
    size_t length = strlen(id);
    uint32_t number = gb_map_get(column->map, id, length);
    if (number != GB_MAP_NONE)
        return number;
    number = (uint32_t)gb_map_count(column->map);
    if (!gb_grow(&column->lines, &column->lines_space, (size_t)number + 1, sizeof *column->lines,
                 status) ||
        !gb_map_set(column->map, id, length, number, status))
        return GB_MAP_NONE;
    column->lines[number] = (uint32_t)line;
    return number;
}

static bool column_resolve(id_column *column, const gb_row_file *ids, const char *path,
                           const char *kind, gb_status *status)
{
    size_t count = gb_map_count(column->map);
    column->rows = gb_alloc(count, sizeof *column->rows, status);
    if (!column->rows)
        return false;
    for (size_t i = 0; i < count; i++)
        column->rows[i] = GB_MAP_NONE;
    for (uint64_t row = 0; row < gb_row_file_count(ids); row++) {
        size_t length;
        const char *id = gb_row_file_row(ids, row, &length);
        uint32_t number = gb_map_get(column->map, id, length);
        if (number != GB_MAP_NONE)
            column->rows[number] = (uint32_t)row;
    }
    for (size_t i = 0; i < count; i++) {
        if (column->rows[i] != GB_MAP_NONE)
            continue;
        char *where = gb_format(NULL, "%s:%u", path, column->lines[i]);
        gb_fail(status, GB_DATA, where, "the judgements belong to another collection",
                "judgement of a %s that the collection does not have", kind);
        free(where);
        return false;
    }
    return true;
}

static void column_free(id_column *column)
{
    gb_map_destroy(column->map);
    free(column->lines);
    free(column->rows);
}

static int compare_qrels(const void *a, const void *b)
{
    const gb_qrel *x = a, *y = b;
    if (x->query != y->query)
        return x->query < y->query ? -1 : 1;
    return (x->passage > y->passage) - (x->passage < y->passage);
}

/* Read all lines; query and passage are still numbers of the columns. */
static bool read_judgements(const char *path, id_column *queries, id_column *passages,
                            gb_qrels *qrels, gb_status *status)
{
    gb_lines *lines = gb_lines_open(path, status);
    if (!lines)
        return false;
    gb_qrel_line line = {0};
    size_t capacity = 0;
    int got;
    while ((got = data_qrel_next(lines, &line, status)) == 1) {
        uint64_t number = gb_lines_number(lines);
        gb_qrel row = {.grade = line.grade};
        if (!gb_grow(&qrels->rows, &capacity, qrels->count + 1, sizeof *qrels->rows, status) ||
            (row.query = column_add(queries, line.query, number, status)) == GB_MAP_NONE ||
            (row.passage = column_add(passages, line.passage, number, status)) == GB_MAP_NONE) {
            got = -1;
            break;
        }
        qrels->rows[qrels->count++] = row;
    }
    gb_lines_close(lines);
    return got == 0;
}

static bool resolve_judgements(const gb_collection *collection, const char *path,
                               id_column *queries, id_column *passages, gb_qrels *qrels,
                               gb_status *status)
{
    if (!column_resolve(queries, collection->query_ids, path, "query", status) ||
        !column_resolve(passages, collection->passage_ids, path, "passage", status))
        return false;
    for (size_t i = 0; i < qrels->count; i++) {
        gb_qrel *row = &qrels->rows[i];
        row->query = queries->rows[row->query];
        row->passage = passages->rows[row->passage];
    }
    if (qrels->count)
        qsort(qrels->rows, qrels->count, sizeof *qrels->rows, compare_qrels);
    for (size_t i = 1; i < qrels->count; i++)
        if (compare_qrels(&qrels->rows[i - 1], &qrels->rows[i]) == 0)
            return gb_fail(status, GB_DATA, path, "import the collection again",
                           "a passage is judged twice for one query");
    return true;
}

bool gb_collection_qrels(const gb_collection *collection, const char *split, gb_qrels *qrels,
                         gb_status *status)
{
    *qrels = (gb_qrels){0};
    if (!gb_collection_has_split(collection, split))
        return gb_fail(status, GB_USAGE, collection->path,
                       "a folder brings queries.jsonl and qrels/train.tsv, dev.tsv or test.tsv",
                       "no split \"%s\"; the collection has: %s", split,
                       *collection->splits ? collection->splits : "none");
    char *path = gb_format(status, "%s/qrels/%s.tsv", collection->path, split);
    id_column queries = {.map = gb_map_create(status)}, passages = {.map = gb_map_create(status)};
    bool ok = path && queries.map && passages.map &&
              read_judgements(path, &queries, &passages, qrels, status) &&
              resolve_judgements(collection, path, &queries, &passages, qrels, status);
    column_free(&queries);
    column_free(&passages);
    free(path);
    if (!ok) {
        free(qrels->rows);
        *qrels = (gb_qrels){0};
    }
    return ok;
}

/* Drop what says that a passage is not relevant; returns how many queries are left. */
static uint32_t keep_relevant(gb_qrels *qrels)
{
    size_t kept = 0;
    uint32_t queries = 0;
    for (size_t i = 0; i < qrels->count; i++) {
        if (qrels->rows[i].grade <= 0)
            continue;
        queries += !kept || qrels->rows[i].query != qrels->rows[kept - 1].query;
        qrels->rows[kept++] = qrels->rows[i];
    }
    qrels->count = kept;
    return queries;
}

bool gb_qrels_sample(gb_qrels *qrels, uint32_t most, uint64_t seed, gb_status *status)
{
    uint32_t queries = keep_relevant(qrels);
    if (!most || most >= queries)
        return true;
    gb_rng rng = gb_rng_make(seed, GB_RNG_SPLIT, 0, 0);
    bool *chosen = gb_rng_choose(&rng, queries, most, status);
    if (!chosen)
        return false;
    size_t kept = 0;
    for (uint32_t i = 0, q = 0, last = qrels->rows[0].query; i < qrels->count; i++) {
        q += qrels->rows[i].query != last;
        last = qrels->rows[i].query;
        if (chosen[q])
            qrels->rows[kept++] = qrels->rows[i];
    }
    qrels->count = kept;
    free(chosen);
    return true;
}
