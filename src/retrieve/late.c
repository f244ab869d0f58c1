/* A retriever of late interaction: how many vectors its texts have, and their files. */
#include "late.h"

#include <stdlib.h>

/* ---- opening ---- */

bool retrieve_late_open(gb_retriever *r, gb_status *status)
{
    retrieve_late *late = &r->late;
    if (!retrieve_is_late(r))
        return true;
    if (r->how.pooling)
        return gb_fail(status, GB_USAGE, gb_folder_path(r->model.folder), "leave --pooling out",
                       "a %s model has vectors of tokens, which are not pooled",
                       gb_late_kind_name(late->settings.kind));
    return gb_late_declare(r->params, &r->model.config, &late->settings,
                           gb_vocab_specials(r->model.vocab), &late->head, status);
}

void retrieve_late_close(retrieve_late *late)
{
    gb_late_settings_free(&late->settings);
    free(late->starts);
    free(late->tags);
    gb_npy_close(late->whole);
}

/* ---- what is known before encoding ---- */

uint32_t *retrieve_late_starts(const gb_retriever *r, gb_late_side side,
                               const gb_encode_rows *texts, gb_status *status)
{
    uint32_t *starts = gb_alloc((size_t)texts->count + 1, sizeof *starts, status);
    uint64_t total = 0;
    for (uint32_t i = 0; starts && i < texts->count; i++) {
        size_t length;
        const uint32_t *ids = gb_encode_text(texts, i, &length);
        total += gb_late_kept(&r->late.head, side, ids, length);
        starts[i + 1] = (uint32_t)total;
    }
    if (!starts || total < UINT32_MAX)
        return starts;
    gb_fail(status, GB_DATA, texts->label, "encode in parts: --shard-count",
            "%llu tokens are more than 32 bits can number", (unsigned long long)total);
    free(starts);
    return NULL;
}

bool retrieve_late_tags(const gb_retriever *r, gb_late_side side, const gb_encode_rows *texts,
                        late_take_tags *take, void *ctx, gb_status *status)
{
    gb_batch batch = {0};
    uint32_t *tags = gb_alloc(gb_late_longest(&r->late.head, side), sizeof *tags, status);
    bool ok = tags != NULL;
    for (uint32_t i = 0; ok && i < texts->count; i++) {
        size_t length;
        const uint32_t *ids = gb_encode_text(texts, i, &length);
        gb_batch_reset(&batch);
        ok = gb_late_add(&r->late.head, side, ids, length, &batch, status);
        uint32_t kept = 0;
        if (ok)
            gb_late_tags(&r->late.head, side, batch.ids, batch.rows, tags);
        for (uint32_t t = 0; ok && t < batch.rows; t++)
            if (tags[t] != GB_NO_ROW)
                tags[kept++] = tags[t];
        ok = ok && take(ctx, tags, kept);
    }
    gb_batch_free(&batch);
    free(tags);
    return ok;
}

/* ---- encoding ---- */

gb_late_encoder *retrieve_late_encoder(const gb_retriever *r, gb_late_side side, gb_status *status)
{
    gb_late_encoder **encoder = &r->programs->late_texts[side];
    gb_state *state = *encoder ? NULL : retrieve_state(r, status);
    const gb_late_encoder_params params = {.device = r->how.device,
                                           .bert = &r->bert,
                                           .late = &r->late.head,
                                           .params = r->params,
                                           .state = state,
                                           .side = side};
    if (state)
        *encoder = gb_late_encoder_create(&params, status);
    return *encoder;
}

/* What a part is made of. */
typedef struct encoding {
    gb_late_encoder *encoder; /* does it */
    gb_encode_rows texts;     /* of this rank */
    const uint32_t *starts;   /* of them */
    uint32_t width;           /* of a token's vector */
} encoding;

static bool encode_some(void *self, uint32_t first, uint32_t count, float *vectors,
                        gb_status *status)
{
    const encoding *e = self;
    gb_encode_rows some = e->texts;
    some.first += first;
    some.count = count;
    some.label = NULL;
    size_t rows = e->starts[first + count] - e->starts[first];
    return gb_late_encoder_run(e->encoder, &some, vectors, vectors + rows * e->width, NULL, status);
}

bool retrieve_late_write(const gb_retriever *r, gb_late_side side, const gb_encode_rows *texts,
                         const uint32_t *starts, const gb_vector_file *file, const char *whole,
                         gb_padding *padding, gb_status *status)
{
    gb_ranks *ranks = r->how.ranks;
    encoding e = {retrieve_late_encoder(r, side, status), *texts, NULL, r->late.settings.width};
    retrieve_part part = {.file = file,
                          .label = texts->label,
                          .rows = starts[texts->count],
                          .width = e.width,
                          .whole_rows = texts->count,
                          .make = encode_some,
                          .self = &e};
    if (r->late.settings.kind == GB_LATE_COIL) {
        part.whole = whole;
        part.whole_width = r->model.config.hidden_size;
    }
    gb_ranks_range(gb_ranks_rank(ranks), gb_ranks_count(ranks), texts->count, &part.at,
                   &part.count);
    e.texts.first += part.at;
    part.starts = e.starts = starts + part.at;
    gb_padding before = e.encoder ? gb_late_encoder_padding(e.encoder) : (gb_padding){0};
    bool ok =
        e.encoder && retrieve_write_part(&part, status) && retrieve_wait_for_ranks(ranks, status);
    if (ok && padding)
        *padding = retrieve_padding_since(gb_late_encoder_padding(e.encoder), before);
    return ok;
}
