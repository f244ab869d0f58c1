#include "common.h"

#include <stdlib.h>

/* ---- order ---- */

bool pretrain_document_list_make(document_list *list, const gb_collection *collection,
                                 gb_status *status)
{
    uint32_t most = collection->documents;
    if (most < collection->passages)
        most = collection->passages;
    *list = (document_list){.count = collection->documents, .halves = true};
    list->first = gb_alloc((size_t)most + 1, sizeof *list->first, status);
    if (!list->first)
        return false;
    for (uint32_t p = collection->passages; p-- > 0;)
        list->first[collection->document[p]] = p;
    list->first[list->count] = collection->passages;
    for (uint32_t d = 0; d < list->count; d++)
        list->halves = list->halves && list->first[d + 1] - list->first[d] < 2;
    if (!list->halves)
        return true;
    list->count = collection->passages;
    for (uint32_t p = 0; p <= list->count; p++)
        list->first[p] = 2 * p;
    return true;
}

void pretrain_document_list_free(document_list *list)
{
    free(list->first);
    list->first = NULL;
}

bool pretrain_row_order_make(row_order *order, const gb_collection *collection, bool documents,
                             uint64_t seed, gb_status *status)
{
    document_list list;
    *order = (row_order){0};
    if (!pretrain_document_list_make(&list, collection, status))
        return false;
    uint32_t all = documents ? list.count : collection->passages;
    order->rows = gb_alloc(all, sizeof *order->rows, status);
    bool ok = order->rows && gb_epochs_make(&order->epochs, all, seed, 0, status);
    uint32_t count = 0;
    for (uint32_t r = 0; ok && r < all; r++)
        if (!documents || list.first[r + 1] - list.first[r] >= 2)
            order->rows[count++] = r;
    order->epochs.count = count;
    if (ok && !count)
        ok = gb_fail(status, GB_DATA, collection->path, NULL, "there is no passage to train on");
    pretrain_document_list_free(&list);
    if (!ok)
        pretrain_row_order_free(order);
    return ok;
}

/* Keep some of the passages that have queries: a larger number keeps these and more. */
static bool keep_some(row_order *order, const gb_pretrain_data *data,
                      const gb_pretrain_params *params, gb_status *status)
{
    uint32_t sep = gb_vocab_specials(data->vocab).sep, count = 0;
    for (uint32_t r = 0; r < order->epochs.count; r++)
        if (gb_tokens_generated_count(data->tokens, sep, order->rows[r]))
            order->rows[count++] = order->rows[r];
    if (!count)
        return gb_fail(status, GB_DATA, data->collection->path, "give the collection queries",
                       "no passage has a generated query to choose it for");
    gb_rng rng = gb_rng_make(params->seed, GB_RNG_SPLIT, 0, 0);
    gb_rng_shuffle(&rng, order->rows, count);
    if (count < params->passages)
        gb_log(GB_LOG_WARN, "%u passages have generated queries: %u cannot be used", count,
               params->passages);
    order->epochs.count = count < params->passages ? count : params->passages;
    return true;
}

bool pretrain_row_order_passages(row_order *order, const gb_pretrain_data *data,
                                 const gb_pretrain_params *params, gb_status *status)
{
    if (!pretrain_row_order_make(order, data->collection, false, params->seed, status))
        return false;
    if (!params->passages || keep_some(order, data, params, status))
        return true;
    pretrain_row_order_free(order);
    return false;
}

void pretrain_row_order_free(row_order *order)
{
    free(order->rows);
    gb_epochs_free(&order->epochs);
    *order = (row_order){0};
}

uint32_t pretrain_row_order_at(row_order *order, uint64_t index)
{
    return order->rows[gb_epochs_at(&order->epochs, index)];
}

/* ---- texts ---- */

text_ids pretrain_passage_ids(const gb_pretrain_data *data, uint32_t passage)
{
    text_ids text;
    text.ids = gb_row_file_row(data->tokens->passages, passage, &text.length);
    return text;
}

text_ids pretrain_span_ids(const gb_pretrain_data *data, const document_list *documents,
                           uint32_t span)
{
    if (!documents->halves)
        return pretrain_passage_ids(data, span);
    text_ids text = pretrain_passage_ids(data, span / 2);
    size_t middle = text.length / 2;
    while (middle < text.length && gb_vocab_is_continuation(data->vocab, text.ids[middle]))
        middle++;
    if (middle == 0 || middle == text.length) /* a single word */
        return text;
    return span % 2 ? (text_ids){text.ids + middle, text.length - middle}
                    : (text_ids){text.ids, middle};
}

static text_ids query_ids(const gb_pretrain_data *data, const gb_pretrain_params *params,
                          uint32_t passage, gb_rng *rng)
{
    text_ids text = pretrain_passage_ids(data, passage);
    uint32_t sep = gb_vocab_specials(data->vocab).sep;
    uint32_t count = gb_tokens_generated_count(data->tokens, sep, passage);
    if (count > params->queries)
        count = params->queries;
    if (count)
        gb_tokens_generated(data->tokens, sep, passage, gb_rng_below(rng, count), &text.ids,
                            &text.length);
    return text;
}

text_ids pretrain_context_ids(const gb_pretrain_data *data, const gb_pretrain_params *params,
                              const document_list *documents, uint32_t row, gb_rng *rng)
{
    if (params->context == GB_CONTEXT_QUERY)
        return query_ids(data, params, row, rng);
    uint32_t document = documents->halves ? row / 2 : data->collection->document[row];
    uint32_t first = documents->first[document];
    uint32_t count = documents->first[document + 1] - first;
    if (count < 2)
        return pretrain_span_ids(data, documents, row);
    uint32_t other = first + gb_rng_below(rng, count - 1); /* uniform over the others */
    return pretrain_span_ids(data, documents, other >= row ? other + 1 : other);
}

/* ---- pairs ---- */

static bool is_mixed(gb_context context)
{
    return context == GB_CONTEXT_MIXED_STEP || context == GB_CONTEXT_MIXED_EXAMPLE;
}

/* A passage without generated queries is its own context, and one with fewer than are asked for has
 * those. */
static void warn_of_few(const row_order *order, const gb_pretrain_data *data, uint32_t wanted)
{
    uint32_t none = 0, most = 0, sep = gb_vocab_specials(data->vocab).sep;
    for (uint32_t r = 0; r < order->epochs.count; r++) {
        size_t length = 0;
        if (data->tokens->generated)
            gb_row_file_row(data->tokens->generated, order->rows[r], &length);
        none += length == 0;
        uint32_t count =
            most < wanted ? gb_tokens_generated_count(data->tokens, sep, order->rows[r]) : 0;
        most = count > most ? count : most;
    }
    if (most && most < wanted)
        gb_log(GB_LOG_WARN, "no passage has more than %u generated queries: %u cannot be used",
               most, wanted);
    if (none)
        gb_log(GB_LOG_WARN,
               "%u of %u passages have no generated query: each is paired with itself (gabbro "
               "generate, and gabbro tokenize --generated)",
               none, order->epochs.count);
}

bool pretrain_pair_source_make(pair_source *source, const gb_pretrain_data *data,
                               const gb_pretrain_params *params, bool by_document,
                               gb_status *status)
{
    *source = (pair_source){.by_document = by_document && params->context == GB_CONTEXT_SPAN};
    if (source->by_document && params->passages)
        return gb_fail(status, GB_USAGE, NULL, "take another --context",
                       "a number of passages cannot be chosen where documents are visited");
    if (!pretrain_document_list_make(&source->documents, data->collection, status))
        return false;
    if (source->by_document
            ? !pretrain_row_order_make(&source->order, data->collection, true, params->seed, status)
            : !pretrain_row_order_passages(&source->order, data, params, status)) {
        pretrain_document_list_free(&source->documents);
        return false;
    }
    if (params->context == GB_CONTEXT_QUERY || is_mixed(params->context))
        warn_of_few(&source->order, data, params->queries);
    if (source->documents.halves &&
        (params->context == GB_CONTEXT_SPAN || is_mixed(params->context)))
        gb_log(GB_LOG_INFO, "no document has two passages: spans are the halves of a passage");
    return true;
}

void pretrain_pair_source_free(pair_source *source)
{
    pretrain_document_list_free(&source->documents);
    pretrain_row_order_free(&source->order);
}

/* What a mixed context is this time: of the whole step or of one pair. */
static gb_context draw_context(const gb_pretrain_params *params, uint32_t step, gb_rng *rng)
{
    if (!is_mixed(params->context))
        return params->context;
    gb_rng of_step = gb_rng_make(params->seed, GB_RNG_CONTEXT, step, UINT32_MAX);
    if (params->context == GB_CONTEXT_MIXED_STEP)
        rng = &of_step;
    return gb_rng_below(rng, 2) ? GB_CONTEXT_QUERY : GB_CONTEXT_SPAN;
}

void pretrain_pair_source_at(pair_source *source, const gb_pretrain_data *data,
                             const gb_pretrain_params *params, uint32_t step, uint32_t i,
                             text_ids pair[2])
{
    const document_list *documents = &source->documents;
    uint32_t row = pretrain_row_order_at(&source->order, (uint64_t)step * params->batch + i);
    gb_rng rng = gb_rng_make(params->seed, GB_RNG_CONTEXT, step, i);
    gb_pretrain_params drawn = *params;
    drawn.context = draw_context(params, step, &rng);
    bool span = drawn.context == GB_CONTEXT_SPAN;
    if (source->by_document) {
        uint32_t first = documents->first[row];
        row = first + gb_rng_below(&rng, documents->first[row + 1] - first);
    } else if (span && documents->halves) {
        row = 2 * row + gb_rng_below(&rng, 2);
    }
    pair[0] = span ? pretrain_span_ids(data, documents, row) : pretrain_passage_ids(data, row);
    pair[1] = drawn.context == GB_CONTEXT_SELF
                  ? pair[0]
                  : pretrain_context_ids(data, &drawn, documents, row, &rng);
}

/* ---- masking ---- */

void pretrain_masker_free(masker *m)
{
    free(m->ids);
    free(m->labels);
}

bool pretrain_mask_text(masker *m, const gb_vocab *vocab, const gb_mask_params *how, text_ids text,
                        gb_rng *rng, gb_status *status)
{
    if (!gb_grow(&m->ids, &m->id_capacity, text.length + 1, sizeof *m->ids, status) ||
        !gb_grow(&m->labels, &m->label_capacity, text.length + 1, sizeof *m->labels, status))
        return false;
    gb_mask_words(vocab, how, text.ids, text.length, rng, m->ids, m->labels);
    return true;
}

bool pretrain_add_masked(masker *m, gb_batch *batch, const gb_pretrain_data *data, text_ids text,
                         double ratio, uint32_t max_length, gb_rng *rng, gb_status *status)
{
    /* Cut first, then mask what is left, so that masks and words agree. */
    if (text.length + 2 > max_length)
        text.length = max_length - 2;
    gb_special_ids specials = gb_vocab_specials(data->vocab);
    gb_mask_params params = {.ratio = ratio};
    if (!pretrain_mask_text(m, data->vocab, &params, text, rng, status))
        return false;
    return gb_batch_add(batch, &specials, m->ids, m->labels, text.length, max_length, status);
}

/* ---- labelled rows ---- */

gb_tensor pretrain_labelled_loss(gb_builder *builder, const gb_bert *bert,
                                 const labelled_inputs *in, gb_tensor a, gb_tensor b)
{
    gb_tensor h = gb_selection_gather(builder, a, &in->a);
    if (b != GB_NO_TENSOR)
        h = gb_scatter_rows(builder->tape, h, b, in->b.index, in->b.inverse);
    return gb_bert_mlm_loss(builder, bert, h, in->labels, in->weights);
}

void pretrain_labelled_rows_free(labelled_rows *list)
{
    free(list->rows);
    free(list->labels);
}

bool pretrain_labelled_rows_add(labelled_rows *list, uint32_t row, uint32_t label,
                                gb_status *status)
{
    if (!gb_grow(&list->rows, &list->row_capacity, list->count + 1, sizeof *list->rows, status) ||
        !gb_grow(&list->labels, &list->label_capacity, list->count + 1, sizeof *list->labels,
                 status))
        return false;
    list->rows[list->count] = row;
    list->labels[list->count++] = label;
    return true;
}

bool pretrain_labelled_rows_all(labelled_rows *list, const gb_batch *batch, gb_status *status)
{
    list->count = 0;
    for (uint32_t s = 0; s < batch->count; s++)
        for (uint32_t r = batch->starts[s] + 1; r + 1 < batch->starts[s + 1]; r++) {
            bool masked = batch->labels[r] != GB_IGNORE;
            uint32_t label = masked ? (uint32_t)batch->labels[r] : batch->ids[r];
            if (!pretrain_labelled_rows_add(list, r, label, status))
                return false;
        }
    return true;
}

bool pretrain_labelled_rows_of(labelled_rows *list, const gb_batch *batch, gb_status *status)
{
    list->count = list->of = 0;
    for (uint32_t r = 0; r < batch->rows; r++)
        if (batch->labels[r] != GB_IGNORE &&
            !pretrain_labelled_rows_add(list, r, (uint32_t)batch->labels[r], status))
            return false;
    return true;
}

/* Weight of one row in the mean over all rows. */
static float share(const labelled_rows *list)
{
    return 1.0f / (float)(list->of ? list->of : list->count);
}

typedef struct labelled_record {
    labelled_inputs in;         /* filled */
    const labelled_rows *a, *b; /* from; b may be NULL */
} labelled_record;

static bool fill_labelled(const void *record_, gb_executable *exec, uint32_t step,
                          gb_status *status)
{
    (void)step;
    const labelled_record *record = record_;
    const labelled_inputs *in = &record->in;
    const labelled_rows *a = record->a, *b = record->b;
    uint32_t nb = b ? b->count : 0;
    if (a->count + nb > in->count)
        return gb_fail(status, GB_INTERNAL, NULL, NULL, "%u labelled rows in a bucket of %u",
                       a->count + nb, in->count);
    uint32_t *labels = gb_executable_input(exec, in->labels, status);
    float *weights = labels ? gb_executable_input(exec, in->weights, status) : NULL;
    if (!weights || !gb_selection_fill(exec, &in->a, a->rows, a->count, 0, status) ||
        (b && !gb_selection_fill(exec, &in->b, b->rows, b->count, a->count, status)))
        return false;
    for (uint32_t i = 0; i < in->count; i++) {
        bool in_a = i < a->count, in_b = b && !in_a && i < a->count + nb;
        labels[i] = in_a ? a->labels[i] : in_b ? b->labels[i - a->count] : GB_NO_ROW;
        weights[(size_t)i * 4] = in_a ? share(a) : in_b ? share(b) : 0.0f;
    }
    return true;
}

labelled_inputs pretrain_labelled_declare(gb_builder *builder, uint32_t count, uint32_t rows_a,
                                          const labelled_rows *a, uint32_t rows_b,
                                          const labelled_rows *b)
{
    labelled_record record = {
        {.a = gb_selection_declare(builder, count, rows_a), .count = count}, a, b};
    if (b)
        record.in.b = gb_selection_declare(builder, count, rows_b);
    record.in.labels = gb_tape_input(builder->tape, "labels", GB_U32, count, 1);
    record.in.weights = gb_tape_input(builder->tape, "label weights", GB_F32, count, 1);
    gb_tape_fill_by(builder->tape, fill_labelled, &record, sizeof record);
    return record.in;
}

/* ---- the texts of a batch ---- */

void pretrain_batch_texts_free(batch_texts *texts)
{
    gb_batch_free(&texts->all);
    pretrain_labelled_rows_free(&texts->labelled);
    gb_selected_rows_free(&texts->read);
    gb_batch_free(&texts->part);
    pretrain_labelled_rows_free(&texts->selected_labelled);
}

void pretrain_batch_texts_reset(batch_texts *texts)
{
    gb_batch_reset(&texts->all);
    texts->labelled.count = texts->labelled.of = 0;
}

/* First of the rows in order that is not before `row`. */
static uint32_t find_row(const labelled_rows *list, uint32_t row)
{
    uint32_t low = 0, high = list->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list->rows[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t pretrain_batch_texts_rows(const batch_texts *texts, uint32_t first, uint32_t count)
{
    return texts->all.starts[first + count] - texts->all.starts[first];
}

uint32_t pretrain_batch_texts_labelled(const batch_texts *texts, uint32_t first, uint32_t count)
{
    const uint32_t *starts = texts->all.starts;
    return find_row(&texts->labelled, starts[first + count]) -
           find_row(&texts->labelled, starts[first]);
}

uint32_t pretrain_batch_texts_read(const batch_texts *texts, uint32_t first, uint32_t count)
{
    uint32_t rows = gb_bucket_rows(pretrain_batch_texts_rows(texts, first, count));
    if (texts->all_read)
        return rows;
    const uint32_t *starts = texts->all.starts + first;
    uint32_t labelled = pretrain_batch_texts_labelled(texts, first, count);
    return gb_selected_rows_bucket(
        starts, count, labelled ? texts->labelled.rows + find_row(&texts->labelled, *starts) : NULL,
        labelled, rows);
}

void pretrain_batch_texts_size(const batch_texts *texts, uint32_t first, uint32_t count,
                               uint32_t heads, gb_bucket *bucket)
{
    bucket->size[BUCKET_ROWS] = gb_bucket_rows(pretrain_batch_texts_rows(texts, first, count));
    if (heads)
        bucket->size[BUCKET_LABELLED] =
            gb_bucket_rows(heads * pretrain_batch_texts_labelled(texts, first, count));
    bucket->size[BUCKET_SELECTED] = pretrain_batch_texts_read(texts, first, count);
}

static bool list_read(batch_texts *texts, gb_status *status)
{
    return texts->all_read ||
           gb_selected_rows_list(&texts->read, texts->now.starts, texts->now.count,
                                 texts->now_labelled.rows, texts->now_labelled.count, status);
}

bool pretrain_batch_texts_take_all(batch_texts *texts, gb_status *status)
{
    texts->now = texts->all;
    texts->now_labelled = texts->labelled;
    texts->first = 0;
    return list_read(texts, status);
}

static bool copy_labelled(batch_texts *texts, gb_status *status)
{
    const labelled_rows *all = &texts->labelled;
    labelled_rows *part = &texts->selected_labelled;
    uint32_t row0 = texts->part.row0, end = find_row(all, row0 + texts->part.rows);
    part->count = 0;
    part->of = all->count;
    for (uint32_t i = find_row(all, row0); i < end; i++)
        if (!pretrain_labelled_rows_add(part, all->rows[i] - row0, all->labels[i], status))
            return false;
    return true;
}

bool pretrain_batch_texts_take(batch_texts *texts, uint32_t first, uint32_t count,
                               gb_status *status)
{
    if (!gb_batch_slice(&texts->all, first, count, &texts->part, status) ||
        !copy_labelled(texts, status))
        return false;
    texts->now = texts->part;
    texts->now_labelled = texts->selected_labelled;
    texts->first = first;
    return list_read(texts, status);
}

bool pretrain_batch_texts_masked(batch_texts *texts, uint32_t heads, gb_bucket *bucket,
                                 gb_status *status)
{
    if (!pretrain_labelled_rows_of(&texts->labelled, &texts->all, status))
        return false;
    pretrain_batch_texts_size(texts, 0, texts->all.count, heads, bucket);
    return pretrain_batch_texts_take_all(texts, status);
}

gb_batch_inputs pretrain_batch_texts_declare(gb_builder *builder, const gb_bert *bert,
                                             const gb_bucket *bucket, uint32_t count,
                                             const batch_texts *texts, uint64_t seed)
{
    gb_batch_inputs in = gb_batch_declare(builder, &bert->config, bucket->size[BUCKET_ROWS], count,
                                          &texts->now, seed);
    if (bucket->size[BUCKET_SELECTED] < in.rows)
        gb_selected_rows_declare(builder, &in, bucket->size[BUCKET_SELECTED], &texts->now,
                                 &texts->read);
    return in;
}

uint32_t pretrain_texts_of(const gb_bucket *bucket, uint32_t batch)
{
    return bucket->texts ? bucket->texts : batch;
}
