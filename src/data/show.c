/* Some documents of a collection with all that is asked about them, as Markdown. */
#include <gabbro/data.h>

#include <stdlib.h>
#include <string.h>

enum { MOST_SPLITS = 64, MOST_OF_A_GRADE = 3 };

typedef struct split {
    const char *name; /* "dev" */
    gb_qrels qrels;   /* sorted by (query, passage) */
    int32_t highest;  /* grade */
} split;

typedef struct show {
    const gb_collection *collection;
    const gb_collection_sample *how;
    FILE *out;
    char *names; /* of the splits, cut at their ends */
    split splits[MOST_SPLITS];
    uint32_t split_count;
    bool *shown; /* [documents], those that are printed */
} show;

static bool read_splits(show *s, gb_status *status)
{
    char *rest = s->names = gb_strdup(s->collection->splits, status);
    bool ok = rest != NULL;
    for (char *name; ok && s->split_count < MOST_SPLITS && (name = strtok_r(rest, " ", &rest));) {
        split *into = &s->splits[s->split_count++];
        into->name = name;
        ok = gb_collection_qrels(s->collection, name, &into->qrels, status);
        for (size_t i = 0; ok && i < into->qrels.count; i++)
            if (into->qrels.rows[i].grade > into->highest)
                into->highest = into->qrels.rows[i].grade;
    }
    return ok;
}

static void print_row(const show *s, const char *before, const gb_row_file *file, uint32_t row,
                      const char *after)
{
    size_t length;
    const char *text = gb_row_file_row(file, row, &length);
    fprintf(s->out, "%s%.*s%s", before, (int)length, text, after);
}

static void print_passage(const show *s, uint32_t passage)
{
    print_row(s, "**", s->collection->passage_ids, passage, "** ");
    size_t length;
    const char *title = gb_row_file_row(s->collection->titles, passage, &length);
    if (length)
        print_row(s, "*", s->collection->titles, passage,
                  strchr(".?!", title[length - 1]) ? "* " : "*. ");
    print_row(s, "", s->collection->texts, passage, "\n");
}

/* Whether a passage is about a question; grade 1 of several: hardly. */
static bool answers(const split *of, const gb_qrel *judged)
{
    return judged->grade >= (of->highest > 1 ? 2 : 1);
}

static void print_questions(const show *s, uint32_t passage)
{
    for (uint32_t i = 0; i < s->split_count; i++) {
        const split *of = &s->splits[i];
        for (size_t q = 0; q < of->qrels.count; q++) {
            const gb_qrel *judged = &of->qrels.rows[q];
            if (judged->passage != passage || !answers(of, judged))
                continue;
            print_row(s, "- asked: *", s->collection->queries, judged->query, "* ");
            if (judged->grade == 1)
                fprintf(s->out, "(%s)\n", of->name);
            else
                fprintf(s->out, "(%s, grade %d)\n", of->name, judged->grade);
        }
    }
}

static void print_generated(const show *s, uint32_t passage)
{
    size_t length = 0;
    const char *at = s->collection->generated
                         ? gb_row_file_row(s->collection->generated, passage, &length)
                         : NULL;
    const char *end = at ? at + length : NULL;
    const char *before = "- generated: ";
    for (uint32_t i = 0; i < s->how->queries && at < end; i++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        fprintf(s->out, "%s*%.*s*", before, (int)(stop - at), at);
        before = " · ";
        at = stop + 1;
    }
    fprintf(s->out, "\n%s", *before == '-' ? "" : "\n");
}

/* Evenly spread ones; where enough of them have questions, of those. */
static bool choose_documents(show *s, gb_status *status)
{
    const gb_collection *c = s->collection;
    uint32_t asked = 0,
             wanted = s->how->documents < c->documents ? s->how->documents : c->documents;
    bool *has = gb_alloc(c->documents, sizeof *has, status);
    s->shown = gb_alloc(c->documents, sizeof *s->shown, status);
    if (!has || !s->shown) {
        free(has);
        return false;
    }
    for (uint32_t i = 0; i < s->split_count; i++)
        for (size_t q = 0; q < s->splits[i].qrels.count; q++)
            if (answers(&s->splits[i], &s->splits[i].qrels.rows[q]))
                has[c->document[s->splits[i].qrels.rows[q].passage]] = true;
    for (uint32_t d = 0; d < c->documents; d++)
        asked += has[d];
    bool all = asked < wanted;
    uint64_t of = all ? c->documents : asked, seen = 0, next = 0;
    for (uint32_t d = 0; d < c->documents && next < wanted; d++) {
        if (!all && !has[d])
            continue;
        s->shown[d] = seen++ == next * of / wanted;
        next += s->shown[d];
    }
    free(has);
    return true;
}

static void print_documents(const show *s)
{
    const gb_collection *c = s->collection;
    for (uint32_t p = 0; p < c->passages; p++) {
        if (!s->shown[c->document[p]])
            continue;
        if (!p || c->document[p - 1] != c->document[p])
            fprintf(s->out, "## Document %u\n\n", c->document[p]);
        print_passage(s, p);
        fprintf(s->out, "\n");
        print_questions(s, p);
        print_generated(s, p);
    }
}

static void print_topic(const show *s, const gb_qrel *judged, size_t count)
{
    print_row(s, "### ", s->collection->queries, judged->query, "\n\n");
    int32_t highest = 0;
    for (size_t i = 0; i < count; i++)
        highest = judged[i].grade > highest ? judged[i].grade : highest;
    for (int32_t grade = highest; grade >= 0; grade--) {
        uint32_t printed = 0, of_grade = 0;
        for (size_t i = 0; i < count; i++)
            of_grade += judged[i].grade == grade;
        for (size_t i = 0; i < count && printed < MOST_OF_A_GRADE; i++) {
            if (judged[i].grade != grade)
                continue;
            fprintf(s->out, "- grade %d: ", grade);
            print_passage(s, judged[i].passage);
            printed++;
        }
        if (of_grade > printed)
            fprintf(s->out, "- grade %d: %u more\n", grade, of_grade - printed);
    }
    fprintf(s->out, "\n");
}

static void print_topics(const show *s)
{
    for (uint32_t i = 0; i < s->split_count; i++) {
        const gb_qrels *qrels = &s->splits[i].qrels;
        if (s->splits[i].highest < 2 || !s->how->topics)
            continue;
        fprintf(s->out, "## Questions of %s with their judgements\n\n", s->splits[i].name);
        size_t start = 0;
        for (uint32_t t = 0; t < s->how->topics && start < qrels->count; t++) {
            size_t end = start;
            while (end < qrels->count && qrels->rows[end].query == qrels->rows[start].query)
                end++;
            print_topic(s, &qrels->rows[start], end - start);
            start = end;
        }
    }
}

bool gb_collection_show(const gb_collection *collection, const gb_collection_sample *how, FILE *out,
                        gb_status *status)
{
    show s = {.collection = collection, .how = how, .out = out};
    bool ok = read_splits(&s, status) && choose_documents(&s, status);
    if (ok) {
        print_documents(&s);
        print_topics(&s);
    }
    for (uint32_t i = 0; i < s.split_count; i++)
        free(s.splits[i].qrels.rows);
    free(s.names);
    free(s.shown);
    return ok;
}
