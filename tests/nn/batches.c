/* What a training step is shown: order of rows, contexts, pairs, masks, labels. */
#include "tiny.h"

#include "pretrain/common.h"

/* ---- batches ---- */

Test(batch, sequences_are_cut_at_the_longest)
{
    gb_status status = {0};
    gb_special_ids specials = {.pad = 0, .unk = 1, .cls = 2, .sep = 3, .mask = 4};
    const uint32_t ids[] = {10, 11, 12, 13, 14, 15};
    const int32_t labels[] = {GB_IGNORE, 21, GB_IGNORE, 23, 24, 25};
    gb_batch p = {0};
    MUST(gb_batch_add(&p, &specials, ids, labels, 6, 6, &status)); /* 4 ids fit */
    MUST(gb_batch_add(&p, &specials, ids, NULL, 0, 6, &status));
    MUST(gb_batch_add(&p, &specials, ids, labels, 4, 6, &status));
    const uint32_t wanted_ids[] = {2, 10, 11, 12, 13, 3, 2, 3, 2, 10, 11, 12, 13, 3};
    const int32_t wanted_labels[] = {-1, -1, 21, -1, 23, -1, -1, -1, -1, -1, 21, -1, 23, -1};
    const uint32_t positions[] = {0, 1, 2, 3, 4, 5, 0, 1, 0, 1, 2, 3, 4, 5};
    cr_assert_eq(p.rows, 14);
    cr_expect_eq(p.count, 3);
    cr_expect_eq(p.labelled, 4);
    cr_expect_eq(memcmp(p.ids, wanted_ids, sizeof wanted_ids), 0);
    cr_expect_eq(memcmp(p.labels, wanted_labels, sizeof wanted_labels), 0);
    cr_expect_eq(memcmp(p.positions, positions, sizeof positions), 0);
    cr_expect(p.starts[0] == 0 && p.starts[1] == 6 && p.starts[2] == 8 && p.starts[3] == 14);
    gb_batch_reset(&p);
    cr_expect(p.rows == 0 && p.count == 0 && p.labelled == 0);
    gb_batch_free(&p);
}

/* A bucket holds its batch with little to spare, and there are few of them. */
Test(batch, buckets)
{
    uint32_t buckets = 0, last = 0;
    for (uint32_t rows = 1; rows <= 1 << 17; rows++) {
        uint32_t bucket = gb_bucket_rows(rows);
        cr_assert(bucket >= rows && bucket % 64 == 0 && bucket >= last, "%u rows in %u", rows,
                  bucket);
        cr_assert(bucket - rows < 64 || (bucket - rows) * 8 <= rows, "%u rows in %u", rows, bucket);
        buckets += bucket != last;
        last = bucket;
    }
    cr_expect_leq(buckets, 16 + 8 * 7, "%u buckets", buckets);
}

/* ---- pairs ---- */

/* A pair of texts of `q` and `p` tokens in `max_length`, as lengths of both. */
static void expect_pair(uint32_t q, uint32_t p, uint32_t max_length, uint32_t q_wanted,
                        uint32_t p_wanted)
{
    gb_status status = {0};
    gb_special_ids specials = {.pad = 0, .unk = 1, .cls = 2, .sep = 3, .mask = 4};
    uint32_t ids[64];
    for (uint32_t i = 0; i < 64; i++)
        ids[i] = 10 + i;
    gb_batch b = {0};
    MUST(gb_batch_add(&b, &specials, ids, NULL, 4, 9, &status)); /* something before it */
    MUST(gb_batch_add_pair(&b, &specials, (gb_token_text){ids, q}, (gb_token_text){ids + 30, p},
                           max_length, &status));
    const uint32_t *pair = b.ids + b.starts[1];
    uint32_t length = b.starts[2] - b.starts[1];
    cr_assert_eq(length, q_wanted + p_wanted + 3, "%u tokens of %u and %u", length, q, p);
    cr_expect_eq(pair[0], specials.cls);
    cr_expect_eq(pair[1 + q_wanted], specials.sep);
    cr_expect_eq(pair[length - 1], specials.sep);
    cr_expect_eq(memcmp(pair + 1, ids, sizeof *ids * q_wanted), 0);
    cr_expect_eq(memcmp(pair + 2 + q_wanted, ids + 30, sizeof *ids * p_wanted), 0);
    cr_expect_eq(b.seconds[1], b.starts[1] + q_wanted + 2);
    cr_expect_eq(b.seconds[0], b.starts[1], "a text that is no pair");
    gb_batch part = {0};
    MUST(gb_batch_slice(&b, 1, 1, &part, &status));
    cr_expect_eq(part.seconds[0], q_wanted + 2);
    gb_batch_free(&part);
    gb_batch_free(&b);
}

/* The lengths are those of transformers' tokenizers with truncation="longest_first". */
Test(batch, pairs_are_cut_at_the_longer_text)
{
    expect_pair(3, 4, 10, 3, 4);
    expect_pair(3, 9, 10, 3, 4);
    expect_pair(9, 3, 10, 4, 3);
    expect_pair(9, 9, 10, 3, 4);
    expect_pair(9, 8, 10, 4, 3);
    expect_pair(20, 9, 13, 5, 5);
    expect_pair(0, 9, 10, 0, 7);
    expect_pair(9, 0, 10, 7, 0);
    expect_pair(2, 2, 3, 0, 0);
}

/* ---- order ---- */

static void expect_order(const gb_collection *collection, bool documents, uint32_t count)
{
    gb_status status = {0};
    row_order order, again;
    MUST(pretrain_row_order_make(&order, collection, documents, 7, &status));
    MUST(pretrain_row_order_make(&again, collection, documents, 7, &status));
    cr_assert_eq(order.epochs.count, count);
    uint32_t first[3][32], same = 0;
    for (uint32_t epoch = 0; epoch < 3; epoch++) {
        bool seen[32] = {false};
        for (uint32_t i = 0; i < count; i++) {
            uint32_t row = first[epoch][i] =
                pretrain_row_order_at(&order, (uint64_t)epoch * count + i);
            cr_assert_lt(row, documents ? collection->documents : collection->passages);
            cr_expect_not(seen[row], "row %u twice in epoch %u", row, epoch);
            seen[row] = true;
            same += epoch && row == first[0][i];
        }
    }
    cr_expect_lt(same, 2 * count, "epochs have one order");
    for (uint32_t i = 3 * count; i-- > 0;) /* from behind: no state of earlier calls */
        cr_expect_eq(pretrain_row_order_at(&again, i), first[i / count][i % count], "visit %u", i);
    pretrain_row_order_free(&order);
    pretrain_row_order_free(&again);
}

Test(batches, every_row_once_an_epoch)
{
    scratch s = scratch_enter();
    tiny t = tiny_make();
    expect_order(t.collection, false, 13);
    expect_order(t.collection, true, 4); /* two documents have one passage */
    tiny_free(&t);
    scratch_leave(&s);
}

Test(batches, seed_changes_the_order)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    tiny t = tiny_make();
    row_order a, b;
    MUST(pretrain_row_order_make(&a, t.collection, false, 1, &status));
    MUST(pretrain_row_order_make(&b, t.collection, false, 2, &status));
    uint32_t same = 0;
    for (uint32_t i = 0; i < a.epochs.count; i++)
        same += pretrain_row_order_at(&a, i) == pretrain_row_order_at(&b, i);
    cr_expect_lt(same, a.epochs.count);
    pretrain_row_order_free(&a);
    pretrain_row_order_free(&b);
    tiny_free(&t);
    scratch_leave(&s);
}

/* Where no passage has a sibling, the spans of a passage are its halves, cut before a word. */
Test(batches, collection_of_single_passages)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    tiny t = tiny_make();
    gb_collection single = *t.collection;
    single.documents = single.passages;
    uint32_t *own = gb_alloc(single.passages, sizeof *own, &status), whole = 0;
    MUST(own);
    for (uint32_t p = 0; p < single.passages; p++)
        own[p] = p;
    single.document = own;
    gb_pretrain_data data = {&single, &t.tokens, t.vocab};
    tiny_params settings = tiny_settings();
    settings.common.context = GB_CONTEXT_SPAN;
    document_list documents;
    row_order order;
    MUST(pretrain_document_list_make(&documents, &single, &status));
    MUST(pretrain_row_order_make(&order, &single, true, 1, &status));
    cr_expect(documents.halves);
    cr_expect_eq(order.epochs.count, single.passages);
    for (uint32_t p = 0; p < single.passages; p++) {
        cr_assert(documents.first[p] == 2 * p && documents.first[p + 1] == 2 * p + 2);
        gb_rng rng = gb_rng_make(1, GB_RNG_CONTEXT, 0, p);
        text_ids all = pretrain_passage_ids(&data, p),
                 left = pretrain_span_ids(&data, &documents, 2 * p);
        text_ids right = pretrain_span_ids(&data, &documents, 2 * p + 1);
        cr_expect_eq(pretrain_context_ids(&data, &settings.common, &documents, 2 * p, &rng).ids,
                     right.ids);
        cr_expect_eq(pretrain_context_ids(&data, &settings.common, &documents, 2 * p + 1, &rng).ids,
                     left.ids);
        whole += left.length == all.length;
        if (left.length == all.length)
            continue;
        cr_assert(left.ids == all.ids && right.ids == all.ids + left.length);
        cr_expect_eq(left.length + right.length, all.length);
        cr_expect_not(gb_vocab_is_continuation(t.vocab, right.ids[0]), "passage %u", p);
    }
    cr_expect_lt(whole, single.passages / 2, "hardly a passage was cut");
    pretrain_row_order_free(&order);
    pretrain_document_list_free(&documents);
    free(own);
    tiny_free(&t);
    scratch_leave(&s);
}

/* ---- contexts ---- */

#define DRAWS 200

static bool same_text(text_ids a, text_ids b)
{
    return a.length == b.length && !memcmp(a.ids, b.ids, a.length * sizeof *a.ids);
}

/* Only the first C queries of the passage itself are drawn, and all of those. */
Test(batches, query_contexts)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    tiny t = tiny_make();
    gb_pretrain_data data = tiny_data(&t);
    tiny_params settings = tiny_settings();
    settings.common.queries = 2;
    document_list documents;
    MUST(pretrain_document_list_make(&documents, t.collection, &status));
    uint32_t sep = gb_vocab_specials(t.vocab).sep, many = 0;
    for (uint32_t p = 0; p < t.collection->passages; p++) {
        uint32_t count = gb_tokens_generated_count(&t.tokens, sep, p), drawn[2] = {0};
        many += count > 2;
        for (uint32_t i = 0; i < DRAWS; i++) {
            gb_rng rng = gb_rng_make(1, GB_RNG_CONTEXT, i, p);
            text_ids context = pretrain_context_ids(&data, &settings.common, &documents, p, &rng),
                     query;
            uint32_t which = 0;
            while (which < 2 &&
                   !(gb_tokens_generated(&t.tokens, sep, p, which, &query.ids, &query.length) &&
                     same_text(context, query)))
                which++;
            cr_assert(which < 2, "passage %u: neither of its first two queries", p);
            drawn[which]++;
        }
        for (uint32_t which = 0; which < 2 && which < count; which++)
            cr_expect(drawn[which] > DRAWS / 4 || count == 1, "passage %u: query %u drawn %u times",
                      p, which, drawn[which]);
    }
    cr_assert_gt(many, 5, "the collection has too few queries for this test");
    pretrain_document_list_free(&documents);
    tiny_free(&t);
    scratch_leave(&s);
}

/* Number of the passage a text is. */
static uint32_t passage_of(const gb_pretrain_data *data, text_ids text)
{
    for (uint32_t p = 0; p < data->collection->passages; p++)
        if (pretrain_passage_ids(data, p).ids == text.ids)
            return p;
    return GB_MAP_NONE;
}

/* Every sibling is drawn as often as the others; the passage itself only where it has none. */
Test(batches, span_contexts)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    tiny t = tiny_make();
    gb_pretrain_data data = tiny_data(&t);
    tiny_params settings = tiny_settings();
    settings.common.context = GB_CONTEXT_SPAN;
    document_list documents;
    MUST(pretrain_document_list_make(&documents, t.collection, &status));
    for (uint32_t p = 0; p < t.collection->passages; p++) {
        uint32_t document = t.collection->document[p], drawn[32] = {0};
        uint32_t first = documents.first[document], end = documents.first[document + 1];
        for (uint32_t i = 0; i < DRAWS; i++) {
            gb_rng rng = gb_rng_make(1, GB_RNG_CONTEXT, i, p);
            uint32_t other = passage_of(
                &data, pretrain_context_ids(&data, &settings.common, &documents, p, &rng));
            cr_assert(other >= first && other < end, "passage %u with %u", p, other);
            drawn[other]++;
        }
        for (uint32_t other = first; other < end; other++) {
            uint32_t siblings = end - first - 1;
            if (other == p)
                cr_expect_eq(drawn[p], siblings ? 0 : DRAWS, "passage %u with itself", p);
            else
                cr_expect_gt(drawn[other], DRAWS / siblings / 2, "passage %u with %u", p, other);
        }
    }
    pretrain_document_list_free(&documents);
    tiny_free(&t);
    scratch_leave(&s);
}

/* ---- what objectives put on the device ---- */

/* The original ids of sequence s of a batch, from its inputs and labels. */
typedef struct shown {
    uint32_t ids[TINY_LONGEST]; /* without specials, masks undone */
    uint32_t length;            /* ids */
    uint32_t labelled;          /* of them */
} shown;

static shown shown_at(const pass *p, uint32_t batch, uint32_t list, uint32_t s)
{
    const uint32_t *ids = gb_reference_u(p->reference, pass_input(p, "ids", batch));
    const uint32_t *starts =
        gb_reference_u(p->reference, pass_input(p, "sequences", batch)) + GB_SEQUENCES_HEADER;
    gb_tensor selected = pass_input(p, "selected rows", list);
    const uint32_t *rows = gb_reference_u(p->reference, selected);
    const uint32_t *labels = gb_reference_u(p->reference, pass_input(p, "labels", 0));
    uint32_t first = starts[s] + 1, end = starts[s + 1] - 1; /* without [CLS] and [SEP] */
    shown text = {.length = end - first};
    cr_assert_leq(text.length, TINY_LONGEST - 2);
    memcpy(text.ids, ids + first, text.length * sizeof *ids);
    for (uint32_t i = 0; i < gb_tape_tensor(p->tape, selected)->cols; i++)
        if (rows[i] >= first && rows[i] < end) {
            text.ids[rows[i] - first] = labels[i];
            text.labelled++;
        }
    return text;
}

/* Whether the text is this one, cut at the longest. */
static bool shows(const shown *text, text_ids wanted)
{
    if (wanted.length > TINY_LONGEST - 2)
        wanted.length = TINY_LONGEST - 2;
    return same_text(wanted, (text_ids){text->ids, text->length});
}

static uint32_t passage_shown(const gb_pretrain_data *data, const shown *text)
{
    for (uint32_t p = 0; p < data->collection->passages; p++)
        if (shows(text, pretrain_passage_ids(data, p)))
            return p;
    return GB_MAP_NONE;
}

static bool query_shown(const gb_pretrain_data *data, uint32_t passage, const shown *text)
{
    uint32_t sep = gb_vocab_specials(data->vocab).sep;
    text_ids query;
    for (uint32_t q = 0;
         gb_tokens_generated(data->tokens, sep, passage, q, &query.ids, &query.length); q++)
        if (shows(text, query))
            return true;
    return false;
}

/* Pairs side by side: two spans of one document, or a passage and a query of it. */
static void expect_pairs(const tiny *t, gb_device *device, gb_context context)
{
    gb_bert_config config = tiny_config(t, 16, 32, 0);
    tiny_params settings = tiny_settings();
    settings.common.context = context;
    settings.common.batch = 3;
    model m;
    model_make(&m, t, &config, "cocondenser", &settings);
    gb_pretrain_data data = tiny_data(t);
    for (uint32_t step = 0; step < 5; step++) {
        pass p = compare_pass_make(&m, device, step, 0);
        for (uint32_t i = 0; i < settings.common.batch; i++) {
            shown left = shown_at(&p, 0, 1, 2 * i), right = shown_at(&p, 0, 1, 2 * i + 1);
            cr_expect(left.labelled <= left.length && right.labelled <= right.length);
            uint32_t passage = passage_shown(&data, &left);
            cr_assert_neq(passage, GB_MAP_NONE);
            if (context == GB_CONTEXT_QUERY) {
                cr_expect(query_shown(&data, passage, &right), "not a query of passage %u",
                          passage);
                continue;
            }
            uint32_t other = passage_shown(&data, &right);
            cr_assert_neq(other, GB_MAP_NONE);
            cr_expect_neq(other, passage);
            cr_expect_eq(t->collection->document[other], t->collection->document[passage]);
        }
        compare_pass_free(&p);
    }
    model_free(&m);
}

Test(batches, cocondenser_pairs)
{
    scratch s = scratch_enter();
    tiny t = tiny_make();
    gb_device *device = tiny_device(GB_USER_TRAIN);
    expect_pairs(&t, device, GB_CONTEXT_SPAN);
    expect_pairs(&t, device, GB_CONTEXT_QUERY);
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
}

/* Weights of the labelled rows: a mean over each stream, nothing on the rows that fill up. */
static void expect_weights(const pass *p, uint32_t list_a, uint32_t list_b)
{
    gb_tensor weights = pass_input(p, "label weights", 0);
    const gb_tensor_info *info = gb_tape_tensor(p->tape, weights);
    const double *w = gb_reference_f(p->reference, weights);
    const uint32_t *labels = gb_reference_u(p->reference, pass_input(p, "labels", 0));
    const uint32_t *a = gb_reference_u(p->reference, pass_input(p, "selected rows", list_a));
    const uint32_t *b = gb_reference_u(p->reference, pass_input(p, "selected rows", list_b));
    uint32_t na = 0, nb = 0;
    for (uint32_t i = 0; i < info->rows; i++) {
        cr_expect(a[i] == GB_NO_ROW || b[i] == GB_NO_ROW, "place %u is taken twice", i);
        na += a[i] != GB_NO_ROW;
        nb += b[i] != GB_NO_ROW;
    }
    for (uint32_t i = 0; i < info->rows; i++) {
        bool in_a = a[i] != GB_NO_ROW, in_b = b[i] != GB_NO_ROW;
        cr_expect_float_eq(w[(size_t)i * info->ld], in_a ? 1.0 / na : in_b ? 1.0 / nb : 0, 1e-7);
        cr_expect_eq(labels[i] == GB_NO_ROW, !in_a && !in_b, "label of place %u", i);
    }
    cr_assert(na > 0 && nb > 0);
}

Test(batches, cotmae_contexts_and_targets)
{
    scratch s = scratch_enter();
    tiny t = tiny_make();
    gb_device *device = tiny_device(GB_USER_TRAIN);
    gb_bert_config config = tiny_config(&t, 16, 32, 0);
    tiny_params settings = tiny_settings();
    gb_pretrain_data data = tiny_data(&t);
    model m;
    model_make(&m, &t, &config, "cotmae", &settings);
    pass p = compare_pass_make(&m, device, 1, 0);
    expect_weights(&p, 2, 3);
    gb_tensor list = pass_input(&p, "selected rows", 3);
    const uint32_t *rows = gb_reference_u(p.reference, list);
    const uint32_t *labels = gb_reference_u(p.reference, pass_input(&p, "labels", 0));
    const uint32_t *ids = gb_reference_u(p.reference, pass_input(&p, "ids", 1));
    const uint32_t *starts =
        gb_reference_u(p.reference, pass_input(&p, "sequences", 1)) + GB_SEQUENCES_HEADER;
    uint32_t targets = 0;
    for (uint32_t i = 0; i < gb_tape_tensor(p.tape, list)->cols; i++)
        if (rows[i] != GB_NO_ROW) { /* every token but the last predicts the next */
            cr_expect_eq(labels[i], ids[rows[i] + 1]);
            targets++;
        }
    cr_expect_eq(targets, starts[settings.common.batch] - settings.common.batch);
    for (uint32_t i = 0; i < settings.common.batch; i++) {
        shown passage = shown_at(&p, 0, 2, i);
        shown context = {.length = starts[i + 1] - starts[i] - 2};
        memcpy(context.ids, ids + starts[i] + 1, context.length * sizeof *ids);
        uint32_t which = passage_shown(&data, &passage);
        cr_assert_neq(which, GB_MAP_NONE);
        cr_expect(query_shown(&data, which, &context), "not a query of passage %u", which);
        cr_expect_gt(passage.labelled, 0);
    }
    compare_pass_free(&p);
    model_free(&m);
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
}

/* A batch in which no word is short enough to be masked has no loss and no gradient. */
Test(batches, nothing_to_mask)
{
    scratch s = scratch_enter();
    tiny t = tiny_make();
    gb_device *device = tiny_device(GB_USER_TRAIN);
    gb_bert_config config = tiny_config(&t, 16, 32, 0);
    tiny_params settings = tiny_settings();
    /* One word of three pieces and a budget of one. */
    gb_tokens_close(&t.tokens);
    gb_status status = {0};
    uint32_t ids[3], length = 0;
    for (uint32_t id = 0; id < gb_vocab_size(t.vocab) && length < 3; id++)
        if (gb_vocab_is_continuation(t.vocab, id) == (length > 0) &&
            !gb_vocab_is_special(t.vocab, id))
            ids[length++] = id;
    cr_assert_eq(length, 3);
    gb_row_writer *writer = gb_row_writer_open("tokens/passages.ids.gbt", 4, &status);
    MUST(writer);
    for (uint32_t p = 0; p < t.collection->passages; p++)
        MUST(gb_row_writer_add(writer, ids, 3, &status));
    MUST(gb_row_writer_commit(writer, &status));
    MUST(gb_tokens_open("tokens", &t.tokens, &status));
    model m;
    model_make(&m, &t, &config, "mlm", &settings);
    pass p = compare_pass_make(&m, device, 0, 0);
    cr_expect_eq(p.loss[0], 0, "loss %g", p.loss[0]);
    for (uint64_t i = 0; i < gb_params_floats(m.params); i++)
        cr_assert_eq(p.gradients[i], 0, "a gradient of %g", p.gradients[i]);
    compare_pass_free(&p);
    model_free(&m);
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
}
