/* What may be wrong with a collection that could be read. */
#include "gabbro/data.h"

#include <stdlib.h>
#include <string.h>

#define ORDER_BYTES 8 /* of a hash: two of ten million texts share it once in 400,000 times */

/* A text by its hash, for finding equal ones. */
typedef struct hashed {
    uint64_t hash; /* of the text */
    uint32_t row;  /* passage */
} hashed;

static int by_hash(const void *a, const void *b)
{
    const hashed *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* UTF-8 that was taken for Latin-1 and encoded again: the letters of a first byte (U+00C2..U+00F4)
 * and of a continuation (U+0080..U+00BF) side by side, as in "Ã©" for "é". */
static bool encoded_twice(const unsigned char *text, size_t length)
{
    for (size_t i = 0; i + 4 <= length; i++)
        if (text[i] == 0xc3 && text[i + 1] >= 0x82 && text[i + 1] <= 0xb4 && text[i + 2] == 0xc2 &&
            text[i + 3] >= 0x80 && text[i + 3] <= 0xbf)
            return true;
    return false;
}

static bool has_replacement(const char *text, size_t length)
{
    return gb_find_bytes(text, length, "\xef\xbf\xbd", 3) != NULL;
}

static bool has_control(const unsigned char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((text[i] < 0x20 && !strchr("\t\n\r", text[i])) || text[i] == 0x7f)
            return true;
    return false;
}

static void note(gb_finding *finding, uint32_t row)
{
    if (!finding->count++)
        finding->first = row;
}

static bool find_equal(const gb_collection *collection, gb_finding *equal, gb_status *status)
{
    hashed *all = gb_alloc(collection->passages, sizeof *all, status);
    if (!all)
        return false;
    for (uint32_t p = 0; p < collection->passages; p++) {
        size_t length;
        const char *text = gb_row_file_row(collection->texts, p, &length);
        char hex[GB_HASH_SIZE], start[2 * ORDER_BYTES + 1];
        gb_hash_bytes(text, length, hex);
        memcpy(start, hex, sizeof start - 1);
        start[sizeof start - 1] = '\0';
        all[p] = (hashed){strtoull(start, NULL, 16), p};
    }
    qsort(all, collection->passages, sizeof *all, by_hash);
    for (uint32_t p = 1; p < collection->passages; p++)
        if (all[p].hash == all[p - 1].hash)
            note(equal, all[p].row);
    free(all);
    return true;
}

/* Notes the queries of a split whose byte in `trained` is set, each once; of train, sets them. */
static bool note_trained(const gb_collection *collection, const char *split, bool *trained,
                         gb_finding *found, gb_status *status)
{
    gb_qrels qrels = {0};
    bool ok = gb_collection_qrels(collection, split, &qrels, status), train = !found;
    for (size_t i = 0; ok && i < qrels.count; i++) {
        uint32_t query = qrels.rows[i].query;
        if (!train && trained[query])
            note(found, query);
        trained[query] = train;
    }
    free(qrels.rows);
    return ok;
}

/* What is measured with the queries of train was seen before. */
static bool find_trained(const gb_collection *collection, gb_finding *found, gb_status *status)
{
    if (!gb_collection_has_split(collection, "train"))
        return true;
    bool *trained = gb_alloc(gb_row_file_count(collection->queries), sizeof *trained, status);
    char *names = gb_strdup(collection->splits, status), *rest = names;
    bool ok = trained && names && note_trained(collection, "train", trained, NULL, status);
    for (char *name; ok && (name = strtok_r(rest, " ", &rest));)
        ok = !strcmp(name, "train") || note_trained(collection, name, trained, found, status);
    free(trained);
    free(names);
    return ok;
}

bool gb_collection_check(const gb_collection *collection, gb_check *check, gb_status *status)
{
    *check = (gb_check){0};
    for (uint32_t p = 0; p < collection->passages; p++) {
        size_t length, title;
        const char *text = gb_row_file_row(collection->texts, p, &length);
        gb_row_file_row(collection->titles, p, &title);
        check->titles += title > 0;
        if (!length)
            note(&check->empty, p);
        if (encoded_twice((const unsigned char *)text, length))
            note(&check->encoded_twice, p);
        if (has_replacement(text, length))
            note(&check->replaced, p);
        if (has_control((const unsigned char *)text, length))
            note(&check->control, p);
    }
    return find_equal(collection, &check->equal, status) &&
           find_trained(collection, &check->trained, status) &&
           gb_collection_identical(collection, &check->identical, status);
}
