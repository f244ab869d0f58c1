/* Files of token ids, as the scripts of pre-training methods write them, without special tokens:
 *   {"spans": [[ids], ...]}     a document a line (helper/create_train_co.py of luyug/Condenser)
 *   {"text": [ids]}             a text (helper/create_train.py there); with "text_id", a passage as
 *                               COSTA's and Tevatron's tokenize_passages.py write it
 *   {"anchor": [ids], ...}      a passage of query-as-context (tokenize_json_file.py of caskcsg/ir,
 *                               cotmae-qc/qg): lists under a name with "query" are its generated
 *                               queries, [[ids], ...] or one [ids]; "random_sampled", "nearby" and
 *                               "overlap" are other spans of its document
 *
 * Passages are texts here: the ids are written as words, from which the same vocabulary makes the
 * same ids again. Where it does not, as of a word that was cut, the import counts it. */
#include "data/import.h"

#include <stdlib.h>
#include <string.h>

static const char *const contexts[] = {"random_sampled", "nearby", "overlap", NULL};

/* A file being read. */
typedef struct ids_file {
    gb_import *import;       /* the collection */
    const gb_lines *lines;   /* at the object at hand */
    const gb_vocab *vocab;   /* of the ids */
    gb_tokenizer *tokenizer; /* of it */
    gb_ids given, made;      /* of a text */
    gb_text text;            /* written from ids */
    gb_out *queries;         /* import->generated, or NULL: none yet */
    uint64_t texts, changed; /* written; of which other ids are made */
} ids_file;

static bool is_ids(const json_t *value)
{
    return json_is_array(value) && json_is_integer(json_array_get(value, 0));
}

static bool is_lists(const json_t *value)
{
    return json_is_array(value) && json_is_array(json_array_get(value, 0));
}

bool data_import_is_ids(const json_t *object)
{
    return is_lists(json_object_get(object, "spans")) ||
           is_ids(json_object_get(object, "anchor")) || is_ids(json_object_get(object, "text"));
}

/* ---- ids as text ---- */

static bool read_ids(ids_file *f, const json_t *list, gb_status *status)
{
    size_t i;
    json_t *value;
    f->given.count = 0;
    if (!json_is_array(list))
        return gb_lines_fail(f->lines, status, NULL, "a text that is no list of ids");
    json_array_foreach(list, i, value)
    {
        json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        if (id < 0 || id >= gb_vocab_size(f->vocab))
            return gb_lines_fail(f->lines, status, "give the vocabulary that made the ids",
                                 json_is_integer(value) ? "the vocabulary has no token %lld"
                                                        : "a token that is no number",
                                 (long long)id);
        if (!gb_ids_append(&f->given, (uint32_t)id, status))
            return false;
    }
    return true;
}

/* Writes the ids as words, and looks whether they are made of these again. */
static bool write_text(ids_file *f, const json_t *list, gb_status *status)
{
    if (!read_ids(f, list, status))
        return false;
    f->text.length = 0;
    gb_text_append(&f->text, "", 0);
    for (size_t i = 0; i < f->given.count; i++) {
        const char *token = gb_vocab_token(f->vocab, f->given.data[i]);
        bool inside = i && gb_vocab_is_continuation(f->vocab, f->given.data[i]);
        if (i && !inside)
            gb_text_append(&f->text, " ", 1);
        token += inside ? 2 : 0;
        gb_text_append(&f->text, token, strlen(token));
    }
    gb_text_append(&f->text, "", 1);
    if (f->text.failed)
        return gb_fail_memory(status, "writing texts of ids");
    f->made.count = 0;
    if (!gb_tokenize(f->tokenizer, f->text.data, f->text.length - 1, &f->made, status))
        return false;
    f->texts++;
    f->changed += f->made.count != f->given.count ||
                  (f->given.count && memcmp(f->made.data, f->given.data,
                                            f->given.count * sizeof *f->given.data) != 0);
    return true;
}

/* ---- passages and queries ---- */

static bool add_passage(ids_file *f, const char *id, const json_t *list, uint32_t document,
                        gb_status *status)
{
    return write_text(f, list, status) &&
           data_import_passage(f->import, f->lines, id, "", f->text.data, document, status);
}

static bool add_query(ids_file *f, json_t *list, const json_t *ids, gb_status *status)
{
    return write_text(f, ids, status) &&
           (json_array_append_new(list, json_string(f->text.data)) == 0 ||
            gb_fail_memory(status, "writing queries of ids"));
}

/* The queries of a passage, of all names. */
static bool write_queries(ids_file *f, const char *id, const json_t *object, gb_status *status)
{
    json_t *queries = json_array(), *value;
    const char *key;
    size_t i;
    bool ok = queries != NULL;
    json_object_foreach((json_t *)object, key, value)
    {
        if (!ok || !strstr(key, "query"))
            continue;
        if (!is_lists(value)) {
            ok = add_query(f, queries, value, status);
            continue;
        }
        const json_t *one;
        json_array_foreach(value, i, one) ok = ok && add_query(f, queries, one, status);
    }
    if (ok && json_array_size(queries) && !f->queries) {
        f->import->generated = gb_path_join(status, f->import->dir, "generated.jsonl");
        ok = f->import->generated && (f->queries = gb_out_open(f->import->generated, status));
    }
    json_t *line = json_pack("{s:s, s:O}", "id", id, "queries", queries);
    if (ok && json_array_size(queries)) {
        gb_text text = {0};
        ok = gb_json_print(line, JSON_COMPACT | GB_JSON_NEWLINE, &text, status);
        fwrite(text.data, 1, ok ? text.length : 0, gb_out_stream(f->queries));
        gb_text_free(&text);
    }
    json_decref(line);
    json_decref(queries);
    return ok;
}

/* A passage and its kin in one document. */
static bool take_anchor(ids_file *f, const json_t *object, const char *id, uint32_t document,
                        gb_status *status)
{
    const json_t *anchor = json_object_get(object, "anchor");
    bool ok =
        add_passage(f, id, anchor ? anchor : json_object_get(object, "text"), document, status) &&
        write_queries(f, id, object, status);
    for (const char *const *name = contexts; ok && *name; name++) {
        const json_t *context = json_object_get(object, *name);
        char *other = context ? gb_format(status, "%s-%s", id, *name) : NULL;
        ok = !context || (other && add_passage(f, other, context, document, status));
        free(other);
    }
    return ok;
}

static bool take_spans(ids_file *f, const json_t *spans, const char *id, uint32_t document,
                       gb_status *status)
{
    size_t i;
    const json_t *span;
    bool ok = true;
    json_array_foreach(spans, i, span)
    {
        char *name = ok ? gb_format(status, "%s-%zu", id, i) : NULL;
        ok = ok && name && add_passage(f, name, span, document, status);
        free(name);
    }
    return ok;
}

/* ctx: an ids_file */
static bool take_line(void *ctx, const gb_lines *lines, const json_t *object, gb_status *status)
{
    ids_file *f = ctx;
    char number[GB_JSON_NUMBER];
    f->lines = lines;
    if (!data_import_is_ids(object))
        return gb_lines_fail(lines, status, "\"spans\", \"anchor\" or \"text\" are lists of ids",
                             "a line without ids of tokens");
    const json_t *given = json_object_get(object, "text_id"),
                 *spans = json_object_get(object, "spans");
    snprintf(number, sizeof number, "%llu",
             json_is_integer(given) ? (unsigned long long)json_integer_value(given)
                                    : (unsigned long long)gb_lines_number(lines) - 1);
    const char *id = json_is_string(given) ? json_string_value(given) : number;
    uint32_t document = f->import->documents++;
    return spans ? take_spans(f, spans, id, document, status)
                 : take_anchor(f, object, id, document, status);
}

bool data_import_ids(gb_import *import, const char *path, gb_status *status)
{
    ids_file f = {.import = import, .vocab = import->params->vocab};
    import->kind = "ids of tokens";
    import->structure = "a document a line";
    if (!f.vocab)
        return gb_fail(status, GB_USAGE, path,
                       "name the vocabulary that made them: gabbro collection --vocabulary",
                       "ids of tokens");
    const gb_vocab_rules *rules = gb_vocab_get_rules(f.vocab);
    if (rules->kind != GB_VOCAB_WORDS)
        return gb_fail(status, GB_USAGE, path, "ids of WordPiece can be read",
                       "ids of another kind of tokens");
    bool ok = (f.tokenizer = gb_tokenizer_create(f.vocab, rules->words, status)) &&
              gb_jsonl_each(data_import_open(import, path, status), take_line, &f, status) &&
              data_import_corpus_done(import, path, status);
    if (ok && f.changed)
        data_import_note(import,
                         "Of %llu texts that were ids of tokens, %llu give other ids again (words "
                         "that were cut, for one).",
                         (unsigned long long)f.texts, (unsigned long long)f.changed);
    if (ok && f.queries)
        ok = gb_out_commit(f.queries, status);
    else
        gb_out_abandon(f.queries);
    gb_tokenizer_destroy(f.tokenizer);
    gb_text_free(&f.text);
    free(f.given.data);
    free(f.made.data);
    return ok;
}
