/* Collections out of training files: queries, positives as judgements, and passages where there is
 * no corpus of their own. */
#include "data/import.h"
#include "data/training.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *const gb_split_names[3] = {"train", "dev", "test"};

bool data_import_has_word(const char *name, const char *word)
{
    const char *slash = strrchr(name, '/'), *start = slash ? slash + 1 : name;
    size_t length = strlen(word);
    for (const char *at = start; (at = strstr(at, word)) != NULL; at++)
        if ((at == start || !isalpha((unsigned char)at[-1])) && !isalpha((unsigned char)at[length]))
            return true;
    return false;
}

gb_named_split data_import_named_split(const char *name)
{
    if (data_import_has_word(name, "train"))
        return GB_SPLIT_TRAIN;
    if (data_import_has_word(name, "dev") || data_import_has_word(name, "valid") ||
        data_import_has_word(name, "validation"))
        return GB_SPLIT_DEV;
    return data_import_has_word(name, "test") ? GB_SPLIT_TEST : GB_SPLIT_TRAIN;
}

/* Number of a key in a map, given now if it is new. */
static bool numbered(gb_map **map, const char *a, const char *b, uint32_t next, uint32_t *number,
                     gb_status *status)
{
    if (!*map && !(*map = gb_map_create(status)))
        return false;
    char *key = gb_format(status, "%s\t%s", a, b);
    if (!key)
        return false;
    *number = gb_map_get(*map, key, strlen(key));
    bool ok = true;
    if (*number == GB_MAP_NONE) {
        *number = next;
        ok = gb_map_set(*map, key, strlen(key), next, status);
    }
    free(key);
    return ok;
}

bool data_import_question(gb_import *import, gb_named_split split, const char *text, char id[40],
                          bool *known, gb_status *status)
{
    uint32_t number, next = import->numbered[split];
    if (!numbered(&import->questions, gb_split_names[split], text, next, &number, status))
        return false;
    *known = number != next;
    import->numbered[split] += !*known;
    snprintf(id, 40, "%s-%u", gb_split_names[split], number);
    return true;
}

/* What a file is read into. */
typedef struct reading {
    gb_import *import;         /* the collection */
    gb_lines *lines;           /* the file */
    gb_named_split split;      /* of the file */
    bool own;                  /* no corpus: the passages are those of the file */
    uint32_t given;            /* queries that were there before all training files */
    gb_import_judging judging; /* of the split */
    uint64_t other_texts;      /* times that a known id of a passage stood with another text */
} reading;

/* Whether an id stands with the text that it had the first time, if there was one. */
static bool same_text(gb_import *import, const char *kind, const char *id, const char *text,
                      bool *same, gb_status *status)
{
    char hex[GB_HASH_SIZE];
    uint32_t known, fingerprint;
    gb_hash_bytes(text, strlen(text), hex);
    hex[7] = '\0'; /* 28 bits: none is GB_MAP_NONE */
    fingerprint = (uint32_t)strtoul(hex, NULL, 16);
    if (!numbered(&import->id_texts, kind, id, fingerprint, &known, status))
        return false;
    *same = known == fingerprint;
    return true;
}

bool data_import_same_query(gb_import *import, const gb_lines *lines, const char *id,
                            const char *text, gb_status *status)
{
    bool same;
    return same_text(import, "query", id, text, &same, status) &&
           (same || gb_lines_fail(lines, status, "give each file's queries ids of their own",
                                  "query \"%.80s\" was there before, with another text", id));
}

/* Id of a passage, which joins the collection where the file brings the passages. */
static const char *passage_id(reading *r, const training_passage *passage, char made[40],
                              gb_status *status)
{
    gb_import *import = r->import;
    const char *id = passage->id;
    if (!id && !r->own) {
        gb_lines_fail(r->lines, status, "import the training file alone",
                      "a passage without id cannot be found in the corpus");
        return NULL;
    }
    if (!id) {
        uint32_t number, next = import->own_texts ? (uint32_t)gb_map_count(import->own_texts) : 0;
        if (!numbered(&import->own_texts, passage->title, passage->text, next, &number, status))
            return NULL;
        snprintf(made, 40, "p%u", number);
        id = made;
    }
    bool known = gb_map_get(import->passage_map, id, strlen(id)) != GB_MAP_NONE;
    bool same = true;
    if (r->own && passage->id && passage->text &&
        !same_text(import, "passage", id, passage->text, &same, status))
        return NULL;
    r->other_texts += !same;
    if (known || !r->own || !passage->text)
        return id;
    return data_import_passage(import, r->lines, id, passage->title, passage->text, GB_MAP_NONE,
                               status)
               ? id
               : NULL;
}

/* Id of the query, which joins the collection. */
static const char *query_id(reading *r, const training_example *e, char made[40], gb_status *status)
{
    const char *id = e->query_id;
    bool known;
    if (!id && !data_import_question(r->import, r->split, e->query, made, &known, status))
        return NULL;
    if (!id)
        id = made;
    uint32_t row = gb_map_get(r->import->query_map, id, strlen(id));
    if (e->query_id && e->query && row >= r->given &&
        !data_import_same_query(r->import, r->lines, id, e->query, status))
        return NULL;
    if (row != GB_MAP_NONE)
        return id;
    if (!e->query) {
        gb_lines_fail(r->lines, status, "give the file of queries with their texts",
                      "query \"%.80s\" has no text", id);
        return NULL;
    }
    return data_import_query(r->import, r->lines, id, e->query, status) &&
                   (!e->answer_count || data_import_answers(r->import, r->lines, id, e->answers,
                                                            e->answer_count, status))
               ? id
               : NULL;
}

static bool take_example(reading *r, const training_example *e, gb_status *status)
{
    char made_query[40], made[40];
    const char *query = query_id(r, e, made_query, status);
    for (size_t i = 0; query && i < e->positives.count; i++) {
        const char *id = passage_id(r, &e->positives.items[i], made, status);
        gb_qrel_line line = {.query = query, .passage = id, .grade = 1};
        if (!id || !data_import_judge(r->import, r->lines, &r->judging, &line, status))
            return false;
    }
    for (size_t i = 0; query && r->own && i < e->negatives.count; i++)
        if (!passage_id(r, &e->negatives.items[i], made, status))
            return false;
    return query != NULL;
}

static bool read_file(reading *r, const char *path, gb_status *status)
{
    r->lines = data_import_open(r->import, path, status);
    training_file *file = r->lines ? data_training_open(r->lines, path, status) : NULL;
    const training_example *example;
    int got = file ? 1 : -1;
    while (got == 1 && (got = data_training_next(file, &example, status)) == 1)
        if (!take_example(r, example, status))
            got = -1;
    data_training_close(file);
    gb_lines_close(r->lines);
    return got == 0;
}

/* The training files of a folder. */
static bool list_files(const char *folder, gb_entries *list, gb_status *status)
{
    if (!data_import_list(folder, list, status))
        return false;
    size_t kept = 0;
    bool ok = true;
    for (size_t i = 0; i < list->count; i++) {
        char *name = list->names[i], *path = ok ? gb_path_join(status, folder, name) : NULL;
        gb_file_kind kind = GB_FILE_OTHER;
        bool json = data_import_ends(name, ".json") || data_import_ends(name, ".jsonl");
        ok = path && (!json || data_import_kind(path, &kind, status));
        free(path);
        if (kind == GB_FILE_TRAINING)
            list->names[kept++] = name;
        else
            free(name);
    }
    list->count = kept;
    return ok;
}

/* All files of one split. */
static bool read_split(reading *r, const char *folder, const gb_entries *list, gb_named_split split,
                       gb_status *status)
{
    r->split = split;
    r->judging = (gb_import_judging){0};
    bool ok = data_import_judge_open(r->import, gb_split_names[split], &r->judging, status);
    for (size_t i = 0; ok && i < list->count; i++) {
        if (data_import_named_split(list->names[i]) != split)
            continue;
        char *path = *folder ? gb_path_join(status, folder, list->names[i])
                             : gb_strdup(list->names[i], status);
        ok = path && read_file(r, path, status);
        free(path);
    }
    if (ok && !r->judging.counts.judgements)
        ok = gb_fail(status, GB_DATA, r->import->params->path,
                     "training files name positive passages",
                     "no query of split %s has a positive passage", gb_split_names[split]);
    return data_import_judge_close(r->import, &r->judging, ok, status);
}

bool data_import_training(gb_import *import, const char *path, bool *found, gb_status *status)
{
    bool folder = gb_dir_exists(path), ok;
    reading r = {.import = import, .own = import->passages == 0, .given = import->queries};
    gb_entries list = {0};
    if (folder) {
        ok = list_files(path, &list, status);
    } else {
        ok = gb_grow(&list.names, &list.capacity, 1, sizeof *list.names, status) &&
             (list.names[0] = gb_strdup(path, status)) != NULL;
        list.count = ok;
    }
    *found = list.count > 0;
    if (r.own) {
        import->kind = "training files";
        import->structure = "none: each passage is its own document";
    }
    for (int split = 0; ok && split < 3; split++) {
        bool any = false;
        for (size_t i = 0; i < list.count; i++)
            any = any || (int)data_import_named_split(list.names[i]) == split;
        ok = !any || read_split(&r, folder ? path : "", &list, (gb_named_split)split, status);
    }
    gb_entries_free(&list);
    if (ok && r.other_texts) {
        data_import_note(import,
                         "ids of passages that stand with another text than the first time, which "
                         "stays: %llu",
                         (unsigned long long)r.other_texts);
        gb_log(GB_LOG_WARN,
               "%s: ids of passages that stand with another text than the first time, which stays: "
               "%llu",
               path, (unsigned long long)r.other_texts);
    }
    return ok && (!r.own || !*found || data_import_corpus_done(import, path, status));
}
