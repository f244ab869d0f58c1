/* A program of somebody else: it knows <gabbro.h> and the library's pkg-config file, and nothing
 * more of the source tree. library.sh builds and runs it.
 *   library MODEL COLLECTION RUN QRELS    prints what a test compares, one thing a line */
#define _POSIX_C_SOURCE 200809L /* unsetenv */
#include <gabbro.h>

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 8
#define ROUNDS  5

static gabbro_status status;

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    printf("%s failed: %d %s: %s (%s)\n", what, status.code, status.where, status.what,
           status.hint);
    exit(1);
}

/* The call failed as it should. A caller has no options, unless a command of the program is named
 * with them. */
static void refused(bool ok, int code, const char *word)
{
    bool options = strstr(status.where, "--") ||
                   (strstr(status.hint, "--") && !strstr(status.hint, "gabbro "));
    printf("%s: code %d%s\n", word, status.code,
           !ok && status.code == code && strstr(status.what, word) && !options
               ? ""
               : " BUT THIS IS WRONG");
    status = (gabbro_status){0};
}

/* ---- models ---- */

typedef struct job {
    gabbro_model *model;
    const float *expected; /* vectors of the texts */
    bool same;             /* all rounds gave them */
} job;

static const char *const texts[] = {"rain stone", "moss", "river ice sand"};
#define TEXTS 3

static void *encode_again(void *self)
{
    job *j = self;
    uint32_t width = gabbro_model_width(j->model);
    float *vectors = malloc(sizeof *vectors * TEXTS * width);
    j->same = vectors != NULL;
    for (int i = 0; j->same && i < ROUNDS; i++)
        j->same = gabbro_encode(j->model, GABBRO_QUERY, texts, TEXTS, vectors, NULL) &&
                  !memcmp(vectors, j->expected, sizeof *vectors * TEXTS * width);
    free(vectors);
    return NULL;
}

static void use_threads(gabbro_model *model, const float *expected)
{
    pthread_t threads[THREADS];
    job jobs[THREADS];
    bool same = true;
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (job){model, expected, false};
        must(pthread_create(&threads[i], NULL, encode_again, &jobs[i]) == 0, "a thread");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        same = same && jobs[i].same;
    }
    printf("threads: %s\n", same ? "same" : "different");
}

static float *use_model(gabbro_model *model)
{
    uint32_t width = gabbro_model_width(model), tokens[TEXTS];
    float *vectors = malloc(sizeof *vectors * TEXTS * width), scores[2];
    const char *const queries[] = {texts[0], texts[0]}, *const passages[] = {texts[1], texts[2]};
    must(vectors != NULL, "memory");
    must(gabbro_encode(model, GABBRO_QUERY, texts, TEXTS, vectors, &status), "encode");
    must(gabbro_count_tokens(model, GABBRO_PLAIN, texts, TEXTS, tokens, &status), "count");
    must(gabbro_score(model, queries, passages, 2, scores, &status), "score");
    double inner = 0;
    for (uint32_t i = 0; i < width; i++)
        inner += (double)vectors[i] * (double)vectors[width + i];
    printf("width: %u\ntokens: %u %u %u\nscore: %s\n", width, tokens[0], tokens[1], tokens[2],
           fabs(inner - (double)scores[0]) < 1e-5 ? "inner product" : "something else");
    use_threads(model, vectors);
    return vectors;
}

static void refuse_settings(const char *model)
{
    const gabbro_model_params nowhere = {.size = sizeof nowhere, .device = "nowhere"};
    const gabbro_model_params wide = {.size = sizeof wide, .dims = 99};
    refused(gabbro_model_open(model, &nowhere, &status), GABBRO_DEVICE, "no device is called");
    refused(gabbro_model_open(model, &wide, &status), GABBRO_USAGE, "99 of the 16 dimensions");
}

/* In a process that has no home any more. */
static void refuse_homeless(const char *name, const char *collection)
{
    unsetenv("HOME");
    unsetenv("XDG_DATA_HOME");
    unsetenv("GABBRO_STORE");
    gabbro_model *model = gabbro_model_open(name, NULL, &status);
    must(model != NULL, "open without a home");
    refused(gabbro_index_make(model, collection, NULL, &status), GABBRO_USAGE, "no place");
    gabbro_model_close(model);
}

/* ---- indexes ---- */

static void print_hits(const gabbro_index *index, const gabbro_hit *hits, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        size_t length = 0;
        const char *id =
            hits[i].row == GABBRO_NO_ROW ? "none" : gabbro_index_id(index, hits[i].row, &length);
        printf(" %.*s", length ? (int)length : 4, id);
    }
    printf("\n");
}

static void use_index(gabbro_model *model, const char *collection, const float *queries)
{
    gabbro_index_params params = {.size = sizeof params, .model = model};
    gabbro_index *index = gabbro_index_make(model, collection, &params, &status);
    must(index != NULL, "index");
    gabbro_hit hits[10];
    uint32_t width = gabbro_model_width(model);
    must(gabbro_search(index, queries, 1, width, 10, hits, &status), "search");
    printf("index of %u:", gabbro_index_rows(index));
    print_hits(index, hits, 10);
    const char *title, *text;
    size_t title_length, length;
    bool known = gabbro_index_passage(index, hits[0].row, &title, &title_length, &text, &length);
    printf("text: %.*s\n", known ? (int)length : 0, text);
    refused(gabbro_search(index, queries, 1, width + 1, 10, hits, &status), GABBRO_USAGE,
            "numbers");

    /* The same folder, opened by somebody who has no model, on a device of its own. */
    gabbro_hit again[10];
    gabbro_index *folder = gabbro_index_open(gabbro_index_path(index), NULL, &status);
    must(folder && gabbro_search(folder, queries, 1, width, 10, again, &status), "a folder");
    printf("opened: %s\n", memcmp(hits, again, sizeof hits) ? "different" : "same");
    gabbro_index_close(folder);
    gabbro_index_close(index);
}

/* An index that was made without a device of the model's searches when the model is closed. */
static void outlive_model(const char *name, const char *collection, const float *query)
{
    gabbro_model *model = gabbro_model_open(name, NULL, &status);
    must(model != NULL, "open again");
    uint32_t width = gabbro_model_width(model);
    gabbro_index *index = gabbro_index_make(model, collection, NULL, &status);
    gabbro_model_close(model);
    gabbro_hit hit;
    must(index && gabbro_search(index, query, 1, width, 1, &hit, &status), "without the model");
    printf("alone:");
    print_hits(index, &hit, 1);
    gabbro_index_close(index);
}

static void use_vectors(void)
{
    static const float vectors[] = {1, 0, 0, 1, 1, 1, 0, 2}, query[] = {1, .5f};
    static const char *const ids[] = {"a", "b", "c", "d"};
    gabbro_index *index = gabbro_index_of(vectors, 4, 2, ids, NULL, &status);
    gabbro_hit hits[6];
    must(index && gabbro_search(index, query, 1, 2, 6, hits, &status), "vectors");
    printf("vectors:");
    print_hits(index, hits, 6);
    gabbro_index_close(index);
    static const char *const some[] = {"a", NULL, "c", "d"};
    refused(gabbro_index_of(vectors, 4, 2, some, NULL, &status), GABBRO_USAGE, "id 1 is NULL");
}

/* ---- runs ---- */

static void add_value(void *context, const char *query, size_t length, double value)
{
    (void)query;
    (void)length;
    *(double *)context += value;
}

/* What was given of a run stays when the run grows. */
static void keep_ids(void)
{
    gabbro_run *run = gabbro_run_create(&status);
    static const char *const passages[] = {"passage"};
    static const double scores[] = {1};
    size_t length, id_length, hits;
    double score;
    must(run && gabbro_run_add(run, "query", passages, scores, 1, &status), "a run of one");
    const char *query = gabbro_run_query(run, 0, &length, &hits);
    const char *id = gabbro_run_hit(run, 0, 0, &id_length, &score);
    for (int i = 0; i < 1000; i++) {
        char name[20];
        const char *const names[] = {name};
        snprintf(name, sizeof name, "new%d", i);
        must(gabbro_run_add(run, name, names, scores, 1, &status), "add another");
    }
    printf("kept: %.*s %.*s\n", (int)length, query, (int)id_length, id);
    gabbro_run_close(run);
}

static void use_runs(const char *path, const char *qrels)
{
    gabbro_run *run = gabbro_run_read(path, &status), *other = gabbro_run_create(&status);
    must(run && other, "runs");
    double value, sum = 0;
    gabbro_measure_params params = {.size = sizeof params, .complete = true};
    must(gabbro_measure(run, qrels, "ndcg_cut_10", &params, add_value, &sum, &value, &status),
         "measure");
    size_t queries = gabbro_run_queries(run), length, hits, id_length;
    printf("measure: %.17g, mean %s\n", value,
           fabs(sum / (double)queries - value) < 1e-12 ? "right" : "wrong");
    refused(gabbro_measure(run, qrels, "beauty", NULL, NULL, NULL, &value, &status), GABBRO_USAGE,
            "beauty");
    refused(gabbro_measure(run, NULL, "map", NULL, NULL, NULL, &value, &status), GABBRO_USAGE,
            "no file of judgements");
    refused(gabbro_run_write(run, NULL, NULL, &status), GABBRO_USAGE, "no file is named");
    refused(gabbro_run_read(NULL, &status), GABBRO_USAGE, "no run is named");
    for (size_t q = 0; q < queries; q++) {
        const char *query = gabbro_run_query(run, q, &length, &hits);
        char name[20], ids[2][20];
        const char *const passages[] = {ids[0], ids[1]};
        double scores[2];
        snprintf(name, sizeof name, "%.*s", (int)length, query);
        for (size_t h = 0; h < 2; h++) {
            const char *id = gabbro_run_hit(run, q, h, &id_length, &scores[h]);
            snprintf(ids[h], sizeof ids[h], "%.*s", (int)id_length, id);
        }
        must(gabbro_run_add(other, name, passages, scores, 2, &status), "add");
    }
    static const char *const twice[] = {"x", "x"};
    static const double scores[] = {2, 1};
    keep_ids();
    refused(gabbro_run_add(other, "new", twice, scores, 2, &status), GABBRO_USAGE, "twice");
    must(gabbro_run_write(other, "two.trec", "somebody", &status), "write");
    gabbro_run_close(run);
    gabbro_run_close(other);
}

static void note_comma(void *context, const char *query, size_t length, double value)
{
    char text[20];
    (void)query;
    (void)length;
    snprintf(text, sizeof text, "%.1f", value / 2);
    *(bool *)context = strcmp(text, "0,5") == 0;
}

/* The same, in a program that writes numbers with a decimal comma. */
static void use_commas(void)
{
    static const char *const passages[] = {"a", "b"};
    static const double scores[] = {.75, .5};
    if (!setlocale(LC_ALL, "de_DE.UTF-8") || strcmp(localeconv()->decimal_point, ",") != 0) {
        setlocale(LC_ALL, "C");
        printf("commas: no such locale\n");
        return;
    }
    gabbro_run *run = gabbro_run_create(&status);
    must(run && gabbro_run_add(run, "q", passages, scores, 2, &status) &&
             gabbro_run_write(run, "commas.trec", "somebody", &status),
         "a run among commas");
    gabbro_run_close(run);
    run = gabbro_run_read("commas.trec", &status);
    must(run != NULL, "the run read again");
    size_t length;
    double score, value;
    bool kept = false;
    gabbro_run_hit(run, 0, 1, &length, &score);
    FILE *qrels = fopen("commas.qrels", "w");
    must(qrels && fputs("q 0 a 1\n", qrels) >= 0 && fclose(qrels) == 0, "judgements");
    must(gabbro_measure(run, "commas.qrels", "MRR@10", NULL, note_comma, &kept, &value, &status),
         "measure among commas");
    gabbro_run_close(run);
    kept = kept && strcmp(localeconv()->decimal_point, ",") == 0;
    setlocale(LC_ALL, "C");
    printf("commas: read %g, measured %g, locale %s\n", score, value, kept ? "kept" : "changed");
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    printf("version: %s\n", gabbro_version());
    refused(gabbro_model_open("nothing", NULL, &status), GABBRO_DATA, "no folder");
    refused(gabbro_index_open("nothing", NULL, &status), GABBRO_DATA, "No such file");
    gabbro_model *model = gabbro_model_open(argv[1], NULL, &status);
    must(model != NULL, "open");
    static const char *const bad[] = {"good", "\xff"};
    float none[1];
    refused(gabbro_encode(model, GABBRO_PLAIN, bad, 2, none, &status), GABBRO_USAGE,
            "text 1 is no valid UTF-8");
    refuse_settings(argv[1]);
    float *queries = use_model(model);
    use_index(model, argv[2], queries);
    outlive_model(argv[1], argv[2], queries);
    use_vectors();
    use_runs(argv[3], argv[4]);
    use_commas();
    refuse_homeless(argv[1], argv[2]);
    free(queries);
    gabbro_model_close(model);
    gabbro_model_close(NULL);
    return 0;
}
