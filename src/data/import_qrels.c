/* Judgements of an import: checked and copied split by split; a training split where none is. */
#include "data/import.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SPLIT_NAME = 50 };

void data_import_split_done(gb_import *import, const char *split, const gb_qrels_counts *counts)
{
    json_t *json = json_object();
    json_object_set_new(json, "queries", json_integer(counts->queries));
    json_object_set_new(json, "judgements", json_integer((json_int_t)counts->judgements));
    json_object_set_new(json, "relevant", json_integer((json_int_t)counts->relevant));
    json_object_set_new(json, "highest_grade", json_integer(counts->highest));
    json_object_set_new(json, "skipped_unknown", json_integer((json_int_t)counts->skipped));
    if (counts->skipped)
        json_object_set_new(json, "skipped_queries", json_integer((json_int_t)counts->no_query));
    json_object_set_new(json, "repeated", json_integer((json_int_t)counts->repeated));
    json_object_set_new(import->splits, split, json);
}

/* Splits stand in lists with blanks between, in the names of files, and before a colon in those of
 * measures; and places for them have an end. */
static bool check_split(const gb_import *import, const char *split, gb_status *status)
{
    size_t length =
        strspn(split, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    return (length && length <= MOST_SPLIT_NAME && !split[length]) ||
           gb_fail(status, GB_DATA, import->params->path,
                   "rename its files: up to 50 letters, digits, points, _ and -",
                   "\"%.80s\" cannot be the name of a split", split);
}

gb_out *data_import_split_open(const gb_import *import, const char *split, gb_status *status)
{
    if (!check_split(import, split, status))
        return NULL;
    char *path = gb_format(status, "%s/qrels/%s.tsv", import->dir, split);
    gb_out *out = path ? gb_out_open(path, status) : NULL;
    free(path);
    if (out)
        fputs("query-id\tcorpus-id\tscore\n", gb_out_stream(out));
    return out;
}

static void write_judgement(FILE *out, const gb_qrel_line *line, gb_qrels_counts *counts)
{
    fprintf(out, "%s\t%s\t%d\n", line->query, line->passage, (int)line->grade);
    counts->judgements++;
    counts->relevant += line->grade >= 1;
    if (line->grade > counts->highest)
        counts->highest = line->grade;
}

bool data_import_judge_open(gb_import *import, const char *split, gb_import_judging *judging,
                            gb_status *status)
{
    *judging = (gb_import_judging){0};
    return (judging->split = gb_strdup(split, status)) &&
           (judging->out = data_import_split_open(import, split, status)) &&
           (judging->pairs = gb_map_create(status)) && (judging->queries = gb_map_create(status));
}

/* Keep the first id of a judgement that is not there, and what its author may have meant. */
static void note_unknown(const gb_import *import, gb_import_judging *judging,
                         const gb_qrel_line *line, bool query_known)
{
    char cut[120];
    snprintf(judging->unknown, sizeof judging->unknown, "%s \"%.80s\"",
             query_known ? "passage" : "query", query_known ? line->passage : line->query);
    snprintf(cut, sizeof cut, "%.80s-0", line->passage);
    judging->hint = query_known && gb_map_get(import->passage_map, cut, strlen(cut)) != GB_MAP_NONE
                        ? "the texts of documents are cut into passages with the ids DOCUMENT-0, "
                          "DOCUMENT-1 and so on; name these"
                        : "fix the line; gabbro collection --skip-unknown-qrels leaves such out";
}

bool data_import_judge(gb_import *import, const gb_lines *lines, gb_import_judging *judging,
                       const gb_qrel_line *line, gb_status *status)
{
    gb_qrels_counts *counts = &judging->counts;
    data_import_show(import, lines);
    bool query = gb_map_get(import->query_map, line->query, strlen(line->query)) != GB_MAP_NONE;
    bool passage =
        gb_map_get(import->passage_map, line->passage, strlen(line->passage)) != GB_MAP_NONE;
    if (!query || !passage) {
        counts->skipped++;
        counts->no_query += !query;
        if (!judging->unknown[0])
            note_unknown(import, judging, line, query);
        return import->params->skip_unknown_qrels ||
               gb_lines_fail(lines, status, judging->hint, "judgement of unknown %s",
                             judging->unknown);
    }
    char *key = gb_format(status, "%s\t%s", line->query, line->passage);
    if (!key)
        return false;
    uint32_t grade = (uint32_t)(line->grade + GB_MOST_GRADE);
    uint32_t before = gb_map_get(judging->pairs, key, strlen(key));
    bool ok = gb_map_set(judging->pairs, key, strlen(key), grade, status) &&
              gb_map_set(judging->queries, line->query, strlen(line->query), 1, status);
    free(key);
    if (!ok)
        return false;
    if (before != GB_MAP_NONE && before != grade)
        return gb_lines_fail(lines, status, "keep one of the two",
                             "a second, different grade for"
                             " query \"%.80s\", passage \"%.80s\"",
                             line->query, line->passage);
    if (before != GB_MAP_NONE) {
        counts->repeated++;
        return true;
    }
    write_judgement(gb_out_stream(judging->out), line, counts);
    return true;
}

bool data_import_judge_close(gb_import *import, gb_import_judging *judging, bool ok,
                             gb_status *status)
{
    gb_qrels_counts *counts = &judging->counts;
    if (ok) {
        counts->queries = (uint32_t)gb_map_count(judging->queries);
        data_import_split_done(import, judging->split, counts);
        if (counts->skipped)
            data_import_note(import,
                             "split %s: %llu judgements left out, %llu of passages and %llu of "
                             "queries that the collection does not have, the first of %s",
                             judging->split, (unsigned long long)counts->skipped,
                             (unsigned long long)(counts->skipped - counts->no_query),
                             (unsigned long long)counts->no_query, judging->unknown);
    }
    gb_map_destroy(judging->pairs);
    gb_map_destroy(judging->queries);
    free(judging->split);
    gb_out *out = judging->out;
    *judging = (gb_import_judging){0};
    if (ok)
        return gb_out_commit(out, status);
    gb_out_abandon(out);
    return false;
}

bool data_import_qrels(gb_import *import, const char *path, const char *split, gb_status *status)
{
    gb_import_judging judging = {0};
    gb_lines *lines = data_import_open(import, path, status);
    gb_qrel_line line = {0};
    int got = lines && data_import_judge_open(import, split, &judging, status) ? 1 : -1;
    while (got == 1 && (got = data_qrel_next(lines, &line, status)) == 1)
        if (!data_import_judge(import, lines, &judging, &line, status))
            got = -1;
    if (got == 0 && judging.counts.judgements == 0) {
        if (judging.counts.skipped)
            gb_fail(status, GB_DATA, path, judging.hint,
                    "no judgement is of a query and a passage of the collection; the first is of "
                    "unknown %s",
                    judging.unknown);
        else
            gb_fail(status, GB_DATA, path, "expected lines of query-id, corpus-id, score",
                    "no judgements");
        got = -1;
    }
    gb_lines_close(lines);
    return data_import_judge_close(import, &judging, got == 0, status);
}

/* ---- making a training split ---- */

/* For each judged query (numbered by first appearance) whether it goes to train. */
typedef struct halves {
    gb_map *queries; /* id -> number */
    bool *train;     /* [queries] */
} halves;

/* Number the queries of a copied file. */
static bool number_queries(const char *path, gb_map *queries, gb_status *status)
{
    gb_lines *lines = gb_lines_open(path, status);
    if (!lines)
        return false;
    gb_qrel_line line = {0};
    int got;
    while ((got = data_qrel_next(lines, &line, status)) == 1) {
        size_t length = strlen(line.query);
        if (gb_map_get(queries, line.query, length) == GB_MAP_NONE &&
            !gb_map_set(queries, line.query, length, (uint32_t)gb_map_count(queries), status)) {
            got = -1;
            break;
        }
    }
    gb_lines_close(lines);
    return got == 0;
}

static bool draw_halves(const gb_import *import, const char *path, halves *half, gb_status *status)
{
    half->queries = gb_map_create(status);
    if (!half->queries || !number_queries(path, half->queries, status))
        return false;
    uint32_t count = (uint32_t)gb_map_count(half->queries);
    gb_rng rng = gb_rng_make(import->params->seed, GB_RNG_SPLIT, 0, 0);
    return (half->train = gb_rng_choose(&rng, count, count / 2, status)) != NULL;
}

/* Write the judgements of one half as a split of its own. */
static bool write_half(gb_import *import, const char *path, const char *split, const halves *half,
                       bool train, gb_status *status)
{
    gb_lines *lines = gb_lines_open(path, status);
    gb_out *out = lines ? data_import_split_open(import, split, status) : NULL;
    gb_qrel_line line = {0};
    gb_qrels_counts counts = {0};
    int got = out ? 1 : -1;
    while (got == 1 && (got = data_qrel_next(lines, &line, status)) == 1) {
        uint32_t query = gb_map_get(half->queries, line.query, strlen(line.query));
        if (half->train[query] == train)
            write_judgement(gb_out_stream(out), &line, &counts);
    }
    gb_lines_close(lines);
    if (got != 0) {
        gb_out_abandon(out);
        return false;
    }
    uint32_t all = (uint32_t)gb_map_count(half->queries);
    counts.queries = train ? all / 2 : all - all / 2;
    data_import_split_done(import, split, &counts);
    return gb_out_commit(out, status);
}

/* The split to halve: dev (test then stays clean), else test, else the first. NULL: nothing to do.
 */
static const char *split_to_halve(const gb_import *import)
{
    static const char *const names[] = {"dev", "test"};
    if (json_object_get(import->splits, "train"))
        return NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_object_get(import->splits, names[i]))
            return names[i];
    return json_object_iter_key(json_object_iter(import->splits));
}

bool data_import_make_train(gb_import *import, gb_status *status)
{
    char split[80];
    const char *found = split_to_halve(import);
    if (!found)
        return true;
    snprintf(split, sizeof split, "%s", found);
    char *path = gb_format(status, "%s/qrels/%s.tsv", import->dir, split);
    halves half = {0};
    bool ok = path && draw_halves(import, path, &half, status);
    if (ok && gb_map_count(half.queries) >= 2) {
        bool whole_stays = strcmp(split, "dev") != 0;
        ok = write_half(import, path, "train", &half, true, status) &&
             write_half(import, path, "dev", &half, false, status);
        data_import_note(
            import, "no training split: half of the queries of %s (seed %llu) became train, %s",
            split, (unsigned long long)import->params->seed,
            whole_stays ? "the other half dev; the whole split is not measured, as it holds the "
                          "training queries"
                        : "the other half is dev now");
    }
    gb_map_destroy(half.queries);
    free(half.train);
    free(path);
    return ok;
}
