/* Queries for a collection that comes without any: one generated query of each passage is held out
 * of pre-training and asks for that passage. The passages of a fifth of the documents make `dev`,
 * the others `train`. */
#include "data/import.h"

#include <stdlib.h>
#include <string.h>

enum { DEV_SHARE = 5 };

static const char *const split_names[] = {"train", "dev"};

/* dev[document] for a seeded fifth of the documents. NULL without memory; the caller frees it. */
static bool *draw_dev(const gb_import *import, gb_status *status)
{
    uint32_t count = import->documents;
    gb_rng rng = gb_rng_make(import->params->seed, GB_RNG_SPLIT, 1, 0);
    return gb_rng_choose(&rng, count, (count + DEV_SHARE - 1) / DEV_SHARE, status);
}

/* Take line `which` out of a row of lines: the row without it is left in `rest`, the line itself in
 * `line`. */
static bool take_line(const char *row, size_t length, uint32_t which, gb_text *rest, gb_text *line)
{
    size_t size;
    const char *at = gb_generated_row_query(row, length, which, &size), *behind = at + size + 1;
    rest->length = line->length = 0;
    gb_text_append(line, at, size);
    gb_text_append(rest, row, (size_t)(at - row));
    gb_text_append(rest, behind, (size_t)(row + length - behind));
    return !rest->failed && !line->failed;
}

/* What the loop over the passages works on. */
typedef struct holder {
    gb_import *import;      /* queries go there */
    gb_row_file *ids;       /* of the passages */
    gb_row_file *generated; /* all generated queries */
    gb_row_writer *writer;  /* those that stay */
    gb_out *qrels[2];       /* train, dev */
    uint32_t held[2];       /* queries in each */
    gb_text rest, line, id; /* scratch */
} holder;

/* A passage with one generated query keeps it: contexts come first. */
static bool hold(holder *h, uint32_t passage, bool dev, gb_status *status)
{
    size_t length, id_length;
    const char *row = gb_row_file_row(h->generated, passage, &length);
    const char *id = gb_row_file_row(h->ids, passage, &id_length);
    uint32_t count = gb_generated_row_count(row, length);
    if (count < 2)
        return gb_row_writer_add(h->writer, row, length, status);
    gb_rng rng = gb_rng_make(h->import->params->seed, GB_RNG_SPLIT, 2, passage);
    h->id.length = 0;
    gb_text_printf(&h->id, "about-%.*s", (int)id_length, id);
    if (!take_line(row, length, gb_rng_below(&rng, count), &h->rest, &h->line) || h->id.failed)
        return gb_fail_memory(status, "holding out a query");
    fprintf(gb_out_stream(h->qrels[dev]), "%s\t%.*s\t1\n", h->id.data, (int)id_length, id);
    h->held[dev]++;
    return data_import_query(h->import, NULL, h->id.data, h->line.data, status) &&
           gb_row_writer_add(h->writer, h->rest.data, h->rest.length, status);
}

static bool holder_open_tables(holder *h, gb_status *status)
{
    const char *dir = h->import->dir;
    return (h->ids = gb_row_file_open_in(dir, "passages.id.gbt", 1, status)) &&
           (h->generated = gb_row_file_open_in(dir, "generated.gbt", 1, status));
}

static bool holder_open_outputs(holder *h, gb_status *status)
{
    h->writer = gb_row_writer_open_in(h->import->dir, "generated.gbt", 1, status);
    bool ok = h->writer != NULL;
    for (int i = 0; i < 2 && ok; i++)
        ok = (h->qrels[i] = data_import_split_open(h->import, split_names[i], status)) != NULL;
    return ok;
}

static bool holder_commit(holder *h, gb_status *status)
{
    gb_row_writer *writer = h->writer;
    h->writer = NULL;
    gb_row_file_close(h->generated); /* Windows replaces no file that is open */
    h->generated = NULL;
    bool ok = gb_row_writer_commit(writer, status);
    for (int i = 0; i < 2 && ok; i++) {
        gb_out *out = h->qrels[i];
        h->qrels[i] = NULL;
        ok = gb_out_commit(out, status);
        gb_qrels_counts counts = {
            .judgements = h->held[i], .relevant = h->held[i], .queries = h->held[i], .highest = 1};
        data_import_split_done(h->import, split_names[i], &counts);
    }
    if (ok)
        data_import_note(
            h->import,
            "the source has no queries: one generated query of each passage (%u) asks for it and "
            "is not seen in pre-training; those of a fifth of the documents (%u) are the split "
            "dev, the others train",
            h->held[0] + h->held[1], h->held[1]);
    return ok;
}

static void holder_free(holder *h)
{
    gb_row_file_close(h->ids);
    gb_row_file_close(h->generated);
    gb_row_writer_abandon(h->writer);
    for (int i = 0; i < 2; i++)
        if (h->qrels[i])
            gb_out_abandon(h->qrels[i]);
    gb_text_free(&h->rest);
    gb_text_free(&h->line);
    gb_text_free(&h->id);
}

/* Whether both splits would get queries. */
static bool enough(const holder *h, const bool *dev)
{
    bool found[2] = {false, false};
    for (uint32_t p = 0; p < h->import->passages; p++) {
        size_t length;
        const char *row = gb_row_file_row(h->generated, p, &length);
        if (gb_generated_row_count(row, length) >= 2)
            found[dev[h->import->document[p]]] = true;
    }
    return found[0] && found[1];
}

bool data_import_hold_out(gb_import *import, gb_generated_counts *counts, gb_status *status)
{
    holder h = {.import = import};
    bool *dev = draw_dev(import, status);
    bool ok = dev && holder_open_tables(&h, status);
    if (ok && !enough(&h, dev)) {
        data_import_note(import,
                         "no queries in the source, and too few generated ones to take their "
                         "place");
    } else {
        ok = ok && holder_open_outputs(&h, status);
        for (uint32_t p = 0; p < import->passages && ok; p++)
            ok = hold(&h, p, dev[import->document[p]], status);
        ok = ok && holder_commit(&h, status);
        counts->queries -= h.held[0] + h.held[1];
        counts->most -= counts->most > 1;
        counts->least -= counts->least > 1;
    }
    holder_free(&h);
    free(dev);
    return ok;
}
