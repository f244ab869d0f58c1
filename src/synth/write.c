/* Sets as files. They are written as a BEIR folder and read by the import of collections, as any
 * other; what only the world knows lies beside in files of its own. */
#include "synth/world.h"

#include <gabbro/data.h>

#include <stdlib.h>
#include <string.h>

enum { ID_BYTES = 40 };

/* Passage ids say the document and the place in it; query ids the split and the number. */
static void passage_id(const world *w, uint32_t row, char id[ID_BYTES])
{
    uint32_t first = row;
    while (first > 0 && w->passages[first - 1].document == w->passages[row].document)
        first--;
    snprintf(id, ID_BYTES, "%u-%u", w->passages[row].document, row - first);
}

static void query_id(const world_split *split, uint32_t number, char id[ID_BYTES])
{
    snprintf(id, ID_BYTES, "%s-%u", split->name, number);
}

static bool opens_document(const world *w, uint32_t row)
{
    return row == 0 || w->passages[row - 1].document != w->passages[row].document;
}

/* ---- the BEIR folder ---- */

/* All texts of the world are plain ASCII without quotes or backslashes: no escapes needed. */
typedef void (*line_writer)(const world *w, const world_split *split, FILE *out);

static void corpus_lines(const world *w, const world_split *none, FILE *out)
{
    char id[ID_BYTES];
    (void)none;
    for (uint32_t row = 0, first = 0; row < w->passage_count; row++) {
        first = opens_document(w, row) ? row : first;
        passage_id(w, row, id);
        fprintf(out, "{\"_id\": \"%s\", \"title\": \"%s\", \"text\": \"%s\"}\n", id,
                w->set->titled ? w->entities[w->passages[first].entity].name : "",
                w->passages[row].text);
    }
}

static void document_lines(const world *w, const world_split *none, FILE *out)
{
    char id[ID_BYTES];
    (void)none;
    for (uint32_t row = 0; row < w->passage_count; row++) {
        bool first = opens_document(w, row);
        bool last = row + 1 == w->passage_count || opens_document(w, row + 1);
        passage_id(w, row, id);
        if (first)
            fprintf(out, "{\"id\": \"%u\", \"passages\": [", w->passages[row].document);
        fprintf(out, "%s{\"id\": \"%s\"}%s", first ? "" : ", ", id, last ? "]}\n" : "");
    }
}

static void query_lines(const world *w, const world_split *none, FILE *out)
{
    char id[ID_BYTES];
    (void)none;
    for (uint32_t s = w->split_count; s-- > 0;) /* training first */
        for (uint32_t i = 0; i < w->splits[s].count; i++) {
            query_id(&w->splits[s], i, id);
            fprintf(out, "{\"_id\": \"%s\", \"text\": \"%s\"}\n", id, w->splits[s].queries[i].text);
        }
}

static void generated_lines(const world *w, const world_split *none, FILE *out)
{
    char id[ID_BYTES];
    (void)none;
    for (uint32_t row = 0; row < w->passage_count; row++) {
        passage_id(w, row, id);
        fprintf(out, "{\"id\": \"%s\", \"queries\": [", id);
        for (uint32_t k = 0; k < w->generated_count; k++)
            fprintf(out, "%s\"%s\"", k ? ", " : "",
                    w->generated[(size_t)row * w->generated_count + k]);
        fprintf(out, "]}\n");
    }
}

static void answer_lines(const world *w, const world_split *none, FILE *out)
{
    char id[ID_BYTES];
    (void)none;
    for (uint32_t s = 0; s < w->split_count; s++)
        for (uint32_t i = 0; i < w->splits[s].count; i++) {
            const lexicon_value *value = synth_world_value(w, w->splits[s].queries[i].fact);
            query_id(&w->splits[s], i, id);
            fputs(id, out);
            for (uint32_t a = 0; a < value->wordings; a++)
                fprintf(out, "\t%s", value->full[a]);
            fputc('\n', out);
        }
}

static void qrel_lines(const world *w, const world_split *split, FILE *out)
{
    char query[ID_BYTES], passage[ID_BYTES];
    fprintf(out, "query-id\tcorpus-id\tscore\n");
    for (size_t i = 0; i < split->judgement_count; i++) {
        gb_qrel row = split->judgements[i];
        query_id(split, row.query, query);
        passage_id(w, row.passage, passage);
        fprintf(out, "%s\t%s\t%d\n", query, passage, (int)row.grade);
    }
}

/* folder/name, name freed. */
static bool write_lines(const world *w, const world_split *split, const char *folder, char *name,
                        line_writer lines, gb_status *status)
{
    char *path = name ? gb_path_join(status, folder, name) : NULL;
    gb_out *out = path ? gb_out_open(path, status) : NULL;
    if (out)
        lines(w, split, gb_out_stream(out));
    free(path);
    free(name);
    return out && gb_out_commit(out, status);
}

static bool write_beir(const world *w, const char *folder, gb_status *status)
{
    const struct {
        const char *name;  /* file */
        line_writer lines; /* what it holds */
        bool wanted;       /* in this set */
    } files[] = {{"corpus.jsonl", corpus_lines, true},
                 {"documents.jsonl", document_lines, true},
                 {"queries.jsonl", query_lines, w->split_count > 0},
                 {"generated.jsonl", generated_lines, w->generated_count > 0},
                 {"answers.tsv", answer_lines, w->set->answers}};
    char *qrels = gb_path_join(status, folder, "qrels");
    bool ok = qrels && gb_make_dirs(qrels, status);
    for (uint32_t s = 0; ok && s < w->split_count; s++)
        ok = write_lines(w, &w->splits[s], qrels, gb_format(status, "%s.tsv", w->splits[s].name),
                         qrel_lines, status);
    for (size_t i = 0; i < sizeof files / sizeof *files && ok; i++)
        ok = !files[i].wanted ||
             write_lines(w, NULL, folder, gb_strdup(files[i].name, status), files[i].lines, status);
    free(qrels);
    return ok;
}

/* ---- beside the collection ---- */

static bool passage_truth(const world *w, gb_row_writer *writer, gb_status *status)
{
    bool ok = true;
    for (uint32_t row = 0; ok && row < w->passage_count; row++) {
        const world_passage *p = &w->passages[row];
        uint32_t truth[1 + WORLD_MOST_STATED] = {p->entity};
        memcpy(truth + 1, p->facts, p->fact_count * sizeof *truth);
        ok = gb_row_writer_add(writer, truth, 1 + p->fact_count, status);
    }
    return ok;
}

static bool query_truth(const world *w, gb_row_writer *writer, gb_status *status)
{
    bool ok = true;
    for (uint32_t s = w->split_count; s-- > 0;)
        for (uint32_t i = 0; ok && i < w->splits[s].count; i++) {
            uint32_t fact = w->splits[s].queries[i].fact;
            uint32_t truth[] = {w->facts[fact].entity, fact};
            ok = gb_row_writer_add(writer, truth, 2, status);
        }
    return ok;
}

static bool write_truth(const world *w, const char *folder, gb_status *status)
{
    const struct {
        const char *name;                                                       /* file */
        bool (*rows)(const world *w, gb_row_writer *writer, gb_status *status); /* its rows */
    } tables[] = {{"passages.truth.gbt", passage_truth}, {"queries.truth.gbt", query_truth}};
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof tables / sizeof *tables; i++) {
        gb_row_writer *writer = gb_row_writer_open_in(folder, tables[i].name, 4, status);
        ok = gb_row_writer_end(writer, writer && tables[i].rows(w, writer, status), status);
    }
    return ok;
}

static bool write_vocabulary(const world *w, const char *folder, gb_status *status)
{
    gb_text tokens = {0};
    gb_map *known = gb_map_create(status);
    char *path = gb_path_join(status, folder, "vocab.txt");
    bool ok = known && path && synth_lexicon_tokens(w->lexicon, &tokens, known, status) &&
              gb_text_write(&tokens, path, status);
    free(path);
    gb_map_destroy(known);
    gb_text_free(&tokens);
    return ok;
}

static bool save_json(const json_t *json, const char *folder, const char *name, gb_status *status)
{
    return gb_json_save_in(json, GB_JSON_DESCRIPTION & ~GB_JSON_NEWLINE, folder, name, status);
}

/* What the import cannot know: who wrote the queries, and that the collection is none of real text.
 * Sets without generated queries lose those that the import extracted. */
static bool amend(const world *w, const char *folder, gb_status *status)
{
    char note[200];
    char *path = gb_path_join(status, folder, "collection.json");
    char *extracted = gb_path_join(status, folder, "generated.gbt");
    json_t *json = path && extracted ? gb_json_load(path, 0, status) : NULL;
    snprintf(note, sizeof note,
             "an invented set; scores say nothing about collections of real "
             "text. It stands for: %s",
             w->set->trait);
    bool ok = json && gb_memory_check("describing the collection", status);
    if (ok) {
        json_array_append_new(json_object_get(json, "notes"), json_string(note));
        if (w->generated_count)
            json_object_set_new(json, "generator",
                                json_string(synth_world_generator_title(w->generator)));
        json_object_del(json, w->generated_count ? "seed" : "generated");
        ok = save_json(json, folder, "collection.json", status) &&
             (w->generated_count || gb_remove_tree(extracted, status));
    }
    json_decref(json);
    free(path);
    free(extracted);
    return ok;
}

/* draft/NAME is the BEIR folder, draft/collection becomes the collection. */
static bool write_all(const world *w, const char *draft, const char *folder, gb_status *status)
{
    gb_import_params params = GB_IMPORT_DEFAULTS;
    char *beir = gb_format(status, "%s/mini-world-%llu%s%s", draft, (unsigned long long)w->seed,
                           w->set->task == TASK_MAIN ? "" : "-",
                           w->set->task == TASK_MAIN ? "" : w->set->name);
    char *queries = beir ? gb_path_join(status, beir, "generated.jsonl") : NULL;
    char *place = gb_path_join(status, folder, "beir");
    bool ok = queries && place && write_beir(w, beir, status);
    params.path = beir;
    params.queries = w->generated_count ? queries : NULL;
    params.queries_per_passage = 1;
    params.keep_splits = true;
    ok = ok && gb_collection_import(&params, folder, status) && amend(w, folder, status) &&
         write_truth(w, folder, status) && write_vocabulary(w, folder, status) &&
         gb_replace_folder(beir, place, status);
    json_t *json = ok ? synth_world_describe(w) : NULL;
    ok = ok && save_json(json, folder, "world.json", status);
    json_decref(json);
    free(beir);
    free(queries);
    free(place);
    return ok;
}

/* Main's documents have main's streams; other sets have streams of their own. */
static uint32_t streams_of(uint32_t set)
{
    return synth_world_set_at(set)->task == TASK_DOCUMENTS ? 0 : set;
}

bool gb_synth_generate(uint64_t seed, const char *set, const char *out_dir, gb_status *status)
{
    uint32_t number = 0;
    while (synth_world_set_at(number) && strcmp(synth_world_set_at(number)->name, set) != 0)
        number++;
    if (!synth_world_set_at(number))
        return gb_fail(status, GB_USAGE, NULL, "gabbro collection --help lists the sets",
                       "the mini world has no set \"%.60s\"", set);
    char *draft = gb_draft_create(out_dir, "world.json", status);
    char *folder = draft ? gb_path_join(status, draft, "collection") : NULL;
    world *w = folder
                   ? synth_world_make(synth_world_set_at(number), streams_of(number), seed, status)
                   : NULL;
    bool ok =
        w && write_all(w, draft, folder, status) && gb_replace_folder(folder, out_dir, status);
    gb_synth_destroy(w);
    if (draft)
        gb_remove_tree(draft, NULL);
    free(folder);
    free(draft);
    return ok;
}

/* ---- the world of a collection ---- */

bool gb_synth_of_collection(const gb_collection *collection, gb_synth **w, gb_status *status)
{
    *w = NULL;
    char *path = gb_path_join(status, collection->path, "world.json");
    json_t *json = path && gb_file_exists(path) ? gb_json_load(path, 0, NULL) : NULL;
    const char *set = json_string_value(json_object_get(json, "set"));
    bool ok = path != NULL;
    if (json && json_integer_value(json_object_get(json, "version")) != GB_WORLD_VERSION) {
        ok = gb_fail(status, GB_DATA, path, "make the collection again",
                     "the collection is of another version of the mini world");
    } else if (set && !strcmp(set, "main")) {
        json_int_t seed = json_integer_value(json_object_get(json, "world_seed"));
        *w = synth_world_make(synth_world_set_at(0), 0, (uint64_t)seed, status);
        ok = *w != NULL;
        if (ok && (*w)->passage_count != collection->passages) {
            ok = gb_fail(status, GB_DATA, path, "make the collection again",
                         "the collection has %u passages, its world %u", collection->passages,
                         (*w)->passage_count);
            gb_synth_destroy(*w);
            *w = NULL;
        }
    }
    json_decref(json);
    free(path);
    return ok;
}

static bool oracle_is_about(const void *ctx, uint32_t passage, const char *query, size_t length)
{
    return synth_world_is_about(ctx, passage, query, length);
}

static bool oracle_write(void *ctx, const char *name, uint32_t per_passage, const char *dir,
                         bool *known, gb_status *status)
{
    world *w = ctx;
    uint32_t generator = synth_world_generator(name), count = per_passage;
    *known = generator != GB_MAP_NONE;
    if (!*known)
        return true;
    if (generator == 0 && count > WORLD_GENERATED)
        return gb_fail(status, GB_USAGE, NULL, NULL, "world-t5 has written %d queries a passage",
                       WORLD_GENERATED);
    if (generator == 0 || count == 0)
        count = WORLD_GENERATED;
    if ((w->generator != generator || w->generated_count != count) &&
        !synth_world_make_generated(w, generator, count, status))
        return false;
    gb_row_writer *writer = gb_row_writer_open_in(dir, "generated.gbt", 1, status);
    return gb_row_writer_end(writer, writer && synth_world_generated_rows(w, writer, status),
                             status);
}

gb_query_oracle gb_synth_oracle(gb_synth *w)
{
    return (gb_query_oracle){.ctx = w, .is_about = oracle_is_about, .write = oracle_write};
}
