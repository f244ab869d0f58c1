/* RocketQA's copy of MS MARCO: para.txt (id, text), para.title.txt (id, title),
 * <split>.query.txt, qrels.<split>.tsv. Titles and texts are in the same order, but some
 * passages have no line of title. */
#include "data/import.h"

#include <stdlib.h>
#include <string.h>

/* A file of an id, a tab and a text a line. */
typedef struct pairs {
    gb_lines *lines; /* open, or NULL */
    char *id, *text; /* of the line; id NULL: none left */
} pairs;

static bool next_pair(pairs *p, gb_status *status)
{
    char *line;
    size_t length;
    int got = p->lines ? gb_lines_next_text(p->lines, &line, &length, status) : 0;
    p->id = NULL;
    if (got != 1)
        return got == 0;
    char *tab = strchr(line, '\t');
    if (!tab)
        return gb_lines_fail(p->lines, status, "expected id, text with a tab between",
                             "line without a tab");
    *tab = '\0';
    p->id = line;
    p->text = tab + 1;
    return true;
}

static bool open_pairs(gb_import *import, const char *folder, const char *name, pairs *p,
                       gb_status *status)
{
    char *path;
    if (!gb_unpack_find(folder, name, &path, status))
        return false;
    bool ok = !path || (p->lines = data_import_open(import, path, status)) != NULL;
    free(path);
    return ok;
}

static bool read_passages(gb_import *import, const char *folder, gb_status *status)
{
    pairs texts = {0}, titles = {0};
    bool ok = open_pairs(import, folder, "para.txt", &texts, status) &&
              open_pairs(import, folder, "para.title.txt", &titles, status) &&
              next_pair(&titles, status);
    while (ok && (ok = next_pair(&texts, status)) && texts.id) {
        bool titled = titles.id && !strcmp(titles.id, texts.id);
        ok = data_import_passage(import, texts.lines, texts.id, titled ? titles.text : "",
                                 texts.text, GB_MAP_NONE, status) &&
             (!titled || next_pair(&titles, status));
    }
    if (ok && titles.id)
        ok = gb_lines_fail(titles.lines, status, "both files must be of one release, unsorted",
                           "a title of passage \"%.80s\", which para.txt does not have here",
                           titles.id);
    gb_lines_close(texts.lines);
    gb_lines_close(titles.lines);
    return ok && data_import_corpus_done(import, folder, status);
}

static bool read_queries(gb_import *import, const char *folder, const char *name, gb_status *status)
{
    pairs queries = {0};
    bool ok = open_pairs(import, folder, name, &queries, status);
    while (ok && (ok = next_pair(&queries, status)) && queries.id)
        ok = data_import_query(import, queries.lines, queries.id, queries.text, status);
    gb_lines_close(queries.lines);
    return ok;
}

bool data_import_rocketqa(gb_import *import, const char *folder, gb_status *status)
{
    static const char *const splits[] = {"train", "dev"};
    import->kind = "MS MARCO by RocketQA";
    import->structure = "none: each passage is its own document";
    bool ok = read_passages(import, folder, status);
    for (size_t i = 0; ok && i < 2; i++) {
        char name[40];
        snprintf(name, sizeof name, "%s.query.txt", splits[i]);
        ok = read_queries(import, folder, name, status);
    }
    return ok && data_import_msmarco_splits(import, folder, status);
}
