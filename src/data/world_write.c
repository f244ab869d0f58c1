/* The mini world as files: a collection folder, and a BEIR folder of the same data. */
#include "data/draft.h"
#include "data/json.h"
#include "data/world.h"

#include <stdlib.h>
#include <string.h>

enum { ID_BYTES = 32 };

/* Passage ids say the document and the place in it; query ids the split and the number. */
static void passage_id(const world *w, uint32_t row, char id[ID_BYTES])
{
    uint32_t first = row;
    while (first > 0 && w->passages[first - 1].document == w->passages[row].document)
        first--;
    snprintf(id, ID_BYTES, "%u-%u", w->passages[row].document, row - first);
}

static void query_id(world_split split, uint32_t number, char id[ID_BYTES])
{
    snprintf(id, ID_BYTES, "%s-%u", gb_world_splits[split], number);
}

/* ---- tables -------------------------------------------------------------------------------- */

/* Rows of a table, one after another, from functions that fill a text. */
typedef bool (*row_writer)(const world *w, gb_table_writer *writer, gb_status *status);

static bool write_table(const world *w, const char *folder, const char *name,
                        uint32_t element_bytes, row_writer rows, gb_status *status)
{
    gb_table_writer *writer = gb_table_writer_open_in(folder, name, element_bytes, status);
    return gb_table_writer_end(writer, writer && rows(w, writer, status), status);
}

static bool passage_ids(const world *w, gb_table_writer *writer, gb_status *status)
{
    char id[ID_BYTES];
    for (uint32_t row = 0; row < w->passage_count; row++) {
        passage_id(w, row, id);
        if (!gb_table_writer_add(writer, id, strlen(id), status))
            return false;
    }
    return true;
}

static bool passage_titles(const world *w, gb_table_writer *writer, gb_status *status)
{
    for (uint32_t row = 0; row < w->passage_count; row++)
        if (!gb_table_writer_add(writer, "", 0, status))
            return false;
    return true;
}

static bool passage_texts(const world *w, gb_table_writer *writer, gb_status *status)
{
    for (uint32_t row = 0; row < w->passage_count; row++) {
        const char *text = w->passages[row].text;
        if (!gb_table_writer_add(writer, text, strlen(text), status))
            return false;
    }
    return true;
}

static bool passage_documents(const world *w, gb_table_writer *writer, gb_status *status)
{
    uint32_t *documents = gb_alloc(w->passage_count, sizeof *documents, status);
    if (!documents)
        return false;
    for (uint32_t row = 0; row < w->passage_count; row++)
        documents[row] = w->passages[row].document;
    bool ok = gb_table_writer_add(writer, documents, w->passage_count, status);
    free(documents);
    return ok;
}

/* Fields as gb_truth numbers them, then what else is known. */
static bool passage_truth(const world *w, gb_table_writer *writer, gb_status *status)
{
    for (uint32_t row = 0; row < w->passage_count; row++) {
        const world_passage *p = &w->passages[row];
        uint32_t truth[] = {p->entity, p->cluster, p->aside_entity, p->aside_attribute};
        if (!gb_table_writer_add(writer, truth, sizeof truth / sizeof *truth, status))
            return false;
    }
    return true;
}

static bool query_ids(const world *w, gb_table_writer *writer, gb_status *status)
{
    char id[ID_BYTES];
    for (world_split split = SPLIT_TRAIN; split < SPLIT_COUNT; split++) {
        for (uint32_t i = 0; i < w->query_count[split]; i++) {
            query_id(split, i, id);
            if (!gb_table_writer_add(writer, id, strlen(id), status))
                return false;
        }
    }
    return true;
}

static bool query_texts(const world *w, gb_table_writer *writer, gb_status *status)
{
    for (world_split split = SPLIT_TRAIN; split < SPLIT_COUNT; split++) {
        for (uint32_t i = 0; i < w->query_count[split]; i++) {
            const char *text = w->queries[split][i].text;
            if (!gb_table_writer_add(writer, text, strlen(text), status))
                return false;
        }
    }
    return true;
}

static bool query_truth(const world *w, gb_table_writer *writer, gb_status *status)
{
    for (world_split split = SPLIT_TRAIN; split < SPLIT_COUNT; split++) {
        for (uint32_t i = 0; i < w->query_count[split]; i++) {
            const world_query *q = &w->queries[split][i];
            uint32_t fact = q->entity * w->attributes + q->attribute;
            uint32_t truth[] = {q->entity, fact, q->other, (uint32_t)q->style};
            if (!gb_table_writer_add(writer, truth, sizeof truth / sizeof *truth, status))
                return false;
        }
    }
    return true;
}

bool gb_world_generated_rows(const world *w, gb_table_writer *writer, gb_status *status)
{
    gb_text row = {0};
    bool ok = true;
    for (uint32_t p = 0; p < w->passage_count && ok; p++) {
        row.length = 0;
        for (uint32_t k = 0; k < w->params.generated; k++)
            gb_text_printf(&row, "%s\n", w->generated[(size_t)p * w->params.generated + k]);
        ok = row.failed ? gb_fail_memory(status, "writing generated queries")
                        : gb_table_writer_add(writer, row.data, row.length, status);
    }
    gb_text_free(&row);
    return ok;
}

/* ---- judgements ---------------------------------------------------------------------------- */

/* Counts of a split for collection.json. */
static json_t *write_judgements(const world *w, world_split split, FILE *out)
{
    char query[ID_BYTES], passage[ID_BYTES];
    uint64_t relevant = 0, count = 0;
    int highest = 1;
    fprintf(out, "query-id\tcorpus-id\tscore\n");
    if (w->judgement_count[split]) {
        for (size_t i = 0; i < w->judgement_count[split]; i++) {
            gb_qrel j = w->judgements[split][i];
            query_id(split, j.query, query);
            passage_id(w, j.passage, passage);
            fprintf(out, "%s\t%s\t%d\n", query, passage, (int)j.grade);
            relevant += j.grade >= 1;
            highest = j.grade > highest ? j.grade : highest;
        }
        count = w->judgement_count[split];
    } else {
        for (uint32_t i = 0; i < w->query_count[split]; i++) {
            query_id(split, i, query);
            passage_id(w, w->queries[split][i].positive, passage);
            fprintf(out, "%s\t%s\t1\n", query, passage);
        }
        count = relevant = w->query_count[split];
    }
    json_t *json = json_object();
    json_object_set_new(json, "queries", json_integer(w->query_count[split]));
    json_object_set_new(json, "judgements", json_integer((json_int_t)count));
    json_object_set_new(json, "relevant", json_integer((json_int_t)relevant));
    json_object_set_new(json, "highest_grade", json_integer(highest));
    json_object_set_new(json, "skipped_unknown", json_integer(0));
    return json;
}

/* qrels/<split>.tsv of all splits; their counts go to `splits` when it is not NULL. */
static bool write_qrels(const world *w, const char *folder, json_t *splits, gb_status *status)
{
    char *dir = gb_path_join(status, folder, "qrels");
    bool ok = dir && gb_make_dirs(dir, status);
    for (world_split split = SPLIT_TRAIN; split < SPLIT_COUNT && ok; split++) {
        char *path = gb_format(status, "%s/%s.tsv", dir, gb_world_splits[split]);
        gb_out *out = path ? gb_out_open(path, status) : NULL;
        free(path);
        if (!out) {
            ok = false;
            break;
        }
        json_t *counts = write_judgements(w, split, gb_out_stream(out));
        if (splits)
            json_object_set(splits, gb_world_splits[split], counts);
        json_decref(counts);
        ok = gb_out_commit(out, status);
    }
    free(dir);
    return ok;
}

/* ---- the collection ------------------------------------------------------------------------ */

static json_t *describe_collection(const world *w, json_t *splits)
{
    char name[60];
    uint64_t queries = 0;
    for (int split = 0; split < SPLIT_COUNT; split++)
        queries += w->query_count[split];
    snprintf(name, sizeof name, "mini-world-%llu", (unsigned long long)w->seed);
    json_t *json = json_object(), *generated = json_object(), *notes = json_array();
    json_object_set_new(json, "name", json_string(name));
    json_object_set_new(json, "source", json_string("mini world"));
    json_object_set_new(json, "version", json_integer(WORLD_VERSION));
    json_object_set_new(json, "world_seed", json_integer((json_int_t)w->seed));
    json_object_set_new(json, "passages", json_integer(w->passage_count));
    json_object_set_new(json, "documents", json_integer(w->params.documents));
    json_object_set_new(json, "document_structure", json_string("documents of the world"));
    json_object_set_new(json, "queries", json_integer((json_int_t)queries));
    json_object_set_new(json, "title_join", json_string("none"));
    json_object_set_new(json, "passages_with_title", json_integer(0));
    json_object_set_new(json, "empty_texts", json_integer(0));
    json_object_set(json, "splits", splits);
    json_object_set_new(json, "generator", json_string(w->params.generator.name));
    json_object_set_new(generated, "queries",
                        json_integer((json_int_t)w->passage_count * w->params.generated));
    json_object_set_new(generated, "fewest_per_passage", json_integer(w->params.generated));
    json_object_set_new(generated, "most_per_passage", json_integer(w->params.generated));
    json_object_set_new(generated, "passages_without", json_integer(0));
    json_object_set_new(json, "generated", generated);
    json_array_append_new(notes, json_string("an invented world; scores say nothing about "
                                             "collections of real text"));
    json_object_set_new(json, "notes", notes);
    return json;
}

static bool write_collection(const world *w, const char *folder, gb_status *status)
{
    static const struct {
        const char *name;       /* file */
        uint32_t element_bytes; /* of the table */
        row_writer rows;        /* what it holds */
    } tables[] = {{"passages.id.gbt", 1, passage_ids},
                  {"passages.title.gbt", 1, passage_titles},
                  {"passages.text.gbt", 1, passage_texts},
                  {"passages.document.gbt", 4, passage_documents},
                  {"passages.truth.gbt", 4, passage_truth},
                  {"queries.id.gbt", 1, query_ids},
                  {"queries.text.gbt", 1, query_texts},
                  {"queries.truth.gbt", 4, query_truth},
                  {"generated.gbt", 1, gb_world_generated_rows}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (!write_table(w, folder, tables[i].name, tables[i].element_bytes, tables[i].rows,
                         status))
            return false;
    json_t *splits = json_object();
    char *vocab = gb_path_join(status, folder, "vocab.txt");
    bool ok = vocab && write_qrels(w, folder, splits, status) &&
              gb_world_write_vocab(w, vocab, status) &&
              gb_json_save_in(folder, "world.json", gb_world_describe(w), status) &&
              gb_json_save_in(folder, "collection.json", describe_collection(w, splits), status);
    json_decref(splits);
    free(vocab);
    return ok;
}

/* ---- BEIR folder --------------------------------------------------------------------------- */

/* All texts of the world are plain ASCII without quotes or backslashes: no escapes needed. */
typedef void (*line_writer)(const world *w, FILE *out);

static void corpus_lines(const world *w, FILE *out)
{
    char id[ID_BYTES];
    for (uint32_t row = 0; row < w->passage_count; row++) {
        passage_id(w, row, id);
        fprintf(out, "{\"_id\": \"%s\", \"title\": \"\", \"text\": \"%s\"}\n", id,
                w->passages[row].text);
    }
}

static void query_lines(const world *w, FILE *out)
{
    char id[ID_BYTES];
    for (world_split split = SPLIT_TRAIN; split < SPLIT_COUNT; split++) {
        for (uint32_t i = 0; i < w->query_count[split]; i++) {
            query_id(split, i, id);
            fprintf(out, "{\"_id\": \"%s\", \"text\": \"%s\"}\n", id, w->queries[split][i].text);
        }
    }
}

static void document_lines(const world *w, FILE *out)
{
    char id[ID_BYTES];
    for (uint32_t row = 0; row < w->passage_count; row++) {
        uint32_t document = w->passages[row].document;
        bool first = row == 0 || w->passages[row - 1].document != document;
        bool last = row + 1 == w->passage_count || w->passages[row + 1].document != document;
        passage_id(w, row, id);
        if (first)
            fprintf(out, "{\"id\": \"%u\", \"passages\": [", document);
        fprintf(out, "%s{\"id\": \"%s\"}%s", first ? "" : ", ", id, last ? "]}\n" : "");
    }
}

static void generated_lines(const world *w, FILE *out)
{
    char id[ID_BYTES];
    for (uint32_t row = 0; row < w->passage_count; row++) {
        passage_id(w, row, id);
        fprintf(out, "{\"id\": \"%s\", \"queries\": [", id);
        for (uint32_t k = 0; k < w->params.generated; k++)
            fprintf(out, "%s\"%s\"", k ? ", " : "",
                    w->generated[(size_t)row * w->params.generated + k]);
        fprintf(out, "]}\n");
    }
}

static bool write_beir(const world *w, const char *folder, gb_status *status)
{
    static const struct {
        const char *name;  /* file */
        line_writer lines; /* what it holds */
    } files[] = {{"corpus.jsonl", corpus_lines},
                 {"queries.jsonl", query_lines},
                 {"documents.jsonl", document_lines},
                 {"generated.jsonl", generated_lines}};
    char *beir = gb_path_join(status, folder, "beir");
    bool ok = beir && gb_make_dirs(beir, status) && write_qrels(w, beir, NULL, status);
    for (size_t i = 0; i < sizeof files / sizeof *files && ok; i++) {
        char *path = gb_path_join(status, beir, files[i].name);
        gb_out *out = path ? gb_out_open(path, status) : NULL;
        if (out)
            files[i].lines(w, gb_out_stream(out));
        ok = out && gb_out_commit(out, status);
        free(path);
    }
    free(beir);
    return ok;
}

bool gb_world_write(const world *w, const char *folder, gb_status *status)
{
    return write_collection(w, folder, status) && write_beir(w, folder, status);
}

bool gb_world_generate(uint64_t world_seed, const char *out_dir, gb_status *status)
{
    char *draft = gb_draft_create(out_dir, "world.json", status);
    if (!draft)
        return false;
    world w = {0};
    gb_world_params params = gb_world_defaults();
    bool ok = gb_world_make(&w, &params, world_seed, status) && gb_world_write(&w, draft, status);
    gb_world_free(&w);
    if (!ok)
        gb_remove_tree(draft, NULL);
    else
        ok = gb_place_folder(draft, out_dir, status);
    free(draft);
    return ok;
}
