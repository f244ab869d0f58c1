/* Questions of people divided where a source has no training split: half of them train, a quarter
 * stand as generated queries, a quarter judge. A generator fails often, and so must its stand-in:
 * some questions are given to passages that do not answer them. */
#include "data/import.h"

#include <stdlib.h>
#include <string.h>

/* Generated queries about their passage, of 200: query-as-context pre-training, table 5. */
enum { ABOUT = 113, ASKED = 200 };

bool data_share_of(uint64_t seed, const char *id, gb_share *share, gb_status *status)
{
    char hex[GB_HASH_SIZE];
    char *key = gb_format(status, "%llu %s", (unsigned long long)seed, id);
    if (!key)
        return false;
    gb_hash_bytes(key, strlen(key), hex);
    free(key);
    *share = hex[0] < '8'   ? GB_SHARE_TRAIN
             : hex[0] < 'c' ? GB_SHARE_GENERATED /* '8', '9', 'a', 'b' */
                            : GB_SHARE_DEV;
    return true;
}

bool data_stand_ins_add(gb_stand_ins *list, const gb_import *import, const char *passage_id,
                        const char *text, gb_status *status)
{
    uint32_t passage = gb_map_get(import->passage_map, passage_id, strlen(passage_id));
    if (!list->texts && !(list->texts = gb_arena_create(1 << 16, status)))
        return false;
    gb_stand_in item = {
        .passage = passage, .document = import->document[passage], .number = (uint32_t)list->count};
    item.passage_id = gb_arena_strdup(list->texts, passage_id, strlen(passage_id), status);
    item.text = gb_arena_strdup(list->texts, text, strlen(text), status);
    if (!item.passage_id || !item.text ||
        !gb_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items, status))
        return false;
    list->items[list->count++] = item;
    return true;
}

void data_stand_ins_free(gb_stand_ins *list)
{
    free(list->items);
    gb_arena_destroy(list->texts);
}

/* ---- questions of other passages ---- */

/* What the questions are dealt with. */
typedef struct dealing {
    gb_import *import;        /* whose queries they become */
    const gb_stand_ins *list; /* sorted */
    bool *failed;             /* [count] its passage gets a question of another one beside it */
    uint32_t *last_taker;     /* [count] last passage that got the question of another one */
    uint32_t *row;            /* [2 * count] questions of the passage at hand */
    uint32_t row_count;       /* of them */
    uint64_t about, others;   /* dealt */
    gb_out *out;              /* import->generated */
} dealing;

static int by_document_and_passage(const void *a, const void *b)
{
    const gb_stand_in *x = a, *y = b;
    if (x->document != y->document)
        return x->document < y->document ? -1 : 1;
    if (x->passage != y->passage)
        return x->passage < y->passage ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static bool may_take(const dealing *d, uint32_t passage, uint32_t question)
{
    return d->list->items[question].passage != passage && d->last_taker[question] != passage;
}

/* One of the questions from `first` to `end` that the passage does not have yet, or GB_MAP_NONE. */
static uint32_t draw_other(const dealing *d, uint32_t passage, uint32_t first, uint32_t end,
                           gb_rng *rng)
{
    uint32_t count = 0;
    for (uint32_t i = first; i < end; i++)
        count += may_take(d, passage, i);
    if (!count)
        return GB_MAP_NONE;
    uint32_t left = gb_rng_below(rng, count);
    for (uint32_t i = first;; i++)
        if (may_take(d, passage, i) && left-- == 0)
            return i;
}

/* Beside question i of its passage: one of the document, from `first` to `end`, else of any. */
static void deal_other(dealing *d, uint32_t i, uint32_t first, uint32_t end)
{
    uint32_t passage = d->list->items[i].passage;
    gb_rng rng = gb_rng_make(d->import->params->seed, GB_RNG_SPLIT, 4, i);
    uint32_t other = draw_other(d, passage, first, end, &rng);
    if (other == GB_MAP_NONE)
        other = draw_other(d, passage, 0, (uint32_t)d->list->count, &rng);
    if (other == GB_MAP_NONE)
        return;
    d->last_taker[other] = passage;
    d->row[d->row_count++] = other;
    d->others++;
}

/* The queries of the passage at hand, in a seeded order: the first ones are as often about it. */
static bool write_row(dealing *d, const gb_stand_in *of, gb_status *status)
{
    gb_rng rng = gb_rng_make(d->import->params->seed, GB_RNG_SPLIT, 5, of->passage);
    gb_rng_shuffle(&rng, d->row, d->row_count);
    for (uint32_t i = 0; i < d->row_count; i++) {
        json_t *line =
            json_pack("{s:s, s:s}", "id", of->passage_id, "query", d->list->items[d->row[i]].text);
        char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
        json_decref(line);
        if (!text)
            return gb_fail_memory(status, "dividing questions");
        fprintf(gb_out_stream(d->out), "%s\n", text);
        free(text);
    }
    return true;
}

/* All passages of a document, whose questions are those from `first` to `end`. */
static bool deal_document(dealing *d, uint32_t first, uint32_t end, gb_status *status)
{
    const gb_stand_in *items = d->list->items;
    for (uint32_t at = first, next; at < end; at = next) {
        d->row_count = 0;
        for (next = at; next < end && items[next].passage == items[at].passage; next++)
            d->row[d->row_count++] = next;
        d->about += next - at;
        for (uint32_t i = at; i < next; i++)
            if (d->failed[i])
                deal_other(d, i, first, end);
        if (!write_row(d, &items[at], status))
            return false;
    }
    return true;
}

static bool deal(dealing *d, gb_status *status)
{
    uint32_t count = (uint32_t)d->list->count;
    for (uint32_t i = 0; i < count; i++)
        d->last_taker[i] = GB_MAP_NONE;
    for (uint32_t first = 0, end; first < count; first = end) {
        for (end = first; end < count; end++)
            if (d->list->items[end].document != d->list->items[first].document)
                break;
        if (!deal_document(d, first, end, status))
            return false;
    }
    return true;
}

bool data_stand_ins_write(gb_import *import, gb_stand_ins *list, gb_status *status)
{
    uint32_t count = (uint32_t)list->count;
    if (!count)
        return true;
    qsort(list->items, count, sizeof *list->items, by_document_and_passage);
    uint32_t failures =
        (uint32_t)(((uint64_t)count * (ASKED - ABOUT) + ABOUT / 2) / ABOUT); /* rounded */
    gb_rng rng = gb_rng_make(import->params->seed, GB_RNG_SPLIT, 3, 0);
    dealing d = {.import = import,
                 .list = list,
                 .failed = gb_rng_choose(&rng, count, failures, status),
                 .last_taker = gb_alloc(count, sizeof *d.last_taker, status),
                 .row = gb_alloc(count, 2 * sizeof *d.row, status)};
    import->generated = gb_path_join(status, import->dir, "generated.jsonl");
    bool ok = d.failed && d.last_taker && d.row && import->generated &&
              (d.out = gb_out_open(import->generated, status)) && deal(&d, status);
    if (ok) {
        gb_out *out = d.out;
        d.out = NULL;
        ok = gb_out_commit(out, status);
        data_import_note(import,
                         "beside %u generated queries of the passages that answer them there are "
                         "%llu that other passages answer: %.1f%% are about their passage",
                         count, (unsigned long long)d.others,
                         100.0 * (double)d.about / (double)(d.about + d.others));
    }
    gb_out_abandon(d.out);
    free(d.failed);
    free(d.last_taker);
    free(d.row);
    return ok;
}
