/* Folders and files of a set: a collection without generated queries, its splits as the task has
 * them, answers.tsv where questions have answers, main's vocabulary. */
#include "data/json.h"
#include "data/world_sets.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ID_BYTES = 40 };

static void query_id(const set_split *split, uint32_t number, char id[ID_BYTES])
{
    snprintf(id, ID_BYTES, "%s-%u", split->name, number);
}

/* ---- tables --------------------------------------------------------------------------------- */

typedef bool (*row_writer)(const world_set_data *d, gb_table_writer *writer, gb_status *status);

static bool write_table(const world_set_data *d, const char *folder, const char *name,
                        uint32_t element_bytes, row_writer rows, gb_status *status)
{
    gb_table_writer *writer = gb_table_writer_open_in(folder, name, element_bytes, status);
    return gb_table_writer_end(writer, writer && rows(d, writer, status), status);
}

static bool add_text(gb_table_writer *writer, const char *text, gb_status *status)
{
    return gb_table_writer_add(writer, text, strlen(text), status);
}

static bool text_ids(const world_set_data *d, gb_table_writer *writer, gb_status *status)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < d->text_count; i++)
        ok = add_text(writer, d->texts[i].id, status);
    return ok;
}

static bool text_titles(const world_set_data *d, gb_table_writer *writer, gb_status *status)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < d->text_count; i++)
        ok = add_text(writer, d->texts[i].title, status);
    return ok;
}

static bool text_texts(const world_set_data *d, gb_table_writer *writer, gb_status *status)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < d->text_count; i++)
        ok = add_text(writer, d->texts[i].text, status);
    return ok;
}

static bool text_documents(const world_set_data *d, gb_table_writer *writer, gb_status *status)
{
    uint32_t *documents = gb_alloc(d->text_count, sizeof *documents, status);
    if (!documents)
        return false;
    for (uint32_t i = 0; i < d->text_count; i++)
        documents[i] = d->texts[i].document;
    bool ok = gb_table_writer_add(writer, documents, d->text_count, status);
    free(documents);
    return ok;
}

/* Fields as gb_truth numbers them. */
static bool text_truth(const world_set_data *d, gb_table_writer *writer, gb_status *status)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < d->text_count; i++) {
        uint32_t truth[] = {d->texts[i].entity, d->texts[i].cluster};
        ok = gb_table_writer_add(writer, truth, 2, status);
    }
    return ok;
}

static bool query_ids(const world_set_data *d, gb_table_writer *writer, gb_status *status)
{
    bool ok = true;
    char id[ID_BYTES];
    for (uint32_t s = 0; s < d->split_count; s++)
        for (uint32_t i = 0; ok && i < d->splits[s].count; i++) {
            query_id(&d->splits[s], i, id);
            ok = add_text(writer, id, status);
        }
    return ok;
}

static bool query_texts(const world_set_data *d, gb_table_writer *writer, gb_status *status)
{
    bool ok = true;
    for (uint32_t s = 0; s < d->split_count; s++)
        for (uint32_t i = 0; ok && i < d->splits[s].count; i++)
            ok = add_text(writer, d->splits[s].queries[i].text, status);
    return ok;
}

static bool query_truth(const world_set_data *d, gb_table_writer *writer, gb_status *status)
{
    bool ok = true;
    for (uint32_t s = 0; s < d->split_count; s++)
        for (uint32_t i = 0; ok && i < d->splits[s].count; i++) {
            uint32_t truth[] = {d->splits[s].queries[i].entity, d->splits[s].queries[i].fact};
            ok = gb_table_writer_add(writer, truth, 2, status);
        }
    return ok;
}

/* ---- text files ----------------------------------------------------------------------------- */

typedef void (*line_writer)(const world_set_data *d, const set_split *split, FILE *out);

static bool write_lines(const world_set_data *d, const set_split *split, char *path,
                        line_writer lines, gb_status *status)
{
    gb_out *out = path ? gb_out_open(path, status) : NULL;
    free(path);
    if (!out)
        return false;
    lines(d, split, gb_out_stream(out));
    return gb_out_commit(out, status);
}

static void qrel_lines(const world_set_data *d, const set_split *split, FILE *out)
{
    char id[ID_BYTES];
    fprintf(out, "query-id\tcorpus-id\tscore\n");
    for (size_t i = 0; i < split->judgement_count; i++) {
        gb_qrel row = split->judgements[i];
        query_id(split, row.query, id);
        fprintf(out, "%s\t%s\t%d\n", id, d->texts[row.passage].id, (int)row.grade);
    }
}

static void answer_lines(const world_set_data *d, const set_split *none, FILE *out)
{
    char id[ID_BYTES];
    (void)none;
    for (uint32_t s = 0; s < d->split_count; s++)
        for (uint32_t i = 0; i < d->splits[s].count; i++) {
            query_id(&d->splits[s], i, id);
            fputs(id, out);
            for (int a = 0; a < WORLD_VALUE_WORDINGS; a++)
                fprintf(out, "\t%s", d->splits[s].queries[i].answers[a]);
            fputc('\n', out);
        }
}

static bool write_judgements(const world_set_data *d, const char *folder, gb_status *status)
{
    char *dir = gb_path_join(status, folder, "qrels");
    bool ok = dir && gb_make_dirs(dir, status);
    for (uint32_t s = 0; ok && s < d->split_count; s++) {
        char *path = gb_format(status, "%s/%s.tsv", dir, d->splits[s].name);
        ok = path && write_lines(d, &d->splits[s], path, qrel_lines, status);
    }
    free(dir);
    if (ok && d->set->endings)
        ok =
            write_lines(d, NULL, gb_path_join(status, folder, "answers.tsv"), answer_lines, status);
    return ok;
}

/* ---- descriptions --------------------------------------------------------------------------- */

static json_t *describe_splits(const world_set_data *d)
{
    json_t *splits = json_object();
    for (uint32_t s = 0; s < d->split_count; s++) {
        const set_split *split = &d->splits[s];
        uint64_t relevant = 0;
        int highest = 0;
        for (size_t i = 0; i < split->judgement_count; i++) {
            relevant += split->judgements[i].grade >= 1;
            highest = split->judgements[i].grade > highest ? split->judgements[i].grade : highest;
        }
        json_t *json = json_object();
        json_object_set_new(json, "queries", json_integer(split->count));
        json_object_set_new(json, "judgements", json_integer((json_int_t)split->judgement_count));
        json_object_set_new(json, "relevant", json_integer((json_int_t)relevant));
        json_object_set_new(json, "highest_grade", json_integer(highest));
        json_object_set_new(json, "skipped_unknown", json_integer(0));
        json_object_set_new(splits, split->name, json);
    }
    return splits;
}

static json_t *describe_collection(const world_set_data *d)
{
    char text[200];
    uint32_t queries = 0, titled = 0;
    for (uint32_t s = 0; s < d->split_count; s++)
        queries += d->splits[s].count;
    for (uint32_t i = 0; i < d->text_count; i++)
        titled += d->texts[i].title[0] != '\0';
    json_t *json = json_object(), *notes = json_array();
    snprintf(text, sizeof text, "mini-world-%llu-%s", (unsigned long long)d->w->seed, d->set->name);
    json_object_set_new(json, "name", json_string(text));
    json_object_set_new(json, "source", json_string("mini world"));
    json_object_set_new(json, "set", json_string(d->set->name));
    json_object_set_new(json, "version", json_integer(WORLD_VERSION));
    json_object_set_new(json, "world_seed", json_integer((json_int_t)d->w->seed));
    json_object_set_new(json, "passages", json_integer(d->text_count));
    json_object_set_new(json, "documents", json_integer(d->texts[d->text_count - 1].document + 1));
    json_object_set_new(json, "document_structure", json_string("documents of the world"));
    json_object_set_new(json, "queries", json_integer(queries));
    json_object_set_new(json, "title_join", json_string(titled ? "space" : "none"));
    json_object_set_new(json, "passages_with_title", json_integer(titled));
    json_object_set_new(json, "empty_texts", json_integer(0));
    json_object_set_new(json, "splits", describe_splits(d));
    snprintf(text, sizeof text, "an invented set with this trait of the real one: %s",
             d->set->trait);
    json_array_append_new(notes, json_string(text));
    json_object_set_new(json, "notes", notes);
    return json;
}

static uint64_t count_words(const char *text)
{
    uint64_t words = 0;
    for (; *text; text++)
        words += isalnum((unsigned char)text[0]) && !isalnum((unsigned char)text[1]);
    return words;
}

/* world.json: the parameters and what came of them. */
static json_t *describe_world(const world_set_data *d)
{
    const world_set *set = d->set;
    json_t *json = json_object(), *parameters = json_object(), *measured = json_object();
    json_object_set_new(parameters, "entities", json_integer(set->entities));
    json_object_set_new(parameters, "types", json_integer(set->types));
    json_object_set_new(parameters, "clusters", json_integer(set->clusters));
    json_object_set_new(parameters, "clusters_of_a_type", json_integer(set->type_clusters));
    json_object_set_new(parameters, "units_of_a_text", json_integer(set->units));
    json_object_set_new(parameters, "foreign_attributes", json_real(set->foreign));
    json_object_set_new(parameters, "aside", json_real(set->aside));
    double words = 0, asked = 0, queries = 0, relevant = 0;
    for (uint32_t i = 0; i < d->text_count; i++)
        words += (double)(count_words(d->texts[i].title) + count_words(d->texts[i].text));
    for (uint32_t s = 0; s < d->split_count; s++) {
        queries += d->splits[s].count;
        for (uint32_t i = 0; i < d->splits[s].count; i++)
            asked += (double)count_words(d->splits[s].queries[i].text);
        for (size_t i = 0; i < d->splits[s].judgement_count; i++)
            relevant += d->splits[s].judgements[i].grade >= 1;
    }
    json_object_set_new(measured, "words_per_passage", gb_world_share(words, d->text_count));
    json_object_set_new(measured, "words_per_query", gb_world_share(asked, queries));
    json_object_set_new(measured, "positives_per_query", gb_world_share(relevant, queries));
    json_object_set_new(json, "version", json_integer(WORLD_VERSION));
    json_object_set_new(json, "world_seed", json_integer((json_int_t)d->w->seed));
    json_object_set_new(json, "set", json_string(set->name));
    json_object_set_new(json, "trait", json_string(set->trait));
    json_object_set_new(json, "parameters", parameters);
    json_object_set_new(json, "measured", measured);
    return json;
}

bool gb_world_set_write(const world_set_data *d, const char *folder, gb_status *status)
{
    static const struct {
        const char *name;       /* file */
        uint32_t element_bytes; /* of the table */
        row_writer rows;        /* what it holds */
    } tables[] = {
        {"passages.id.gbt", 1, text_ids},      {"passages.title.gbt", 1, text_titles},
        {"passages.text.gbt", 1, text_texts},  {"passages.document.gbt", 4, text_documents},
        {"passages.truth.gbt", 4, text_truth}, {"queries.id.gbt", 1, query_ids},
        {"queries.text.gbt", 1, query_texts},  {"queries.truth.gbt", 4, query_truth}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (!write_table(d, folder, tables[i].name, tables[i].element_bytes, tables[i].rows,
                         status))
            return false;
    char *vocab = gb_path_join(status, folder, "vocab.txt");
    bool ok = vocab && gb_world_write_vocab(d->language, vocab, status) &&
              write_judgements(d, folder, status) &&
              gb_json_save_in(folder, "world.json", describe_world(d), status) &&
              gb_json_save_in(folder, "collection.json", describe_collection(d), status);
    free(vocab);
    return ok;
}
