/* Long texts cut into spans: those of a documents.jsonl, of SQuAD's paragraphs, and of a collection
 * that is there. */
#include "data/import.h"

#include <stdlib.h>
#include <string.h>

enum { SPAN_WORDS = 100 }; /* where the user does not say */

static size_t count_words(const char *text, size_t length)
{
    size_t words = 0;
    bool inside = false;
    for (size_t i = 0; i < length; i++) {
        bool space = strchr(" \t\r\n", text[i]) != NULL;
        words += !space && !inside;
        inside = !space;
    }
    return words;
}

static size_t sentence_words(const char *text, gb_span sentence)
{
    return count_words(text + sentence.start, sentence.end - sentence.start);
}

/* Spans as CoT-MAE makes them: whole sentences until the wanted length is reached. A rest of less
 * than a quarter of it joins the span before. *end is one behind the last sentence of the span that
 * starts at `first`. */
static size_t span_end(const char *text, const gb_span *sentences, size_t count, size_t first,
                       size_t wanted)
{
    size_t words = 0, end = first;
    while (end < count && words < wanted)
        words += sentence_words(text, sentences[end++]);
    size_t rest = 0;
    for (size_t i = end; i < count && rest * 4 < wanted; i++)
        rest += sentence_words(text, sentences[i]);
    return rest * 4 < wanted ? count : end;
}

/* The same of spans of at most so many words, but for a sentence that has more. */
static size_t limited_end(const char *text, const gb_span *sentences, size_t count, size_t first,
                          size_t most)
{
    size_t end = first + 1, words = sentence_words(text, sentences[first]);
    while (end < count && (words += sentence_words(text, sentences[end])) <= most)
        end++;
    return end;
}

/* Append a span, the sentences from `first` to `end`, to cut->span and note where it begins. */
static bool join_sentences(gb_import_cutter *cut, const char *text, size_t first, size_t end,
                           gb_status *status)
{
    if (!gb_grow(&cut->starts, &cut->starts_capacity, (size_t)cut->spans + 1, sizeof *cut->starts,
                 status))
        return false;
    cut->starts[cut->spans] = cut->sentences[first].start;
    cut->span.length = 0;
    for (size_t i = first; i < end; i++) {
        if (i > first)
            gb_text_append(&cut->span, " ", 1);
        gb_text_append(&cut->span, text + cut->sentences[i].start,
                       cut->sentences[i].end - cut->sentences[i].start);
    }
    return true;
}

gb_import_cutter data_import_cutter_of(gb_import *import)
{
    uint32_t words = import->params->span_words;
    return (gb_import_cutter){.import = import, .words = words ? words : SPAN_WORDS};
}

bool data_import_cut_text(gb_import_cutter *cut, const gb_lines *lines, const char *id,
                          const char *title, const char *text, uint32_t document, gb_status *status)
{
    size_t count = 0;
    if (!gb_sentences(text, strlen(text), &cut->sentences, &cut->capacity, &count, status))
        return false;
    cut->spans = 0;
    for (size_t first = 0, end; first < count; first = end) {
        end = cut->at_most ? limited_end(text, cut->sentences, count, first, cut->words)
                           : span_end(text, cut->sentences, count, first, cut->words);
        if (!join_sentences(cut, text, first, end, status))
            return false;
        cut->id.length = 0;
        gb_text_printf(&cut->id, "%s-%u", id, cut->spans++);
        if (cut->span.failed || cut->id.failed)
            return gb_fail_memory(status, "cutting a text into spans");
        if (!data_import_passage(cut->import, lines, cut->id.data, title, cut->span.data, document,
                                 status))
            return false;
    }
    return true;
}

void data_import_cutter_free(gb_import_cutter *cut)
{
    free(cut->sentences);
    free(cut->starts);
    gb_text_free(&cut->span);
    gb_text_free(&cut->id);
}

/* ---- of a collection ---- */

/* ids, titles and texts are tables of the collection. */
static bool cut_passage(gb_import_cutter *cut, const gb_collection *from, uint32_t row,
                        gb_text text[3], gb_status *status)
{
    const gb_row_file *tables[3] = {from->passage_ids, from->titles, from->texts};
    for (int i = 0; i < 3; i++) {
        size_t length;
        const char *part = gb_row_file_row(tables[i], row, &length);
        text[i].length = 0;
        gb_text_append(&text[i], part, length);
        gb_text_append(&text[i], "", 1);
        if (text[i].failed)
            return gb_fail_memory(status, "cutting a collection");
    }
    return data_import_cut_text(cut, NULL, text[0].data, text[1].data, text[2].data,
                                from->document[row], status);
}

bool data_import_cut(gb_import *import, gb_status *status)
{
    const char *path = import->params->path;
    char hash[GB_HASH_SIZE];
    gb_collection *from = gb_collection_open(path, status);
    char *about = from ? gb_path_join(status, path, "collection.json") : NULL;
    gb_import_cutter cut = data_import_cutter_of(import);
    gb_text text[3] = {{0}};
    uint32_t without = 0;
    gb_progress progress;
    bool ok = about && gb_hash_file(about, hash, status);
    import->kind = "spans of a collection";
    import->structure = "documents of the collection, or its passages";
    if (ok)
        gb_progress_begin(&progress, "cut", "passages", from->passages, 0);
    for (uint32_t row = 0; ok && row < from->passages; row++) {
        ok = cut_passage(&cut, from, row, text, status);
        without += ok && !cut.spans;
        gb_progress_update(&progress, row + 1, NULL);
    }
    if (ok) {
        gb_progress_end_long(&progress, from->passages);
        json_object_set_new(import->files, "collection.json", json_string(hash));
        import->documents = from->documents;
        if (without)
            data_import_note(import, "%u passages without text have no span", without);
        ok = data_import_corpus_done(import, path, status);
    }
    for (int i = 0; i < 3; i++)
        gb_text_free(&text[i]);
    data_import_cutter_free(&cut);
    free(about);
    gb_collection_close(from);
    return ok;
}
