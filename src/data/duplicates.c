/* Texts of one collection that are in another one: equal ones, equal ones but for case, accents and
 * punctuation, and similar ones, found by MinHash (Broder, 1997) in bands and compared as they are.
 */
#include "gabbro/data.h"

#include <stdlib.h>
#include <string.h>

/* 16 bands of 4: texts with a similarity of .8 share a band in 99.98% of cases. */
enum { BANDS = 16, ROWS = 4, QUERY_SHINGLE = 2, PASSAGE_SHINGLE = 3, SAID_WORDS = 5 };

/* A text as hashes of its words. */
typedef struct words {
    uint64_t *items;   /* [count] */
    size_t count;      /* words */
    size_t capacity;   /* allocated */
    gb_status *status; /* of the reading */
} words;

/* A hash with the row that it is of. */
typedef struct keyed {
    uint64_t key; /* hash */
    uint32_t row; /* place in the set */
} keyed;

/* Some texts of a collection. */
typedef struct text_set {
    const gb_collection *collection; /* where they are */
    bool passages;                   /* passages, else queries */
    uint32_t *rows;                  /* [count] rows of the collection; NULL: all */
    uint32_t count;                  /* texts */
    char name[100];                  /* "queries.dev", "passages" */
} text_set;

/* What of a set is looked up. */
typedef struct text_index {
    const text_set *set; /* indexed */
    keyed *exact;        /* [count] by hash of the bytes, ascending */
    keyed *plain;        /* [count] by hash of the words */
    keyed *bands;        /* [count, BANDS] by hash of a band */
    keyed *windows; /* [window_count] by the first words of a query that may be said elsewhere */
    size_t window_count; /* queries long enough */
} text_index;

/* ---- hashes ---- */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
}

static uint64_t hash_bytes(const char *bytes, size_t length)
{
    uint64_t hash = 0x9e3779b97f4a7c15ULL ^ length, part;
    for (; length >= 8; bytes += 8, length -= 8) {
        memcpy(&part, bytes, 8);
        hash = mix(hash ^ part);
    }
    part = 0;
    memcpy(&part, bytes, length);
    return mix(hash ^ part);
}

static uint64_t hash_words(const uint64_t *items, size_t count)
{
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++)
        hash = mix(hash ^ items[i]) + i;
    return hash;
}

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The first entry of a key; NULL if there is none. */
static const keyed *find(const keyed *all, size_t count, uint64_t key)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && all[low].key == key ? &all[low] : NULL;
}

/* ---- texts ---- */

static uint32_t row_of(const text_set *set, uint32_t i)
{
    return set->rows ? set->rows[i] : i;
}

static const char *text_of(const text_set *set, uint32_t i, size_t *length)
{
    const gb_collection *c = set->collection;
    return gb_row_file_row(set->passages ? c->texts : c->queries, row_of(set, i), length);
}

static const char *id_of(const text_set *set, uint32_t i, int *length)
{
    const gb_collection *c = set->collection;
    size_t bytes;
    const char *id =
        gb_row_file_row(set->passages ? c->passage_ids : c->query_ids, row_of(set, i), &bytes);
    *length = (int)(bytes < 60 ? bytes : 60);
    return id;
}

/* Punctuation is a word of its own by now: of ASCII, Latin-1, U+2000 to U+207F, U+3000 to U+303F.
 */
static bool is_punctuation(const char *bytes, size_t length)
{
    const unsigned char *byte = (const unsigned char *)bytes;
    if (length == 1)
        return !((*byte >= '0' && *byte <= '9') || (*byte >= 'a' && *byte <= 'z'));
    return (length == 2 && byte[0] == 0xc2) ||
           (length == 3 && ((byte[0] == 0xe2 && (byte[1] == 0x80 || byte[1] == 0x81)) ||
                            (byte[0] == 0xe3 && byte[1] == 0x80)));
}

static bool take_word(void *ctx, const char *bytes, size_t length)
{
    words *w = ctx;
    if (is_punctuation(bytes, length))
        return true;
    if (!gb_grow(&w->items, &w->capacity, w->count + 1, sizeof *w->items, w->status))
        return false;
    w->items[w->count++] = hash_bytes(bytes, length);
    return true;
}

static bool read_words(const text_set *set, uint32_t i, words *w, gb_status *status)
{
    size_t length;
    const char *text = text_of(set, i, &length);
    w->count = 0;
    w->status = status;
    return gb_pretokenize((gb_tokenizer_params){.lower_case = true}, text, length, take_word, w,
                          status);
}

/* Hashes of all runs of `size` words, ascending and without repeats, into shingles [words]. A
 * shorter text is one of them as a whole. Returns their number. */
static size_t make_shingles(const words *w, size_t size, uint64_t *shingles)
{
    size_t count = 0, kept = 0;
    if (w->count < size && w->count)
        shingles[count++] = hash_words(w->items, w->count);
    for (size_t i = 0; i + size <= w->count; i++)
        shingles[count++] = hash_words(w->items + i, size);
    qsort(shingles, count, sizeof *shingles, by_value);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || shingles[i] != shingles[i - 1])
            shingles[kept++] = shingles[i];
    return kept;
}

static void make_bands(const uint64_t *shingles, size_t count, uint64_t bands[BANDS])
{
    for (uint64_t b = 0; b < BANDS; b++) {
        uint64_t band = b;
        for (uint64_t r = 0; r < ROWS; r++) {
            uint64_t least = UINT64_MAX, salt = mix(b * ROWS + r + 1);
            for (size_t i = 0; i < count; i++) {
                uint64_t hash = mix(shingles[i] ^ salt);
                least = hash < least ? hash : least;
            }
            band = mix(band ^ least);
        }
        bands[b] = band;
    }
}

/* Share of the shingles of two texts that both have. */
static double similarity(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count)
{
    size_t i = 0, j = 0, both = 0;
    while (i < a_count && j < b_count) {
        both += a[i] == b[j];
        bool next_a = a[i] <= b[j], next_b = b[j] <= a[i];
        i += next_a;
        j += next_b;
    }
    size_t any = a_count + b_count - both;
    return any ? (double)both / (double)any : 0;
}

/* ---- index ---- */

static void index_free(text_index *index)
{
    free(index->exact);
    free(index->plain);
    free(index->bands);
    free(index->windows);
    *index = (text_index){0};
}

static size_t shingle_words(const text_set *set)
{
    return set->passages ? PASSAGE_SHINGLE : QUERY_SHINGLE;
}

static bool index_text(text_index *index, uint32_t i, words *w, gb_status *status)
{
    size_t length;
    const char *text = text_of(index->set, i, &length);
    uint64_t bands[BANDS];
    if (!read_words(index->set, i, w, status))
        return false;
    uint64_t *shingles = gb_alloc(w->count, sizeof *shingles, status);
    if (!shingles)
        return false;
    make_bands(shingles, make_shingles(w, shingle_words(index->set), shingles), bands);
    free(shingles);
    index->exact[i] = (keyed){hash_bytes(text, length), i};
    index->plain[i] = (keyed){hash_words(w->items, w->count), i};
    for (size_t b = 0; b < BANDS; b++)
        index->bands[(size_t)i * BANDS + b] = (keyed){bands[b], i};
    if (!index->set->passages && w->count >= SAID_WORDS)
        index->windows[index->window_count++] = (keyed){hash_words(w->items, SAID_WORDS), i};
    return true;
}

static bool index_make(text_index *index, const text_set *set, gb_status *status)
{
    words w = {0};
    *index = (text_index){.set = set};
    index->exact = gb_alloc(set->count, sizeof(keyed), status);
    index->plain = gb_alloc(set->count, sizeof(keyed), status);
    index->bands = gb_alloc((size_t)set->count * BANDS, sizeof(keyed), status);
    index->windows = gb_alloc(set->passages ? 0 : set->count, sizeof(keyed), status);
    bool ok = index->exact && index->plain && index->bands && index->windows;
    for (uint32_t i = 0; ok && i < set->count; i++)
        ok = index_text(index, i, &w, status);
    free(w.items);
    if (!ok)
        return false;
    qsort(index->exact, set->count, sizeof(keyed), by_key);
    qsort(index->plain, set->count, sizeof(keyed), by_key);
    qsort(index->bands, (size_t)set->count * BANDS, sizeof(keyed), by_key);
    qsort(index->windows, index->window_count, sizeof(keyed), by_key);
    return true;
}

/* ---- comparison ---- */

/* What was found of one set in another. */
typedef struct found {
    uint64_t exact, plain, near, said; /* texts */
    uint32_t first, first_of;          /* an example: place in the one, and in the other */
} found;

static void note(found *f, uint64_t *counter, uint32_t i, uint32_t of)
{
    if (f->exact + f->plain + f->near + f->said == 0) {
        f->first = i;
        f->first_of = of;
    }
    ++*counter;
}

/* The first text of the index that is similar enough; GB_MAP_NONE if there is none. */
static bool find_near(const text_index *index, const words *w, words *scratch, double least,
                      uint32_t *near, gb_status *status)
{
    size_t size = shingle_words(index->set);
    uint64_t bands[BANDS], *own = gb_alloc(w->count, sizeof *own, status), *other = NULL;
    size_t own_count = own ? make_shingles(w, size, own) : 0;
    bool ok = own;
    *near = GB_MAP_NONE;
    if (ok && own_count)
        make_bands(own, own_count, bands);
    const keyed *end = index->bands + (size_t)index->set->count * BANDS;
    for (size_t b = 0; ok && own_count && *near == GB_MAP_NONE && b < BANDS; b++) {
        const keyed *hit = find(index->bands, (size_t)index->set->count * BANDS, bands[b]);
        for (; ok && hit && hit < end && hit->key == bands[b] && *near == GB_MAP_NONE; hit++) {
            ok = read_words(index->set, hit->row, scratch, status) &&
                 (other = gb_alloc(scratch->count, sizeof *other, status));
            if (ok &&
                similarity(own, own_count, other, make_shingles(scratch, size, other)) >= least)
                *near = hit->row;
            free(other);
        }
    }
    free(own);
    return ok;
}

static bool same_text(const text_set *a, uint32_t i, const text_set *b, uint32_t j)
{
    size_t a_length, b_length;
    const char *x = text_of(a, i, &a_length), *y = text_of(b, j, &b_length);
    return a_length == b_length && memcmp(x, y, a_length) == 0;
}

/* Texts of `set` that are in the index, each counted once, where it is most alike. */
static bool compare_sets(const text_set *set, const text_index *index, double least, found *f,
                         gb_status *status)
{
    words w = {0}, scratch = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < set->count; i++) {
        size_t length;
        uint32_t near;
        const char *text = text_of(set, i, &length);
        const keyed *exact = find(index->exact, index->set->count, hash_bytes(text, length));
        if (exact && same_text(set, i, index->set, exact->row)) {
            note(f, &f->exact, i, exact->row);
            continue;
        }
        ok = read_words(set, i, &w, status);
        const keyed *plain =
            ok && w.count ? find(index->plain, index->set->count, hash_words(w.items, w.count))
                          : NULL;
        if (plain) {
            note(f, &f->plain, i, plain->row);
            continue;
        }
        ok = ok && find_near(index, &w, &scratch, least, &near, status);
        if (ok && near != GB_MAP_NONE)
            note(f, &f->near, i, near);
    }
    free(w.items);
    free(scratch.items);
    return ok;
}

/* Queries of the index, of five words or more, whose words follow each other in a passage. */
static bool find_said(const text_index *queries, const text_set *passages, found *f,
                      gb_status *status)
{
    words w = {0}, query = {0};
    bool *said = gb_alloc(queries->set->count, sizeof *said, status), ok = said;
    const keyed *end = queries->windows + queries->window_count;
    for (uint32_t p = 0; ok && queries->window_count && p < passages->count; p++) {
        ok = read_words(passages, p, &w, status);
        for (size_t i = 0; ok && i + SAID_WORDS <= w.count; i++) {
            uint64_t key = hash_words(w.items + i, SAID_WORDS);
            const keyed *hit = find(queries->windows, queries->window_count, key);
            for (; ok && hit && hit < end && hit->key == key; hit++) {
                ok = said[hit->row] || read_words(queries->set, hit->row, &query, status);
                if (!ok || said[hit->row] || i + query.count > w.count ||
                    memcmp(query.items, w.items + i, query.count * sizeof *w.items) != 0)
                    continue;
                said[hit->row] = true;
                note(f, &f->said, hit->row, p);
            }
        }
    }
    free(w.items);
    free(query.items);
    free(said);
    return ok;
}

/* ---- all sets ---- */

static void print_found(const text_set *a, const text_set *b, const found *f, bool said, FILE *out)
{
    int a_length, b_length;
    fprintf(out, "%-24s %-24s %9u", a->name, b->name, a->count);
    if (said)
        fprintf(out, " %9s %9s %9s %9llu", "-", "-", "-", (unsigned long long)f->said);
    else
        fprintf(out, " %9llu %9llu %9llu %9s", (unsigned long long)f->exact,
                (unsigned long long)f->plain, (unsigned long long)f->near, "-");
    if (f->exact + f->plain + f->near + f->said) {
        const char *x = id_of(a, f->first, &a_length), *y = id_of(b, f->first_of, &b_length);
        fprintf(out, "  e.g. %.*s, %.*s", a_length, x, b_length, y);
    }
    fputc('\n', out);
}

/* The queries of every split, then the passages. */
static bool list_sets(const gb_collection *collection, text_set **sets, size_t *count,
                      gb_status *status)
{
    const char *list = collection->splits, *name;
    size_t length, capacity = 0;
    bool ok = gb_grow(sets, &capacity, 1, sizeof **sets, status);
    while (ok && (name = gb_next_word(&list, ' ', &length))) {
        if (!gb_grow(sets, &capacity, *count + 2, sizeof **sets, status))
            return false;
        text_set *set = &(*sets)[*count];
        gb_qrels qrels = {0};
        char split[80];
        *set = (text_set){.collection = collection};
        snprintf(split, sizeof split, "%.*s", (int)length, name);
        snprintf(set->name, sizeof set->name, "queries.%s", split);
        ok =
            gb_collection_qrels(collection, split, &qrels, status) &&
            gb_collection_split_queries(collection, split, &qrels, &set->rows, &set->count, status);
        free(qrels.rows);
        *count += ok;
    }
    if (ok)
        (*sets)[(*count)++] = (text_set){.collection = collection,
                                         .passages = true,
                                         .count = collection->passages,
                                         .name = "passages"};
    return ok;
}

/* One index, of a set of B, with the sets of A from `first` on. */
static bool compare_all(const text_set *a, size_t a_count, size_t first, const text_set *b,
                        const gb_duplicates_params *params, uint64_t *sum, gb_status *status)
{
    text_index index;
    bool ok = index_make(&index, b, status);
    for (size_t i = first; ok && i < a_count; i++) {
        found f = {0};
        if (a[i].passages != b->passages)
            continue;
        ok = compare_sets(&a[i], &index, params->similarity, &f, status);
        if (ok)
            print_found(&a[i], b, &f, false, params->out);
        *sum += f.exact + f.plain + f.near;
    }
    index_free(&index);
    return ok;
}

/* Queries of A in the passages of B. */
static bool compare_said(const text_set *a, size_t a_count, const text_set *passages,
                         const gb_duplicates_params *params, uint64_t *sum, gb_status *status)
{
    bool ok = true;
    for (size_t i = 0; ok && i < a_count; i++) {
        text_index index;
        found f = {0};
        if (a[i].passages)
            continue;
        ok = index_make(&index, &a[i], status) && find_said(&index, passages, &f, status);
        if (ok)
            print_found(&a[i], passages, &f, true, params->out);
        *sum += f.said;
        index_free(&index);
    }
    return ok;
}

bool gb_duplicates_find(const gb_duplicates_params *params, uint64_t *texts, gb_status *status)
{
    text_set *a = NULL, *b = NULL;
    size_t a_count = 0, b_count = 0;
    bool same = params->a == params->b;
    *texts = 0;
    bool ok =
        list_sets(params->a, &a, &a_count, status) && list_sets(params->b, &b, &b_count, status);
    if (ok)
        fprintf(params->out, "%-24s %-24s %9s %9s %9s %9s %9s\n", "texts of", "in", "texts",
                "equal", "plain", "near", "said");
    for (size_t j = 0; ok && j < b_count; j++)
        if (!same || !b[j].passages)
            ok = compare_all(a, a_count, same ? j + 1 : 0, &b[j], params, texts, status);
    ok = ok && compare_said(a, a_count, &b[b_count - 1], params, texts, status);
    for (size_t i = 0; i < a_count; i++)
        free(a[i].rows);
    for (size_t i = 0; i < b_count; i++)
        free(b[i].rows);
    free(a);
    free(b);
    return ok;
}
