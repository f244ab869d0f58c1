/* gabbro coverage: which tokens of a text can be read off its [CLS] vector, for models side by
 * side (BoW prediction, Algorithm 1). */
#include "projector.h"

#include <gabbro/figures.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: gabbro coverage --model NAME=MODEL ... --collection STEP --tokens STEP [options]\n"
    "       gabbro coverage --model NAME=MODEL ... --texts FILE [options]\n"
    "       gabbro coverage --model NAME=MODEL ... --text TEXT [options]\n\n"
    "Project the [CLS] vectors of texts to the vocabulary and count how many of a text's own "
    "tokens\n"
    "are among the k best. The first two print the step's folder: coverage.html (curves, texts "
    "with\n"
    "the tokens that each model recovers), coverage.tsv, coverage.json, curve.svg and tokens.svg\n"
    "(and .png). The last prints one text on the terminal.\n";

typedef struct settings {
    step_list models;                       /* paths, once the names are cut off */
    char names[STEP_LIST_MOST][MODEL_NAME]; /* of the models */
    const char *collection, *tokens;        /* steps */
    const char *texts, *text;               /* a file of texts; one text */
    const char *reference;                  /* model whose head is used for all, or NULL */
    const char *projection, *reading;       /* by name */
    uint32_t depth, passages, show;         /* k; sample; texts in the page */
    uint64_t seed;                          /* of the sample */
    bool variants;                          /* the other ways to project too */
} settings;

/* Texts to look at. */
typedef struct texts {
    gb_collection *collection; /* NULL: texts of one's own */
    gb_tokens tokens;          /* of the collection */
    gb_table *own;             /* ids of one's own texts */
    const gb_table *table;     /* ids: either of them */
    uint32_t *rows;            /* [count] of the table */
    uint32_t count;            /* texts */
} texts;

/* Everything counted. */
typedef struct session {
    texts texts;                                                 /* input */
    gb_vocab *vocab;                                             /* of all models */
    char vocab_hash[GB_HASH_SIZE];                               /* its hash */
    uint32_t *top[STEP_LIST_MOST];                               /* [count, depth] of every model */
    gb_coverage *coverage[STEP_LIST_MOST];                       /* means */
    gb_coverage *frequent;                                       /* of one list for all, or NULL */
    bool *rare;                                                  /* [V] tokens, or NULL */
    gb_coverage *variants[STEP_LIST_MOST][GB_COVERAGE_VARIANTS]; /* other projections */
} session;

/* ---- texts ---- */

/* A seeded sample without repeats, in order. */
static bool sample_rows(texts *t, uint32_t all, uint32_t wanted, uint64_t seed, gb_status *status)
{
    gb_rng rng = gb_rng_make(seed, GB_RNG_SPLIT, 0, 0);
    uint32_t *rows = gb_alloc(all, sizeof *rows, status), kept = 0;
    if (!rows)
        return false;
    t->count = wanted && wanted < all ? wanted : all;
    /* Selection sampling (Knuth's algorithm S). */
    for (uint32_t i = 0; i < all && kept < t->count; i++)
        if (gb_rng_below(&rng, all - i) < t->count - kept)
            rows[kept++] = i;
    t->rows = rows;
    return true;
}

static bool open_collection(texts *t, const settings *o, gb_status *status)
{
    bool ok = (t->collection = gb_open_collection(o->collection, status)) &&
              gb_open_tokens(o->tokens, &t->tokens, status);
    t->table = t->tokens.passages;
    if (ok && gb_table_count(t->table) != t->collection->passages)
        return gb_fail(status, GB_DATA, o->tokens, "take the tokens of that collection",
                       "the tokens are of another collection");
    return ok && sample_rows(t, t->collection->passages, o->passages, o->seed, status);
}

static bool add_text(gb_table_writer *writer, const gb_tokenizer *tokenizer, const char *text,
                     size_t length, gb_ids *ids, gb_status *status)
{
    ids->count = 0;
    return gb_tokenize(tokenizer, text, length, ids, status) &&
           gb_table_writer_add(writer, ids->data ? ids->data : (const uint32_t[]){0}, ids->count,
                               status);
}

/* Tokenise one text, or the lines of a file, into the table at `path`. */
static bool make_table(const settings *o, const gb_model_input *model, const char *path,
                       gb_status *status)
{
    gb_tokenizer *tokenizer = gb_tokenizer_create(model->vocab, model->tokenizer, status);
    gb_table_writer *writer = tokenizer ? gb_table_writer_open(path, 4, status) : NULL;
    gb_lines *lines = writer && o->texts ? gb_lines_open(o->texts, status) : NULL;
    gb_ids ids = {0};
    char *line;
    size_t length;
    int got = 0;
    bool ok = writer && (lines || !o->texts);
    if (ok && !o->texts)
        ok = add_text(writer, tokenizer, o->text, strlen(o->text), &ids, status);
    while (ok && lines && (got = gb_lines_next(lines, &line, &length, status)) == 1)
        ok = !length || add_text(writer, tokenizer, line, length, &ids, status);
    ok = ok && got == 0;
    ok = gb_table_writer_end(writer, ok, status);
    gb_lines_close(lines);
    gb_tokenizer_destroy(tokenizer);
    free(ids.data);
    return ok;
}

static bool open_own(texts *t, const settings *o, const gb_model_input *model, const char *path,
                     gb_status *status)
{
    if (!make_table(o, model, path, status) || !(t->own = gb_table_open(path, 4, status)))
        return false;
    t->table = t->own;
    if (!gb_table_count(t->own))
        return gb_fail(status, GB_DATA, o->texts, "one text a line", "no text in the file");
    return sample_rows(t, (uint32_t)gb_table_count(t->own), 0, 0, status);
}

static void close_texts(texts *t)
{
    if (t->tokens.passages)
        gb_tokens_close(&t->tokens);
    gb_collection_close(t->collection);
    gb_table_close(t->own);
    free(t->rows);
}

/* ---- counting ---- */

static uint32_t longest_of(const settings *o, const projector *p)
{
    uint32_t most = p->model.config.max_positions;
    uint32_t made = o->tokens ? gb_step_setting_u32(o->tokens, "passage-tokens") : most;
    return made < most ? made : most;
}

/* All models speak of the same tokens: those of the first. */
static bool same_vocabulary(session *s, projector *p, const char *path, gb_status *status)
{
    char hash[GB_HASH_SIZE];
    if (!gb_vocab_hash(p->model.vocab, hash, status))
        return false;
    if (!s->vocab) {
        memcpy(s->vocab_hash, hash, sizeof hash);
        s->vocab = p->model.vocab;
        p->model.vocab = gb_folder_vocab(p->model.folder, status);
        return p->model.vocab != NULL;
    }
    return !strcmp(s->vocab_hash, hash) ||
           gb_fail(status, GB_USAGE, path, "compare models of one vocabulary",
                   "the model has another vocabulary than the first");
}

/* Which tokens are rare, and how far one list of the most frequent would come. */
static bool count_frequent(session *s, const settings *o, gb_status *status)
{
    enum { RARE = 100 }; /* a passage in so many has it at most */
    const texts *t = &s->texts;
    uint32_t size = gb_vocab_size(s->vocab);
    uint64_t passages = gb_table_count(t->table);
    uint64_t *having = gb_alloc(size, sizeof *having, status); /* passages that have a token */
    uint64_t *last = gb_alloc(size, sizeof *last, status);     /* of them, counted from 1 */
    uint32_t *top = gb_alloc(o->depth, sizeof *top, status);
    bool ok = having && last && top && (s->rare = gb_alloc(size, sizeof *s->rare, status));
    for (uint64_t row = 0; ok && row < passages; row++) {
        size_t length;
        const uint32_t *ids = gb_table_row(t->table, row, &length);
        for (size_t i = 0; i < length; i++)
            if (ids[i] < size && !gb_vocab_is_special(s->vocab, ids[i]) &&
                last[ids[i]] != row + 1) {
                last[ids[i]] = row + 1;
                having[ids[i]]++;
            }
    }
    for (uint32_t id = 0; ok && id < size; id++)
        s->rare[id] = having[id] * RARE <= passages;
    for (uint32_t k = 0; ok && k < o->depth; k++) {
        for (uint32_t id = 0; id < size; id++)
            if (having[id] > having[top[k]])
                top[k] = id;
        having[top[k]] = 0;
    }
    ok = ok && (s->frequent = gb_coverage_create(s->vocab, o->depth, s->rare, status));
    for (uint32_t i = 0; ok && i < t->count; i++) {
        size_t length;
        const uint32_t *ids = gb_table_row(t->table, t->rows[i], &length);
        gb_coverage_add(s->frequent, top, ids, length);
    }
    free(having);
    free(last);
    free(top);
    return ok;
}

/* Best tokens of all texts by a head, and how many of them the texts have. */
static bool project(const session *s, const settings *o, const projector *head, bool full,
                    const float *vectors, uint32_t width, gb_device *device, uint32_t *top,
                    gb_coverage **coverage, gb_status *status)
{
    const texts *t = &s->texts;
    *coverage = gb_coverage_create(s->vocab, o->depth, s->rare, status);
    if (!*coverage ||
        !projector_top(head, full, device, vectors, t->count, width, o->depth, top, status))
        return false;
    for (uint32_t i = 0; i < t->count; i++) {
        size_t length;
        const uint32_t *ids = gb_table_row(t->table, t->rows[i], &length);
        gb_coverage_add(*coverage, top + (size_t)i * o->depth, ids, length);
    }
    return true;
}

/* Own and reference head, bare and full; a head that is not there gives nothing. */
static bool count_variants(session *s, const settings *o, size_t index, const projector *reference,
                           const projector *own, const float *vectors, gb_device *device,
                           gb_status *status)
{
    uint32_t *top = gb_alloc((size_t)s->texts.count * o->depth, sizeof *top, status);
    bool ok = top != NULL;
    for (size_t v = 0; ok && v < GB_COVERAGE_VARIANTS; v++) {
        const projector *head = v / 2 ? reference : own;
        bool full = v % 2;
        if (head->params && (!full || head->has_head))
            ok = project(s, o, head, full, vectors, own->model.config.hidden_size, device, top,
                         &s->variants[index][v], status);
    }
    free(top);
    return ok;
}

static bool count_model(session *s, const settings *o, size_t index, const projector *head,
                        projector *p, gb_device *device, gb_status *status)
{
    const texts *t = &s->texts;
    float *vectors = NULL;
    bool full = !strcmp(o->projection, "full");
    s->top[index] = gb_alloc((size_t)t->count * o->depth, sizeof **s->top, status);
    bool ok = s->top[index] &&
              projector_encode(p, device, t->table, t->rows, t->count, longest_of(o, p), &vectors,
                               status) &&
              project(s, o, head->params ? head : p, full, vectors, p->model.config.hidden_size,
                      device, s->top[index], &s->coverage[index], status) &&
              (!o->variants || count_variants(s, o, index, head, p, vectors, device, status));
    free(vectors);
    return ok;
}

/* Opens the texts with the first model (one's own texts need its tokenizer), counts every model. */
static bool count_all(session *s, const settings *o, gb_device *device, const char *table,
                      gb_status *status)
{
    projector head = {0};
    bool ok = !o->reference || (projector_open(&head, o->reference, o->tokens, status) &&
                                same_vocabulary(s, &head, o->reference, status));
    for (size_t m = 0; ok && m < o->models.count; m++) {
        projector p;
        if (!projector_open(&p, o->models.items[m], o->tokens, status)) {
            ok = false;
            break;
        }
        ok =
            same_vocabulary(s, &p, o->models.items[m], status) &&
            (s->texts.table || (o->collection ? open_collection(&s->texts, o, status)
                                              : open_own(&s->texts, o, &p.model, table, status))) &&
            (s->frequent || !o->collection || count_frequent(s, o, status)) &&
            count_model(s, o, m, &head, &p, device, status);
        projector_close(&p);
    }
    projector_close(&head);
    return ok;
}

static void close_session(session *s)
{
    for (size_t m = 0; m < STEP_LIST_MOST; m++) {
        gb_coverage_destroy(s->coverage[m]);
        for (size_t v = 0; v < GB_COVERAGE_VARIANTS; v++)
            gb_coverage_destroy(s->variants[m][v]);
        free(s->top[m]);
    }
    gb_coverage_destroy(s->frequent);
    free(s->rare);
    gb_vocab_destroy(s->vocab);
    close_texts(&s->texts);
}

/* ---- output ---- */

static gb_coverage_reading reading_of(const settings *o)
{
    gb_coverage_reading reading = GB_COVERAGE_SET;
    while (reading < GB_COVERAGE_RARE && strcmp(gb_coverage_reading_name(reading), o->reading))
        reading++;
    return reading;
}

/* Texts to show: ids and the best of every model, in `arena`. */
static bool shown_texts(const session *s, const settings *o, gb_arena *arena,
                        gb_coverage_view *view, gb_status *status)
{
    const texts *t = &s->texts;
    view->text_count = o->text || o->show > t->count ? t->count : o->show;
    gb_coverage_text *list = gb_arena_alloc(arena, (view->text_count + 1) * sizeof *list, status);
    for (size_t i = 0; list && i < view->text_count; i++) {
        const uint32_t **top = gb_arena_alloc(arena, o->models.count * sizeof *top, status);
        char name[40];
        snprintf(name, sizeof name, "Text %zu", i + 1);
        size_t length = strlen(name);
        const char *id =
            t->collection ? gb_table_row(t->collection->passage_ids, t->rows[i], &length) : name;
        list[i].name = gb_arena_strdup(arena, id, length, status);
        list[i].ids = gb_table_row(t->table, t->rows[i], &list[i].length);
        list[i].top = top;
        if (!top || !list[i].name)
            return false;
        for (size_t m = 0; m < o->models.count; m++)
            top[m] = s->top[m] + i * o->depth;
    }
    view->texts = list;
    return list != NULL;
}

static const char *about(const session *s, const settings *o, gb_text *text)
{
    gb_text_printf(text,
                   "The [CLS] vector of a text is projected to the vocabulary, %s, with %s; "
                   "the k best tokens are compared with the text's own (BoW prediction, "
                   "Algorithm 1). Mean over %u ",
                   !strcmp(o->projection, "full") ? "through the whole masked-LM head"
                                                  : "by the bare word embeddings",
                   o->reference ? "the weights of one reference model"
                                : "the weights of the model itself",
                   gb_coverage_texts(s->coverage[0]));
    if (s->texts.collection)
        gb_text_printf(text, "passages of %s, drawn with seed %llu.", s->texts.collection->name,
                       (unsigned long long)o->seed);
    else
        gb_text_printf(text, "texts.");
    return text->failed ? "" : text->data;
}

static json_t *coverage_json(const session *s, const settings *o)
{
    json_t *models = json_object();
    for (size_t m = 0; m < o->models.count; m++) {
        json_t *one = json_object();
        for (int r = 0; r < (s->rare ? GB_COVERAGE_READINGS : GB_COVERAGE_RARE); r++) {
            json_t *values = json_array();
            gb_coverage_reading reading = (gb_coverage_reading)r;
            for (uint32_t k = 1; k <= o->depth; k++)
                json_array_append_new(values,
                                      json_real(gb_coverage_at(s->coverage[m], reading, k)));
            json_object_set_new(one, gb_coverage_reading_name(reading), values);
        }
        json_object_set_new(models, o->names[m], one);
    }
    return json_pack("{s:i, s:s, s:b, s:i, s:i, s:o}", "format", 1, "projection", o->projection,
                     "reference", o->reference != NULL, "texts",
                     (int)gb_coverage_texts(s->coverage[0]), "k", (int)o->depth, "models", models);
}

static bool write_json(const step_run *run, const session *s, const settings *o, gb_status *status)
{
    json_t *root = coverage_json(s, o);
    char *text = root ? json_dumps(root, GB_JSON_FILE) : NULL;
    char *path = step_file(run, "coverage.json", status);
    bool ok = path &&
              (text || gb_fail(status, GB_INTERNAL, NULL, "are all names UTF-8?",
                               "cannot write the coverage as JSON")) &&
              gb_write_file(path, text, strlen(text), status);
    free(path);
    free(text);
    json_decref(root);
    return ok;
}

/* Of one model, so that its evaluation can be a row of a table. */
static bool write_metrics(const step_run *run, const session *s, const settings *o,
                          gb_status *status)
{
    static const uint32_t cuts[] = {10, 20, 50, 100};
    json_t *metrics = json_object();
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        char name[32];
        snprintf(name, sizeof name, "coverage@%u", cuts[i]);
        if (cuts[i] <= o->depth)
            json_object_set_new(metrics, name,
                                json_real(gb_coverage_at(s->coverage[0], reading_of(o), cuts[i])));
    }
    bool ok = step_write_metrics(run, metrics, status);
    json_decref(metrics);
    return ok;
}

static bool make_view(const session *s, const settings *o, gb_arena *arena, gb_text *words,
                      const char *names[STEP_LIST_MOST], gb_coverage_view *view, gb_status *status)
{
    for (size_t m = 0; m < o->models.count; m++)
        names[m] = o->names[m];
    if (!gb_coverage_texts(s->coverage[0]))
        return gb_fail(status, GB_DATA, o->texts, "give texts with words", "no text has a token");
    *view = (gb_coverage_view){.vocab = s->vocab,
                               .models = names,
                               .model_count = o->models.count,
                               .depth = o->depth,
                               .coverage = (const gb_coverage *const *)s->coverage,
                               .reading = reading_of(o),
                               .frequent = s->frequent,
                               .about = about(s, o, words)};
    if (o->variants)
        view->variants = (const gb_coverage *const(*)[GB_COVERAGE_VARIANTS])s->variants;
    return arena && shown_texts(s, o, arena, view, status);
}

/* The step's files. */
static bool run_step(step_run *run, const settings *o, gb_status *status)
{
    session s = {0};
    gb_arena *arena = gb_arena_create(1 << 16, status);
    gb_text words = {0};
    const char *names[STEP_LIST_MOST];
    gb_coverage_view view;
    gb_device *device = step_device(run, status);
    char *table = step_file(run, "texts.ids.gbt", status);
    bool ok = arena && device && table && count_all(&s, o, device, table, status) &&
              make_view(&s, o, arena, &words, names, &view, status) &&
              gb_coverage_write(&view, gb_step_path(run->step), status) &&
              write_json(run, &s, o, status) &&
              (o->models.count > 1 || write_metrics(run, &s, o, status));
    if (ok) {
        json_t *facts = step_device_facts(run);
        json_object_set_new(facts, "texts", json_integer(gb_coverage_texts(s.coverage[0])));
        ok = step_end(run, facts, status);
        json_decref(facts);
    }
    free(table);
    gb_text_free(&words);
    gb_arena_destroy(arena);
    close_session(&s);
    return ok;
}

/* One text on the terminal; no step. */
static bool print_text(step_run *run, const settings *o, gb_status *status)
{
    session s = {0};
    gb_arena *arena = gb_arena_create(1 << 16, status);
    gb_text words = {0}, out = {0};
    const char *names[STEP_LIST_MOST];
    gb_coverage_view view;
    gb_device *device = step_device(run, status);
    char *dir = gb_temporary_folder("coverage", status);
    char *table = dir ? gb_path_join(status, dir, "texts.gbt") : NULL;
    bool ok = arena && device && table && count_all(&s, o, device, table, status) &&
              make_view(&s, o, arena, &words, names, &view, status);
    if (ok) {
        gb_coverage_terminal(&view, isatty(STDOUT_FILENO), &out);
        ok = !out.failed || gb_fail_memory(status, "printing");
        if (ok)
            fwrite(out.data, 1, out.length, stdout);
    }
    close_session(&s);
    gb_temporary_remove(dir);
    free(table);
    gb_text_free(&words);
    gb_text_free(&out);
    gb_arena_destroy(arena);
    return ok;
}

static bool check(settings *o, gb_status *status)
{
    int sources = (o->collection != NULL) + (o->texts != NULL) + (o->text != NULL);
    if (sources != 1 || !o->collection != !o->tokens)
        return gb_fail(status, GB_USAGE, NULL, "see --help",
                       "give --collection with --tokens, or --texts, or --text");
    if (strcmp(o->projection, "plain") && strcmp(o->projection, "full"))
        return gb_fail(status, GB_USAGE, NULL, "plain or full", "no projection \"%s\"",
                       o->projection);
    if (strcmp(gb_coverage_reading_name(reading_of(o)), o->reading))
        return gb_fail(status, GB_USAGE, NULL, "set, multiset, top or rare", "no reading \"%s\"",
                       o->reading);
    if (!strcmp(o->reading, "rare") && !o->collection)
        return gb_fail(status, GB_USAGE, NULL, "give --collection and --tokens",
                       "which tokens are rare is known of a collection only");
    if (!o->depth)
        return gb_fail(status, GB_USAGE, NULL, NULL, "--k must be at least 1");
    return true;
}

int gb_cli_coverage(int argc, char **argv)
{
    gb_status status = {0};
    settings o = {.projection = "plain",
                  .reading = "set",
                  .depth = 100,
                  .passages = 1000,
                  .show = 12,
                  .seed = 42};
    const step_option options[] = {
        {"model", OPTION_LIST, &o.models, true, true, "NAME=MODEL: step or model folder; repeated"},
        {"collection", OPTION_TEXT, &o.collection, false, true, "step of a collection"},
        {"tokens", OPTION_TEXT, &o.tokens, false, true, "step of its tokens"},
        {"texts", OPTION_TEXT, &o.texts, false, true, "file of texts, one a line"},
        {"text", OPTION_TEXT, &o.text, false, false, "one text, printed on the terminal"},
        {"reference", OPTION_TEXT, &o.reference, false, true,
         "model whose head projects for all (default: each its own)"},
        {"projection", OPTION_TEXT, &o.projection, false, false,
         "plain (E^T) or full head (plain)"},
        {"reading", OPTION_TEXT, &o.reading, false, false,
         "of the curve: set, multiset, top, rare (set)"},
        {"k", OPTION_U32, &o.depth, false, false, "most best tokens (100)"},
        {"passages", OPTION_U32, &o.passages, false, false, "passages drawn; 0: all (1000)"},
        {"show", OPTION_U32, &o.show, false, false, "texts shown in the page (12)"},
        {"seed", OPTION_U64, &o.seed, false, false, "of the draw (42)"},
        {"variants", OPTION_FLAG, &o.variants, false, false, "give the other ways to project too",
         true},
        {0}};
    step_run run = {.kind = "coverage", .options = options};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    json_t *extra = check(&o, &status) ? model_names(&o.models, o.names, &status) : NULL;
    bool ok = extra != NULL;
    if (ok && o.text) {
        json_decref(extra);
        print_text(&run, &o, &status);
        return step_close(&run, &status);
    }
    ok = ok && step_begin(&run, 3, true, extra, &status);
    if (ok && gb_step_done(run.step))
        step_end(&run, NULL, &status);
    else if (ok)
        run_step(&run, &o, &status);
    return step_close(&run, &status);
}
