/* Answers of questions, and which passages hold one (DPR's rules, Karpukhin et al. 2020, as its
 * released evaluation has them). By words, text and answer are decomposed (NFD) and lower-cased;
 * words are runs of letters, numbers and marks, anything else but white space and control
 * characters is a word by itself; an answer is held where its words stand one behind the other.
 * Accents count: only their spelling (composed or not) does not. Answers that are regular
 * expressions (CuratedTREC) are held where they match, see gb_regex. The title of a passage is not
 * looked at. */
#include "answers.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { BETWEEN = 0x1f, FINAL_SIGMA = 0x3c2, SIGMA = 0x3c3 }; /* BETWEEN stands between words */

const char *const gb_answer_rule_names[] = {"given", "words", "regex", NULL};

struct gb_answers {
    gb_answer_rule rule; /* how they are looked for */
    gb_map *first;       /* query row, as 4 bytes -> its place in starts */
    gb_text words;       /* all answers as words, each ended by a NUL; or: */
    gb_regex **regexes;  /* [regex_count] all answers */
    size_t regex_count;  /* of them */
    size_t regex_space;  /* allocated */
    size_t *starts;      /* [count + 1] where the answers of a query start in words or regexes */
    size_t capacity;     /* of starts */
    size_t count;        /* queries */
};

/* ---- words ---- */

static void add_character(gb_text *out, int32_t c)
{
    utf8proc_uint8_t bytes[4];
    c = utf8proc_tolower(c);
    if (c == FINAL_SIGMA) /* lower-casing a whole word tells the two apart by place alone */
        c = SIGMA;
    gb_text_append(out, (const char *)bytes, (size_t)utf8proc_encode_char(c, bytes));
}

/* Words of decomposed characters behind what out holds: BETWEEN before the first, between and
 * behind the last. Returns their number. */
static size_t add_words(const int32_t *characters, size_t count, gb_text *out)
{
    static const char between = BETWEEN;
    size_t words = 0;
    bool inside = false;
    gb_text_append(out, &between, 1);
    for (size_t i = 0; i < count; i++) {
        utf8proc_category_t kind = utf8proc_category(characters[i]);
        bool word = kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_NO;
        bool alone = !word && kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_SO;
        if (inside && !word)
            gb_text_append(out, &between, 1);
        words += (word && !inside) || alone;
        if (word || alone)
            add_character(out, characters[i]);
        if (alone)
            gb_text_append(out, &between, 1);
        inside = word;
    }
    if (inside)
        gb_text_append(out, &between, 1);
    return words;
}

/* Words of UTF-8 text, see add_words; bytes that are no UTF-8 end a word. */
static bool text_words(const char *text, size_t length, gb_text *out, size_t *words,
                       gb_status *status)
{
    char *clean = gb_alloc(length + 1, 1, status);
    if (!clean)
        return false;
    for (size_t at = 0; at < length;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t size = utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                                 (utf8proc_ssize_t)(length - at), &c);
        if (size > 0)
            memcpy(clean + at, text + at, (size_t)size);
        else
            clean[at] = ' ';
        at += size > 0 ? (size_t)size : 1;
    }
    size_t space = 4 * length + 16; /* the longest decomposition of a character */
    utf8proc_int32_t *characters = gb_alloc(space, sizeof *characters, status);
    utf8proc_ssize_t count =
        characters ? utf8proc_decompose((const utf8proc_uint8_t *)clean, (utf8proc_ssize_t)length,
                                        characters, (utf8proc_ssize_t)space,
                                        UTF8PROC_DECOMPOSE | UTF8PROC_STABLE)
                   : -1;
    bool ok = count >= 0 && (size_t)count <= space;
    if (ok)
        *words = add_words(characters, (size_t)count, out);
    else if (characters)
        gb_fail(status, GB_INTERNAL, NULL, NULL, "cannot decompose a text");
    free(characters);
    free(clean);
    return ok && (!out->failed || gb_fail_memory(status, "reading answers"));
}

/* ---- answers ---- */

gb_answers *eval_answers_create(gb_answer_rule rule, gb_status *status)
{
    gb_answers *answers = gb_alloc(1, sizeof *answers, status);
    if (!answers)
        return NULL;
    answers->rule = rule;
    if ((answers->first = gb_map_create(status)) &&
        gb_grow(&answers->starts, &answers->capacity, 1, sizeof *answers->starts, status)) {
        answers->starts[0] = 0;
        return answers;
    }
    gb_answers_destroy(answers);
    return NULL;
}

bool eval_answers_begin(gb_answers *answers, uint32_t query, gb_status *status)
{
    if (!gb_grow(&answers->starts, &answers->capacity, answers->count + 2, sizeof *answers->starts,
                 status) ||
        !gb_map_set(answers->first, (const char *)&query, sizeof query, (uint32_t)answers->count,
                    status))
        return false;
    answers->count++;
    answers->starts[answers->count] = answers->starts[answers->count - 1];
    return true;
}

static bool add_regex(gb_answers *answers, const char *answer, const gb_lines *lines,
                      gb_status *status)
{
    if (!*answer)
        return true;
    if (!gb_grow(&answers->regexes, &answers->regex_space, answers->regex_count + 1,
                 sizeof *answers->regexes, status))
        return false;
    gb_regex *regex = gb_regex_create(answer, strlen(answer), lines, status);
    if (!regex)
        return false;
    answers->regexes[answers->regex_count++] = regex;
    answers->starts[answers->count] = answers->regex_count;
    return true;
}

bool eval_answers_add(gb_answers *answers, const char *answer, const gb_lines *lines,
                      gb_status *status)
{
    size_t start = answers->words.length, words;
    if (answers->rule == GB_ANSWERS_REGEX)
        return add_regex(answers, answer, lines, status);
    if (!text_words(answer, strlen(answer), &answers->words, &words, status))
        return false;
    if (words == 0)
        answers->words.length = start;
    else
        gb_text_append(&answers->words, "", 1);
    answers->starts[answers->count] = answers->words.length;
    return !answers->words.failed || gb_fail_memory(status, "reading answers");
}

static bool add_line(gb_answers *answers, const gb_lines *lines, char *line, gb_names *queries,
                     gb_status *status)
{
    char *field = gb_take_field(&line, "\t");
    uint32_t query;
    if (!gb_names_row(queries, field, strlen(field), &query, status))
        return false;
    if (query == GB_MAP_NONE)
        return gb_lines_fail(lines, status, NULL, "unknown query \"%.80s\"", field);
    if (gb_map_get(answers->first, (const char *)&query, sizeof query) != GB_MAP_NONE)
        return gb_lines_fail(lines, status, "put them on one line",
                             "query \"%.80s\" has two lines of answers", field);
    if (!line)
        return gb_lines_fail(lines, status, "lines are \"query-id<TAB>answer<TAB>answer...\"",
                             "query \"%.80s\" has no answer", field);
    bool ok = eval_answers_begin(answers, query, status);
    while (ok && (field = gb_take_field(&line, "\t")))
        ok = eval_answers_add(answers, field, lines, status);
    return ok;
}

gb_answers *gb_answers_read(const char *path, gb_answer_rule rule, gb_names *queries,
                            gb_status *status)
{
    gb_answers *answers = eval_answers_create(rule, status);
    gb_lines *lines = answers ? gb_lines_open(path, status) : NULL;
    char *line;
    size_t length;
    bool ok = lines != NULL;
    int got = ok ? 1 : -1;
    while (ok && (got = gb_lines_next(lines, &line, &length, status)) == 1)
        ok = length == 0 || add_line(answers, lines, line, queries, status);
    gb_lines_close(lines);
    if (ok && got == 0)
        return answers;
    gb_answers_destroy(answers);
    return NULL;
}

void gb_answers_destroy(gb_answers *answers)
{
    if (!answers)
        return;
    gb_map_destroy(answers->first);
    gb_text_free(&answers->words);
    for (size_t i = 0; i < answers->regex_count; i++)
        gb_regex_destroy(answers->regexes[i]);
    free(answers->regexes);
    free(answers->starts);
    free(answers);
}

/* Is one of the answers of a query among the words? */
static bool holds(const gb_answers *answers, uint32_t place, const gb_text *words)
{
    size_t end = answers->starts[place + 1];
    for (size_t at = answers->starts[place]; at < end;) {
        const char *answer = answers->words.data + at;
        size_t length = strlen(answer);
        if (gb_find_bytes(words->data, words->length, answer, length))
            return true;
        at += length + 1;
    }
    return false;
}

bool gb_answers_hold(const gb_answers *answers, uint32_t query, const char *text, size_t length,
                     bool *held, gb_status *status)
{
    uint32_t place = gb_map_get(answers->first, (const char *)&query, sizeof query);
    gb_text words = {0};
    size_t count;
    *held = false;
    if (place == GB_MAP_NONE || answers->starts[place] == answers->starts[place + 1])
        return true;
    if (answers->rule == GB_ANSWERS_REGEX)
        return gb_regex_search(answers->regexes + answers->starts[place],
                               answers->starts[place + 1] - answers->starts[place], text, length,
                               held, status);
    bool ok = text_words(text, length, &words, &count, status);
    if (ok)
        *held = holds(answers, place, &words);
    gb_text_free(&words);
    return ok;
}

static int by_query_and_passage(const void *a, const void *b)
{
    const gb_qrel *x = a, *y = b;
    if (x->query != y->query)
        return x->query > y->query ? 1 : -1;
    return (x->passage > y->passage) - (x->passage < y->passage);
}

bool gb_answers_of(const gb_collection *collection, gb_names *queries, gb_answers **answers,
                   gb_status *status)
{
    *answers = NULL;
    char *path = gb_path_join(status, collection->path, "answers.tsv");
    bool there = path && gb_file_exists(path);
    if (there)
        *answers = gb_answers_read(
            path, collection->regex_answers ? GB_ANSWERS_REGEX : GB_ANSWERS_WORDS, queries, status);
    bool ok = path && (!there || *answers);
    free(path);
    return ok;
}

bool gb_answers_qrels(const gb_answers *answers, const gb_split *split, const gb_run *run,
                      const gb_row_file *texts, uint32_t depth, gb_qrels *qrels, gb_status *status)
{
    size_t capacity = 0;
    *qrels = (gb_qrels){0};
    bool ok = true, held;
    for (uint32_t q = 0; ok && q < split->count; q++) {
        uint32_t query = split->queries[q];
        if (gb_map_get(answers->first, (const char *)&query, sizeof query) == GB_MAP_NONE)
            continue;
        const gb_run_list *list = gb_run_find(run, query);
        uint32_t count = list ? list->count : 0;
        /* a query without passages stays in the mean: it counts 0 */
        for (uint32_t i = 0; ok && (i < count || i == 0) && i < depth; i++) {
            uint32_t passage = count ? run->hits[list->first + i].passage : 0;
            size_t length;
            const char *text = gb_row_file_row(texts, passage, &length);
            ok = gb_answers_hold(answers, query, text, length, &held, status) &&
                 gb_grow(&qrels->rows, &capacity, qrels->count + 1, sizeof *qrels->rows, status);
            if (ok)
                qrels->rows[qrels->count++] = (gb_qrel){query, passage, held && count};
        }
    }
    if (ok && qrels->count)
        qsort(qrels->rows, qrels->count, sizeof *qrels->rows, by_query_and_passage);
    if (!ok) {
        free(qrels->rows);
        *qrels = (gb_qrels){0};
    }
    return ok;
}
