/* MS MARCO's TSV files: collection.tsv, queries.<split>.tsv, qrels.<split>.tsv; of its documents
 * msmarco-docs.tsv, msmarco-doc<split>-queries.tsv, msmarco-doc<split>-qrels.tsv; and TREC's topics
 * and judgements for both; plain or .gz. */
#include "data/import.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 5 };

/* Cut at tabs; the number of columns, at most MAX_COLUMNS. */
static int split_tabs(char *line, char *columns[MAX_COLUMNS])
{
    int count = 0;
    for (char *at = line; at && count < MAX_COLUMNS;) {
        columns[count++] = at;
        at = strchr(at, '\t');
        if (at)
            *at++ = '\0';
    }
    return count;
}

/* Next line as columns: their number, 0 at the end, -1 with status. */
static int next_columns(gb_lines *lines, char *columns[MAX_COLUMNS], gb_status *status)
{
    char *line;
    size_t length;
    int got = gb_lines_next_text(lines, &line, &length, status);
    return got == 1 ? split_tabs(line, columns) : got;
}

/* The official files have no heading; one that somebody added would become a text. */
static bool refuse_heading(const gb_lines *lines, const char *first, gb_status *status)
{
    static const char *const words[] = {"id",        "_id",        "pid",        "docid",
                                        "doc_id",    "passage_id", "passage-id", "corpus-id",
                                        "corpus_id", "qid",        "query_id",   "query-id"};
    for (size_t i = 0; gb_lines_number(lines) == 1 && i < sizeof words / sizeof *words; i++)
        if (!strcmp(first, words[i]))
            return gb_lines_fail(lines, status,
                                 "remove the line, for every line is taken as a text",
                                 "\"%s\" heads a column and is no id", first);
    return true;
}

static bool read_collection(gb_import *import, const char *path, gb_status *status)
{
    gb_lines *lines = data_import_open(import, path, status);
    if (!lines)
        return false;
    char *columns[MAX_COLUMNS];
    int expected = 0, got;
    while ((got = next_columns(lines, columns, status)) > 0) {
        if (!expected && got >= 2 && got <= 4)
            expected = got; /* id, text; id, title, text; id, url, title, text */
        bool ok = got == expected;
        if (ok)
            ok = refuse_heading(lines, columns[0], status);
        else
            gb_lines_fail(lines, status,
                          "expected id, text or id, title, text or id, url, title, text with tabs "
                          "between",
                          "line of %d column%s", got, got == 1 ? "" : "s");
        if (!ok || !data_import_passage(import, lines, columns[0], got > 2 ? columns[got - 2] : "",
                                        columns[got - 1], GB_MAP_NONE, status)) {
            got = -1;
            break;
        }
    }
    gb_lines_close(lines);
    return got == 0 && data_import_corpus_done(import, path, status);
}

/* The official files overlap (queries.dev.tsv holds queries.dev.small.tsv): a query known from an
 * earlier file is passed over, one that comes twice in this file is refused. */
static bool read_queries(gb_import *import, const char *path, gb_status *status)
{
    gb_lines *lines = data_import_open(import, path, status);
    if (!lines)
        return false;
    uint32_t before = import->queries;
    char *columns[MAX_COLUMNS];
    int got;
    while ((got = next_columns(lines, columns, status)) > 0) {
        if (got != 2)
            gb_lines_fail(lines, status, "expected query-id, text with a tab between",
                          "line of %d column%s", got, got == 1 ? "" : "s");
        if (got != 2 || !refuse_heading(lines, columns[0], status) ||
            !data_import_same_query(import, lines, columns[0], columns[1], status) ||
            (gb_map_get(import->query_map, columns[0], strlen(columns[0])) >= before &&
             !data_import_query(import, lines, columns[0], columns[1], status))) {
            got = -1;
            break;
        }
    }
    gb_lines_close(lines);
    return got == 0;
}

/* The names under which the files are known. */
typedef struct name_form {
    const char *start, *end; /* the name is start, split, end */
    const char *split;       /* NULL: what stands between */
    bool judgements;         /* else queries */
} name_form;
static const name_form forms[] = {
    {"queries.", ".tsv", NULL, false},
    {"topics.", ".tsv", NULL, false}, /* Pyserini's */
    {"topics.", ".txt", NULL, false},
    {"qrels.", ".tsv", NULL, true},
    {"qrels.", ".txt", NULL, true},
    {"msmarco-test2019-queries", ".tsv", "dl19", false},
    {"msmarco-test2020-queries", ".tsv", "dl20", false},
    {"2019qrels-pass", ".txt", "dl19", true},
    {"2020qrels-pass", ".txt", "dl20", true},
    {"msmarco-doc", "-queries.tsv", NULL, false},
    {"msmarco-doc", "-qrels.tsv", NULL, true},
    {"2019qrels-docs", ".txt", "dl19", true},
    {"2020qrels-docs", ".txt", "dl20", true},
};

/* Recognise a file name; fills split[80]. NULL when it is another file. Where both dev.small and
 * the full dev set are there, the small one is `dev`, as in the papers. */
static const name_form *recognise(const char *name, bool dev_is_small, char split[80])
{
    size_t length = gb_unpack_stem(name);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t start = strlen(forms[i].start), end = strlen(forms[i].end);
        if (length < start + end || strncmp(name, forms[i].start, start) != 0 ||
            strncmp(name + length - end, forms[i].end, end) != 0)
            continue;
        int middle = (int)(length - start - end);
        if ((middle == 0) != (forms[i].split != NULL) || middle >= 80)
            continue;
        snprintf(split, 80, "%.*s", middle, name + start);
        if (forms[i].split)
            snprintf(split, 80, "%s", forms[i].split);
        else if (strcmp(split, "dl19-passage") == 0 || strcmp(split, "dl20-passage") == 0)
            split[4] = '\0';
        else if (dev_is_small && strcmp(split, "dev.small") == 0)
            snprintf(split, 80, "dev");
        else if (dev_is_small && strcmp(split, "dev") == 0)
            snprintf(split, 80, "dev.full");
        return &forms[i];
    }
    return NULL;
}

/* A file of judgements, and how far it fits the collection. */
typedef struct judged_file {
    const char *name; /* in the folder */
    char split[80];   /* that it judges */
    uint64_t lines;   /* judgements */
    uint64_t known;   /* of them those of passages that the collection has */
} judged_file;

static bool count_known(const gb_import *import, const char *path, judged_file *file,
                        gb_status *status)
{
    gb_lines *lines = gb_lines_open(path, status);
    gb_qrel_line line = {0};
    int got = lines ? 1 : -1;
    while (got == 1 && (got = data_qrel_next(lines, &line, status)) == 1) {
        file->lines++;
        file->known +=
            gb_map_get(import->passage_map, line.passage, strlen(line.passage)) != GB_MAP_NONE;
    }
    gb_lines_close(lines);
    return got == 0;
}

/* TREC judges passages and documents for the same topics, and both files lie where they were
 * fetched: of several for a split, that is read of which the collection has the most. */
static bool read_judgements(gb_import *import, const char *folder, judged_file *files, size_t count,
                            gb_status *status)
{
    size_t best = 0;
    bool ok = true;
    for (size_t i = 0; ok && count > 1 && i < count; i++) {
        char *path = gb_path_join(status, folder, files[i].name);
        ok = path && count_known(import, path, &files[i], status);
        free(path);
        if (files[i].known > files[best].known)
            best = i;
    }
    for (size_t i = 0; ok && i < count; i++)
        if (i != best)
            data_import_note(import,
                             "%s is left out: the collection has the passages of %llu of its %llu "
                             "judgements, and of %llu of the %llu of %s, which is read",
                             files[i].name, (unsigned long long)files[i].known,
                             (unsigned long long)files[i].lines,
                             (unsigned long long)files[best].known,
                             (unsigned long long)files[best].lines, files[best].name);
    char *path = ok ? gb_path_join(status, folder, files[best].name) : NULL;
    ok = path && data_import_qrels(import, path, files[best].split, status);
    free(path);
    return ok;
}

/* Bring the other files of the split of `first` behind it, their order kept; where they end. */
static size_t of_same_split(judged_file *files, size_t count, size_t first)
{
    size_t same = first + 1;
    for (size_t i = first + 1; i < count; i++)
        if (!strcmp(files[i].split, files[first].split)) {
            judged_file file = files[i];
            memmove(files + same + 1, files + same, (i - same) * sizeof *files);
            files[same++] = file;
        }
    return same;
}

static bool read_all_judgements(gb_import *import, const char *folder, judged_file *files,
                                size_t count, gb_status *status)
{
    bool ok = true;
    for (size_t first = 0, end; ok && first < count; first = end) {
        end = of_same_split(files, count, first);
        ok = read_judgements(import, folder, files + first, end - first, status);
    }
    return ok;
}

/* Read the queries of all splits, then their judgements. */
static bool read_splits(gb_import *import, const char *folder, const gb_entries *list,
                        gb_status *status)
{
    bool small = false, ok = true;
    judged_file *judged = gb_alloc(list->count, sizeof *judged, status);
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        small = small || strncmp(list->names[i], "queries.dev.small.tsv", 21) == 0;
    for (size_t i = 0; judged && ok && i < list->count; i++) {
        judged_file file = {.name = list->names[i]};
        const name_form *form = recognise(file.name, small, file.split);
        if (form && form->judgements)
            judged[count++] = file;
        if (!form || form->judgements)
            continue;
        char *path = gb_path_join(status, folder, file.name);
        ok = path && read_queries(import, path, status);
        free(path);
    }
    ok = judged && ok && read_all_judgements(import, folder, judged, count, status);
    free(judged);
    return ok;
}

bool data_import_msmarco_splits(gb_import *import, const char *folder, gb_status *status)
{
    gb_entries list = {0};
    bool ok = data_import_list(folder, &list, status) && read_splits(import, folder, &list, status);
    gb_entries_free(&list);
    return ok;
}

bool data_import_msmarco(gb_import *import, const char *path, gb_status *status)
{
    import->kind = "MS MARCO TSV";
    import->structure = "none: each passage is its own document";
    if (!gb_dir_exists(path))
        return read_collection(import, path, status);
    char *collection;
    if (!gb_unpack_find(path, "collection.tsv", &collection, status) ||
        (!collection && !gb_unpack_find(path, "msmarco-docs.tsv", &collection, status)))
        return false;
    bool ok = read_collection(import, collection, status) &&
              data_import_msmarco_splits(import, path, status);
    free(collection);
    return ok;
}
