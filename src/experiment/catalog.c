/* What a store holds, in words: what each artifact is, which tables use it, and what was made of
 * it. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

#define DEEPEST 30 /* inputs of inputs; a chain of artifacts has no circles */

struct gb_catalog {
    gb_store *store;      /* borrowed */
    json_t *runs;         /* name -> run.json */
    json_t *users;        /* name -> names of the artifacts made of it */
    json_t *rows;         /* name of an evaluation -> objects of table, scale, row, seed */
    json_t *tables;       /* name -> tables that need it, as an object with their names as keys */
    const char **by_date; /* names, the oldest first; of runs */
    size_t count;         /* names */
    char *unread;         /* names of artifacts that cannot be read, a line each, or NULL */
};

/* ---- what an artifact is ---- */

/* How an artifact of a kind is described: a word, its settings that tell it from others, and the
 * input that is described behind it. */
typedef struct kind_words {
    const char *kind, *word; /* as in run.json; as people say */
    const char *settings[3]; /* names */
    const char *of;          /* role of an input, or NULL */
} kind_words;

static const kind_words known_kinds[] = {
    {"collection", "collection", {"set"}, NULL},
    {"vocabulary", "vocabulary", {"size"}, "collection"},
    {"tokens", "tokens", {NULL}, "collection"},
    {"pretrain", "encoder", {"objective", "context"}, NULL},
    {"finetune", "retriever", {"scoring", "loss"}, "init"},
    {"finetune-cross", "cross-encoder", {"loss"}, "init"},
    {"index", "index", {NULL}, "model"},
    {"bm25-run", "BM25's run", {"split"}, "collection"},
    {"mine", "run", {"split"}, "model"},
    {"pseudo-labels", "labels", {NULL}, "run"},
    {"rerank", "run by a cross-encoder", {NULL}, "model"},
    {"evaluate", "evaluation", {NULL}, "model"},
    {"efficiency", "cost", {"objective"}, "of"},
    {"generate", "queries written", {NULL}, "model"},
    {"train-generator", "generator", {"target"}, "collection"},
    {"queries", "queries", {"generator"}, "collection"},
};

/* A kind that is not known is described by its own name and its most telling input. */
static kind_words words_of(const json_t *run)
{
    static const char *const roles[] = {"model", "init", "tokens", "collection"};
    const char *kind = gb_json_text(run, "kind");
    for (size_t i = 0; i < sizeof known_kinds / sizeof *known_kinds; i++)
        if (!strcmp(known_kinds[i].kind, kind))
            return known_kinds[i];
    kind_words words = {.kind = kind, .word = kind, .settings = {"objective", "split"}};
    for (size_t i = 0; !words.of && i < sizeof roles / sizeof *roles; i++)
        if (json_object_get(json_object_get(run, "inputs"), roles[i]))
            words.of = roles[i];
    return words;
}

/* The name of an input, the first of several; "" where there is none. */
static const char *input_name(const json_t *run, const char *role)
{
    json_t *input = role ? json_object_get(json_object_get(run, "inputs"), role) : NULL;
    if (json_is_array(input))
        input = json_array_get(input, 0);
    const char *name = json_string_value(input);
    return name ? name : "";
}

/* Adds a word of the brackets behind the first word; *count words are there. */
static void add_word(gb_text *out, int *count, const char *word)
{
    gb_text_printf(out, "%s%s", (*count)++ ? ", " : " (", word);
}

static void add_setting(const json_t *value, gb_text *out, int *count)
{
    char number[GB_JSON_NUMBER];
    const char *word = gb_json_id(value, number);
    if (word && strcmp(word, "none") != 0)
        add_word(out, count, word);
}

/* Who found the negatives, by the kind of the artifact, which its name begins with. */
static const char *negatives_word(const char *artifact)
{
    static const char *const words[][2] = {{"mine-", "mined negatives"},
                                           {"bm25-run-", "BM25's negatives"},
                                           {"rerank-", "reranked negatives"},
                                           {"negatives-", "negatives of a file"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strncmp(artifact, words[i][0], strlen(words[i][0])))
            return words[i][1];
    return "negatives of a run";
}

/* "(cotmae, query)": settings, who found the negatives, BM25 where there is no model. */
static void describe_settings(const json_t *run, const kind_words *words, gb_text *out)
{
    json_t *given = gb_artifact_given(run); /* a default tells nothing */
    const char *negatives = input_name(run, "negatives");
    int count = 0;
    for (size_t i = 0; i < sizeof words->settings / sizeof *words->settings; i++)
        if (words->settings[i])
            add_setting(json_object_get(given, words->settings[i]), out, &count);
    if (*negatives)
        add_word(out, &count, negatives_word(negatives));
    if (json_is_true(json_object_get(given, "bm25")))
        add_word(out, &count, "BM25");
    if (count)
        gb_text_printf(out, ")");
    json_decref(given);
}

static void describe(const gb_catalog *catalog, const json_t *run, int depth, gb_text *out)
{
    kind_words words = words_of(run);
    if (!strcmp(gb_json_text(json_object_get(run, "settings"), "objective"), "none")) {
        gb_text_printf(out, "random %s", words.word);
        return;
    }
    gb_text_printf(out, "%s", words.word);
    describe_settings(run, &words, out);
    const char *of = input_name(run, words.of);
    const json_t *input = json_object_get(catalog->runs, of);
    if (input && depth < DEEPEST) {
        gb_text_printf(out, " of ");
        describe(catalog, input, depth + 1, out);
    } else if (*of) {
        gb_text_printf(out, " of a %s that is not in this store",
                       !strcmp(words.of, "init") ? "model" : words.of);
    }
}

/* The seed of an artifact, or that of what it is made of; 0 characters where there is none. */
static void seed_of(const gb_catalog *catalog, const json_t *run, int depth, char seed[24])
{
    const json_t *own = json_object_get(json_object_get(run, "settings"), "seed");
    const json_t *input = json_object_get(catalog->runs, input_name(run, words_of(run).of));
    if (json_is_integer(own))
        snprintf(seed, 24, "%lld", (long long)json_integer_value(own));
    else if (input && depth < DEEPEST)
        seed_of(catalog, input, depth + 1, seed);
}

static const char *date_of(const json_t *run)
{
    return gb_json_text(json_object_get(run, "times"), "finished");
}

static uint64_t bytes_of(const json_t *run)
{
    uint64_t bytes = 0;
    const char *file;
    json_t *entry;
    json_object_foreach(json_object_get(run, "outputs"), file, entry) bytes +=
        (uint64_t)json_integer_value(json_object_get(entry, "bytes"));
    return bytes;
}

/* ---- reading ---- */

/* Appends to the array of a key. */
static bool append(json_t *object, const char *key, json_t *value, gb_status *status)
{
    json_t *list = json_object_get(object, key);
    if (!list)
        json_object_set_new(object, key, list = json_array());
    return json_array_append_new(list, value) == 0 || gb_fail_memory(status, "reading the store");
}

static bool add_users(gb_catalog *catalog, const char *name, const json_t *input, gb_status *status)
{
    bool ok = true;
    size_t i;
    json_t *one;
    json_array_foreach(input, i, one) ok = ok && add_users(catalog, name, one, status);
    const char *text = json_string_value(input);
    return ok && (!text || append(catalog->users, text, json_string(name), status));
}

static bool take(void *self, const char *name, const char *path, const json_t *run,
                 gb_status *status)
{
    (void)path;
    gb_catalog *catalog = self;
    if (!run) {
        char *more = gb_format(status, "%s%s\n", catalog->unread ? catalog->unread : "", name);
        free(catalog->unread);
        catalog->unread = more;
        return more != NULL;
    }
    bool ok = json_object_set(catalog->runs, name, (json_t *)run) == 0 ||
              gb_fail_memory(status, "reading the store");
    const char *role;
    json_t *input;
    json_object_foreach(json_object_get(run, "inputs"), role, input) ok =
        ok && add_users(catalog, name, input, status);
    return ok;
}

static bool sort_by_date(gb_catalog *catalog, gb_status *status)
{
    size_t count = json_object_size(catalog->runs);
    catalog->by_date = gb_alloc(count + 1, sizeof *catalog->by_date, status);
    if (!catalog->by_date)
        return false;
    const char *name;
    json_t *run;
    json_object_foreach(catalog->runs, name, run)
    {
        size_t at = catalog->count++; /* mostly they come in no order, and are few thousands */
        for (; at && strcmp(date_of(json_object_get(catalog->runs, catalog->by_date[at - 1])),
                            date_of(run)) > 0;
             at--)
            catalog->by_date[at] = catalog->by_date[at - 1];
        catalog->by_date[at] = name;
    }
    return true;
}

/* Notes that a table needs an artifact, and all that it is made of. */
static void need(gb_catalog *catalog, const char *table, const json_t *input, int depth)
{
    size_t i;
    json_t *one;
    json_array_foreach(input, i, one) need(catalog, table, one, depth);
    const char *name = json_string_value(input), *role;
    const json_t *run = name ? json_object_get(catalog->runs, name) : NULL;
    if (!run || depth >= DEEPEST)
        return;
    json_t *tables = json_object_get(catalog->tables, name);
    if (json_object_get(tables, table))
        return;
    if (!tables)
        json_object_set_new(catalog->tables, name, tables = json_object());
    json_object_set_new(tables, table, json_true());
    json_object_foreach(json_object_get(run, "inputs"), role, one)
        need(catalog, table, one, depth + 1);
}

/* Rows as gb_catalog_note left them: {"table", "scale", "rows": {ROW: {SEED: NAME}}}. */
static bool take_rows(void *self, const json_t *noted, gb_status *status)
{
    gb_catalog *catalog = self;
    const char *table = gb_json_text(noted, "table"), *row, *seed;
    json_t *seeds, *evaluation;
    bool ok = true;
    json_object_foreach(json_object_get(noted, "rows"), row, seeds)
    {
        json_object_foreach(seeds, seed, evaluation)
        {
            const char *which = json_string_value(evaluation);
            if (!which || !ok)
                continue;
            ok = append(catalog->rows, which,
                        json_pack("{s:s, s:s, s:s, s:s}", "table", table, "scale",
                                  gb_json_text(noted, "scale"), "row", row, "seed", seed),
                        status);
            need(catalog, table, evaluation, 0);
        }
    }
    return ok;
}

gb_catalog *gb_catalog_read(gb_store *store, gb_status *status)
{
    gb_catalog *catalog = gb_alloc(1, sizeof *catalog, status);
    if (!catalog)
        return NULL;
    catalog->store = store;
    bool ok = (catalog->runs = json_object()) && (catalog->users = json_object()) &&
              (catalog->rows = json_object()) && (catalog->tables = json_object());
    ok = (ok || gb_fail_memory(status, "reading the store")) &&
         gb_store_each(store, take, catalog, status) && sort_by_date(catalog, status) &&
         experiment_each_note(gb_store_root(store), take_rows, catalog, status);
    if (ok)
        return catalog;
    gb_catalog_free(catalog);
    return NULL;
}

void gb_catalog_free(gb_catalog *catalog)
{
    if (!catalog)
        return;
    json_decref(catalog->runs);
    json_decref(catalog->users);
    json_decref(catalog->rows);
    json_decref(catalog->tables);
    free(catalog->by_date);
    free(catalog->unread);
    free(catalog);
}

/* ---- printing ---- */

void gb_print_bytes(FILE *out, uint64_t bytes)
{
    static const char units[] = "BKMGTP";
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1000 && unit < 5; unit++)
        value /= 1024;
    fprintf(out, "%6.*f %c", unit && value < 100 ? 1 : 0, value, units[unit]);
}

/* The rows that an artifact is, or else the tables that need it: " [a, b]". */
static void print_needed(const gb_catalog *catalog, const char *name, FILE *out)
{
    json_t *rows = json_object_get(catalog->rows, name),
           *tables = json_object_get(catalog->tables, name), *one;
    const char *table, *before = " [";
    size_t i;
    json_array_foreach(rows, i, one)
    {
        fprintf(out, "%s%s: %s", before, gb_json_text(one, "table"), gb_json_text(one, "row"));
        before = "; ";
    }
    json_object_foreach(rows ? NULL : tables, table, one)
    {
        fprintf(out, "%s%s", before, table);
        before = "; ";
    }
    fprintf(out, "%s", *before == ';' ? "]" : "");
}

/* What an artifact is, and for what. */
static void print_what(const gb_catalog *catalog, const char *name, FILE *out)
{
    const json_t *run = json_object_get(catalog->runs, name);
    gb_text what = {0};
    if (run)
        describe(catalog, run, 0, &what);
    fprintf(out, "%s", run && what.data ? what.data : "not in this store");
    gb_text_free(&what);
    print_needed(catalog, name, out);
    fprintf(out, "\n");
}

static void print_line(const gb_catalog *catalog, const char *name, FILE *out)
{
    const json_t *run = json_object_get(catalog->runs, name);
    char seed[24] = "-";
    seed_of(catalog, run, 0, seed);
    gb_print_bytes(out, bytes_of(run));
    fprintf(out, "  %-16.16s  %4s  %7zu  %-40s  ", date_of(run), seed,
            json_array_size(json_object_get(catalog->users, name)), name);
    print_what(catalog, name, out);
}

void gb_catalog_print(const gb_catalog *catalog, FILE *out)
{
    if (catalog->count)
        fprintf(out, "%8s  %-16s  %4s  %7s  %-40s  %s\n", "SIZE", "FINISHED", "SEED", "USED BY",
                "ARTIFACT", "WHAT IT IS [TABLES THAT NEED IT]");
    for (size_t i = 0; i < catalog->count; i++)
        print_line(catalog, catalog->by_date[i], out);
    for (const char *at = catalog->unread; at && *at; at = strchr(at, '\n') + 1)
        fprintf(out, "UNREADABLE %.*s (gabbro store verify says why)\n", (int)strcspn(at, "\n"),
                at);
}

static void print_names(const gb_catalog *catalog, const char *title, const json_t *names,
                        FILE *out)
{
    size_t i;
    json_t *name;
    if (json_array_size(names))
        fprintf(out, "\n%s\n", title);
    json_array_foreach(names, i, name)
    {
        fprintf(out, "  %-40s  ", json_string_value(name));
        print_what(catalog, json_string_value(name), out);
    }
}

static void print_values(const char *title, json_t *object, FILE *out)
{
    const char *name;
    json_t *value;
    if (json_object_size(object))
        fprintf(out, "\n%s\n", title);
    json_object_foreach(object, name, value)
    {
        char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        if (text && strcmp(text, "null") != 0)
            fprintf(out, "  %-24s %s\n", name, text);
        free(text);
    }
}

static void print_inputs(const gb_catalog *catalog, const json_t *run, FILE *out)
{
    json_t *names = json_array(), *input, *one;
    const char *role;
    size_t i;
    json_object_foreach(json_object_get(run, "inputs"), role, input)
    {
        if (json_is_string(input))
            json_array_append(names, input);
        json_array_foreach(input, i, one) json_array_append(names, one);
    }
    print_names(catalog, "Made from", names, out);
    json_decref(names);
}

bool gb_catalog_show(const gb_catalog *catalog, const char *text, FILE *out, gb_status *status)
{
    char *path = gb_store_find(catalog->store, text, status);
    const char *name = path ? strrchr(path, '/') + 1 : "";
    const json_t *run = json_object_get(catalog->runs, name);
    if (path && !run)
        gb_fail(status, GB_DATA, path, "gabbro store verify says what is damaged",
                "the artifact cannot be read");
    if (run) {
        char seed[24] = "-";
        seed_of(catalog, run, 0, seed);
        print_what(catalog, name, out);
        fprintf(out, "\n  folder    %s\n  finished  %s\n  seed      %s\n  size    ", path,
                date_of(run), seed);
        gb_print_bytes(out, bytes_of(run));
        fprintf(out, "\n");
        const json_t *rows = json_object_get(catalog->rows, name), *row;
        size_t i;
        json_array_foreach(rows, i, row) fprintf(
            out, "  row       %s of %s, scale %s, seed %s\n", gb_json_text(row, "row"),
            gb_json_text(row, "table"), gb_json_text(row, "scale"), gb_json_text(row, "seed"));
        print_values("Settings", json_object_get(run, "settings"), out);
        print_values("Facts", json_object_get(run, "facts"), out);
        print_inputs(catalog, run, out);
        print_names(catalog, "Used by", json_object_get(catalog->users, name), out);
    }
    free(path);
    return run != NULL;
}
