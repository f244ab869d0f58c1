/* Sparse vectors as lines of JSON, as Anserini's JsonVectorCollection reads them. */
#include "retriever.h"
#include "sparse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is printed. */
typedef struct printing {
    const gb_retriever *retriever; /* whose vectors */
    const gb_row_file *names;      /* external ids */
    const gb_encode_rows *texts;   /* rows of them */
    char **words;                  /* [vocabulary] tokens as JSON strings */
    gb_arena *arena;               /* keeps them */
    gb_out *out;                   /* vectors.jsonl */
} printing;

/* A text as a JSON string, with its quotes. */
static char *quote(gb_arena *arena, const char *bytes, size_t length, gb_status *status)
{
    json_t *string = json_stringn_nocheck(bytes, length);
    char *printed = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    char *kept = printed ? gb_arena_strdup(arena, printed, strlen(printed), status)
                         : (gb_fail_memory(status, "printing vectors"), NULL);
    free(printed);
    json_decref(string);
    return kept;
}

static bool quote_tokens(printing *p, gb_status *status)
{
    const gb_vocab *vocab = p->retriever->model.vocab;
    uint32_t size = gb_retriever_width(p->retriever);
    bool ok = (p->arena = gb_arena_create(0, status)) &&
              (p->words = gb_arena_alloc(p->arena, size * sizeof *p->words, status));
    for (uint32_t id = 0; ok && id < size; id++) {
        char unnamed[32]; /* the model may have more rows than the vocabulary tokens */
        snprintf(unnamed, sizeof unnamed, "[unnamed%u]", id);
        const char *token = id < gb_vocab_size(vocab) ? gb_vocab_token(vocab, id) : unnamed;
        ok = (p->words[id] = quote(p->arena, token, strlen(token), status));
    }
    return ok;
}

/* {"id": "p1", "contents": "", "vector": {"term": 1.5}} */
static bool print_text(const printing *p, uint32_t index, const sparse_term *terms, uint32_t count,
                       gb_status *status)
{
    double scale = p->retriever->how.sparse.quantize;
    FILE *out = gb_out_stream(p->out);
    uint32_t row = p->texts->first + index;
    size_t length;
    const char *id = gb_row_file_row(p->names, p->texts->rows ? p->texts->rows[row] : row, &length);
    gb_arena *line = gb_arena_create(0, status);
    char *name = line ? quote(line, id, length, status) : NULL;
    bool first = true;
    if (name)
        fprintf(out, "{\"id\": %s, \"contents\": \"\", \"vector\": {", name);
    for (uint32_t i = 0; name && i < count; i++) {
        double weight = (double)terms[i].weight;
        if (scale > 0 && !((weight = round(weight * scale)) > 0))
            continue;
        fprintf(out, scale > 0 ? "%s%s: %.0f" : "%s%s: %.9g", first ? "" : ", ",
                p->words[terms[i].id], weight);
        first = false;
    }
    if (name)
        fputs("}}\n", out);
    gb_arena_destroy(line);
    return name;
}

static bool print_file(const printing *p, const char *path, uint32_t first, uint32_t count,
                       gb_status *status)
{
    sparse_reader reader;
    uint32_t terms;
    bool ok = retrieve_sparse_reader_open(&reader, path, gb_retriever_width(p->retriever), status);
    if (!ok)
        return false;
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = gb_not_interrupted(NULL, status) &&
             retrieve_sparse_reader_next(&reader, &terms, status) &&
             print_text(p, first + i, reader.terms, terms, status);
    }
    retrieve_sparse_reader_close(&reader);
    return ok;
}

bool retrieve_sparse_print(const gb_retriever *r, const char *path, const gb_encode_rows *texts,
                           const gb_row_file *names, const char *folder, gb_status *status)
{
    printing p = {.retriever = r, .names = names, .texts = texts};
    char *to = gb_path_join(status, folder, "vectors.jsonl");
    bool ok = to && quote_tokens(&p, status) && (p.out = gb_out_open(to, status));
    uint32_t ranks = gb_ranks_count(r->how.ranks), first, count;
    for (uint32_t rank = 0; ok && rank < ranks; rank++) {
        char *part = retrieve_sparse_file_of(path, rank, ranks, status);
        gb_ranks_range(rank, ranks, texts->count, &first, &count);
        ok = part && print_file(&p, part, first, count, status);
        free(part);
    }
    if (ok)
        ok = gb_out_commit(p.out, status);
    else
        gb_out_abandon(p.out);
    gb_arena_destroy(p.arena);
    free(to);
    return ok;
}
