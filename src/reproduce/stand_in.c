/* Collections that stand for public ones while a plan is made. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

/* A word is one token of a stand-in, in a real collection so many (MS MARCO). */
static const double TOKENS_OF_WORD = 1.34;
enum { SPECIAL_TOKENS = 6, QUERIES_OF_PASSAGE = 20, PASSAGES_OF_DOCUMENT = 4, SENTENCE_WORDS = 15 };

bool repro_sizes_read(const char *name, repro_sizes *sizes, gb_status *status)
{
    char *path = gb_installed_file("datasets/sizes.tsv"), *line;
    gb_lines *lines = path ? gb_lines_open(path, status) : NULL;
    size_t length = strlen(name), whole;
    bool found = false;
    while (lines && !found && gb_lines_next(lines, &line, &whole, status) == 1)
        found = !strncmp(line, name, length) &&
                sscanf(line + length, "\t%lf\t%lf\t%lf\t%lf\t%lf", &sizes->passages, &sizes->words,
                       &sizes->query_words, &sizes->train_queries, &sizes->eval_queries) == 5;
    gb_lines_close(lines);
    free(path);
    return found || gb_fail(status, GB_DATA, NULL, NULL,
                            "datasets/sizes.tsv does not say how big %.60s is", name);
}

/* About so many words, in sentences. */
static void write_text(gb_rng *rng, FILE *out, double words, uint32_t tokens)
{
    uint32_t count = 1 + (uint32_t)(words * TOKENS_OF_WORD * (.5 + gb_rng_uniform(rng)));
    uint32_t plain = tokens > SPECIAL_TOKENS ? tokens - SPECIAL_TOKENS : 1;
    for (uint32_t i = 1; i <= count; i++)
        fprintf(out, "w%u%s", SPECIAL_TOKENS + 1 + gb_rng_below(rng, plain),
                i % SENTENCE_WORDS ? " " : ". ");
}

/* The files of a collection, as BEIR has them. */
typedef struct files {
    gb_out *corpus, *documents, *generated, *queries, *train, *dev;
} files;

static bool open_files(const char *folder, files *f, gb_status *status)
{
    static const char *const names[] = {"/corpus.jsonl",  "/documents.jsonl", ".queries.jsonl",
                                        "/queries.jsonl", "/qrels/train.tsv", "/qrels/dev.tsv"};
    gb_out **outs[] = {&f->corpus, &f->documents, &f->generated, &f->queries, &f->train, &f->dev};
    char *judged = gb_path_join(status, folder, "qrels");
    bool ok = judged && gb_make_dirs(judged, status);
    free(judged);
    for (size_t i = 0; ok && i < sizeof names / sizeof *names; i++) {
        char *path = gb_format(status, "%s%s", folder, names[i]);
        ok = path && (*outs[i] = gb_out_open(path, status)) != NULL;
        free(path);
    }
    return ok;
}

static bool close_files(files *f, bool ok, gb_status *status)
{
    gb_out *outs[] = {f->corpus, f->documents, f->generated, f->queries, f->train, f->dev};
    for (size_t i = 0; i < sizeof outs / sizeof *outs; i++) {
        if (ok)
            ok = gb_out_commit(outs[i], status);
        else
            gb_out_abandon(outs[i]);
    }
    return ok;
}

static void write_passage(const files *f, uint32_t p, const repro_sizes *sizes, uint32_t tokens)
{
    FILE *corpus = gb_out_stream(f->corpus), *documents = gb_out_stream(f->documents);
    FILE *generated = gb_out_stream(f->generated);
    gb_rng rng = gb_rng_make(1, GB_RNG_WORLD, 0, p);
    bool first = p % PASSAGES_OF_DOCUMENT == 0;
    fprintf(corpus, "{\"_id\": \"%u\", \"title\": \"\", \"text\": \"", p);
    write_text(&rng, corpus, sizes->words, tokens);
    fprintf(corpus, "\"}\n");
    if (first)
        fprintf(documents, "{\"id\": \"%u\", \"passages\": [", p / PASSAGES_OF_DOCUMENT);
    fprintf(documents, "%s{\"id\": \"%u\"}", first ? "" : ", ", p);
    if (p % PASSAGES_OF_DOCUMENT == PASSAGES_OF_DOCUMENT - 1)
        fprintf(documents, "]}\n");
    fprintf(generated, "{\"id\": \"%u\", \"queries\": [", p);
    for (int q = 0; q < QUERIES_OF_PASSAGE; q++) {
        fprintf(generated, "%s\"", q ? ", " : "");
        write_text(&rng, generated, 6, tokens);
        fprintf(generated, "\"");
    }
    fprintf(generated, "]}\n");
}

bool repro_stand_in_collection(const char *folder, const repro_sizes *sizes, uint32_t tokens,
                               gb_status *status)
{
    files f = {0};
    bool ok = open_files(folder, &f, status);
    if (ok) {
        fprintf(gb_out_stream(f.train), "query-id\tcorpus-id\tscore\n");
        fprintf(gb_out_stream(f.dev), "query-id\tcorpus-id\tscore\n");
    }
    for (uint32_t p = 0; ok && p < REPRO_STAND_IN_PASSAGES; p++) {
        FILE *queries = gb_out_stream(f.queries);
        gb_rng rng = gb_rng_make(1, GB_RNG_WORLD, 1, p);
        write_passage(&f, p, sizes, tokens);
        fprintf(queries, "{\"_id\": \"q%u\", \"text\": \"", p);
        write_text(&rng, queries, sizes->query_words, tokens);
        fprintf(queries, "\"}\n");
        fprintf(gb_out_stream(p % 2 ? f.dev : f.train), "q%u\t%u\t1\n", p, p);
    }
    return close_files(&f, ok, status);
}

bool repro_stand_in_vocabulary(const char *folder, uint32_t tokens, gb_status *status)
{
    static const char *const special[SPECIAL_TOKENS] = {"[PAD]", "[UNK]",  "[CLS]",
                                                        "[SEP]", "[MASK]", "."};
    gb_text text = {0};
    for (uint32_t i = 0; i < tokens; i++) {
        if (i < SPECIAL_TOKENS)
            gb_text_printf(&text, "%s\n", special[i]);
        else
            gb_text_printf(&text, "w%u\n", i + 1);
    }
    char *path = gb_make_dirs(folder, status) ? gb_path_join(status, folder, "vocab.txt") : NULL;
    bool ok = path && gb_text_write(&text, path, status);
    gb_text_free(&text);
    free(path);
    return ok;
}
