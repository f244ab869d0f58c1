/* Texts of random ids for the parts that train and encode: what matters is how long they are. */
#include "private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GENERATED 2 /* queries of a passage */

gb_bert_config bench_config(const bench_size *size)
{
    gb_bert_config config = GB_BERT_BASE;
    config.vocab_size = size->vocabulary;
    config.hidden_size = size->hidden;
    config.layers = size->layers;
    config.heads = size->heads;
    config.intermediate_size = size->ffn;
    config.max_positions = size->max_length;
    config.initializer_range = .02;
    config.hidden_dropout = config.attention_dropout = size->dropout;
    return config;
}

static bool write_vocabulary(const char *path, uint32_t words, gb_status *status)
{
    gb_out *out = gb_out_open(path, status);
    if (!out)
        return false;
    fputs("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", gb_out_stream(out));
    for (uint32_t i = 5; i < words; i++) {
        char word[16]; /* of letters: some objectives want such */
        snprintf(word, sizeof word, "%u", i);
        for (char *c = word; *c; c++)
            *c = (char)(*c - '0' + 'a');
        fprintf(gb_out_stream(out), "ww%s\n", word);
    }
    return gb_out_commit(out, status);
}

/* Rows of `count` texts of `length` random words, with [SEP] behind each if there are several. */
static bool write_table(const char *path, const bench_size *size, uint32_t rows, uint32_t count,
                        uint32_t length, uint32_t purpose, gb_status *status)
{
    gb_row_writer *writer = gb_row_writer_open(path, 4, status);
    uint32_t words = count * (length + (count > 1));
    uint32_t *ids = writer ? gb_alloc(words, sizeof *ids, status) : NULL;
    bool ok = ids != NULL;
    for (uint32_t r = 0; ok && r < rows; r++) {
        gb_rng rng = gb_rng_make(1, GB_RNG_TEST, purpose, r);
        for (uint32_t i = 0; i < words; i++)
            ids[i] = count > 1 && i % (length + 1) == length
                         ? 3
                         : 5 + gb_rng_below(&rng, size->vocabulary - 5);
        ok = gb_row_writer_add(writer, ids, words, status);
    }
    free(ids);
    return gb_row_writer_end(writer, ok, status);
}

/* paths: of passages, queries and generated queries */
static bool open_tokens(gb_tokens *tokens, char *const paths[3], const bench_size *size,
                        gb_status *status)
{
    tokens->max_passage = size->max_length;
    tokens->max_query = size->query_tokens;
    return (tokens->passages = gb_row_file_open(paths[0], 4, status)) &&
           (tokens->queries = gb_row_file_open(paths[1], 4, status)) &&
           (tokens->generated = gb_row_file_open(paths[2], 4, status));
}

/* Rows "0", "1", ... */
static gb_row_file *make_names(const char *folder, const char *file, uint32_t count,
                               gb_status *status)
{
    char *path = gb_path_join(status, folder, file);
    gb_row_writer *writer = path ? gb_row_writer_open(path, 1, status) : NULL;
    bool ok = writer != NULL;
    for (uint32_t i = 0; ok && i < count; i++) {
        char name[16];
        int length = snprintf(name, sizeof name, "%u", i);
        ok = gb_row_writer_add(writer, name, (size_t)length, status);
    }
    ok = gb_row_writer_end(writer, ok, status);
    gb_row_file *rows = ok ? gb_row_file_open(path, 1, status) : NULL;
    free(path);
    return rows;
}

/* What judgements need: ids and texts of the queries are the same. */
static bool judge(bench_texts *texts, const char *folder, uint32_t count, gb_status *status)
{
    gb_collection *c = &texts->collection;
    static char split[] = "train";
    char *qrels = gb_path_join(status, folder, "qrels"), *path = NULL;
    gb_out *out = NULL;
    bool ok = qrels && gb_make_dirs(qrels, status) &&
              (path = gb_path_join(status, qrels, "train.tsv")) &&
              (out = gb_out_open(path, status)) != NULL;
    if (ok)
        fprintf(gb_out_stream(out), "query-id\tcorpus-id\tscore\n");
    for (uint32_t i = 0; ok && i < count; i++)
        fprintf(gb_out_stream(out), "%u\t%u\t1\n", i, i);
    ok = ok && gb_out_commit(out, status) &&
         (c->passage_ids = make_names(folder, "passages.id.gbt", count, status)) &&
         (c->query_ids = make_names(folder, "queries.id.gbt", count, status)) &&
         (c->queries = make_names(folder, "queries.text.gbt", count, status));
    c->splits = split;
    free(path);
    free(qrels);
    return ok;
}

static bool fill_folder(bench_texts *texts, const char *folder, const bench_size *size,
                        uint32_t passages, gb_status *status)
{
    static const char *const names[] = {"passages.ids.gbt", "queries.ids.gbt", "generated.ids.gbt",
                                        "vocab.txt"};
    char *paths[4];
    bool ok = true;
    for (int i = 0; i < 4; i++)
        ok = (paths[i] = gb_path_join(ok ? status : NULL, folder, names[i])) && ok;
    /* A query pairs with a passage of a step: as long, so that both streams have the same work. */
    uint32_t words = size->max_length - 2;
    ok = ok && write_table(paths[0], size, passages, 1, words, 0, status) &&
         write_table(paths[1], size, passages, 1, size->query_tokens - 2, 1, status) &&
         write_table(paths[2], size, passages, GENERATED, words, 2, status) &&
         write_vocabulary(paths[3], size->vocabulary, status) &&
         open_tokens(&texts->tokens, paths, size, status);
    if (ok)
        ok = (texts->vocab = gb_vocab_load(paths[3], status)) != NULL;
    for (int i = 0; i < 4; i++)
        free(paths[i]);
    return ok;
}

bool bench_texts_make(bench_texts *texts, const gb_config *config, const bench_size *size,
                      uint32_t passages, gb_status *status)
{
    *texts = (bench_texts){.folder = gb_temporary_folder(config, "bench", status)};
    if (!texts->folder || !fill_folder(texts, texts->folder, size, passages, status) ||
        !(texts->documents = gb_alloc(passages, sizeof *texts->documents, status)))
        return false;
    for (uint32_t p = 0; p < passages; p++)
        texts->documents[p] = p / 4;
    static char name[] = "bench";
    texts->collection = (gb_collection){.path = texts->folder,
                                        .name = name,
                                        .document = texts->documents,
                                        .passages = passages,
                                        .documents = (passages + 3) / 4};
    return judge(texts, texts->folder, passages, status);
}

void bench_texts_free(bench_texts *texts)
{
    gb_tokens_close(&texts->tokens);
    gb_vocab_destroy(texts->vocab);
    gb_row_file_close(texts->collection.passage_ids);
    gb_row_file_close(texts->collection.query_ids);
    gb_row_file_close(texts->collection.queries);
    gb_temporary_remove(texts->folder);
    free(texts->documents);
    *texts = (bench_texts){0};
}

gb_folder *bench_generator(const bench *b, const bench_size *size, const gb_vocab *vocab,
                           gb_status *status)
{
    gb_bert_config config = bench_config(size);
    gb_bert bert = {0};
    gb_folder *folder = NULL;
    char *parent = gb_temporary_folder(b->config, "bench", status);
    char *path = parent ? gb_path_join(status, parent, "generator") : NULL;
    gb_params *params = path ? gb_params_create(status) : NULL;
    float *values = NULL;
    config.layers = 1;
    config.hidden_size = 2 * size->hidden / size->heads;
    config.heads = 2;
    config.intermediate_size = 4 * config.hidden_size;
    if (params && gb_bert_declare(params, &config, true, &bert, status)) {
        gb_params_freeze(params);
        values = gb_alloc(gb_params_floats(params), sizeof *values, status);
    }
    if (values &&
        gb_model_save(path, &config, params, values, vocab, GB_TOKENIZER_DEFAULTS,
                      &(gb_sentence_settings){.max_length = size->max_length}, NULL, status))
        folder = gb_folder_open(path, status); /* stays mapped */
    free(values);
    gb_bert_free(&bert);
    gb_params_destroy(params);
    free(path);
    gb_temporary_remove(parent);
    return folder;
}
