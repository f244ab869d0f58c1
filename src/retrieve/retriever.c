/* A retriever: vectors of a collection's texts, and exact search among those of passages. Where its
 * vectors are sparse, sparse_retriever.c does the work, where they are of tokens, late.c. */
#include "late.h"
#include "sparse.h"

#include <stdlib.h>

static bool open_encoder(gb_retriever *r, gb_status *status)
{
    const gb_retriever_params *how = &r->how;
    bool ok =
        gb_model_input_open(&r->model, how->model, &r->tokens, status) &&
        gb_model_late(&r->model, &r->tokens, &r->late.settings, status) &&
        (retrieve_is_late(r) ||
         gb_model_sentence(r->model.folder, &r->tokens, how->pooling, &r->sentence, status)) &&
        (r->params = gb_params_create(status)) &&
        gb_bert_declare(r->params, &r->model.config, gb_retriever_is_sparse(r), &r->bert, status) &&
        retrieve_late_open(r, status) &&
        gb_bert_add_projector(r->params, &r->bert, gb_folder_projector(r->model.folder), status) &&
        (r->values = gb_model_input_values(r->model.folder, r->params, status));
    r->hidden = r->model.config.hidden_size;
    if (ok)
        r->specials = gb_vocab_specials(r->model.vocab);
    return ok;
}

/* The tokens say how long its texts are. */
static bool open_language(gb_retriever *r, gb_status *status)
{
    const gb_tokens *tokens = &r->tokens;
    if (!gb_language_input_open(&r->language, r->how.model, tokens, status))
        return false;
    gb_coder_ids ids = gb_coder_special_ids(r->language.coder);
    r->specials = (gb_special_ids){ids.pad, ids.unk, ids.before, ids.end, GB_MAP_NONE};
    r->hidden = r->language.config.hidden_size;
    r->sentence = r->language.sentence;
    r->sentence.max_length =
        tokens->max_passage > tokens->max_query ? tokens->max_passage : tokens->max_query;
    gb_settle_pooling(r->language.folder, true, gb_pooling_named(r->how.pooling), &r->sentence);
    return gb_settle_similarity(r->language.folder, &r->sentence, status);
}

static bool open_model(gb_retriever *r, gb_status *status)
{
    return gb_open_tokens(r->how.tokens, r->how.collection, &r->tokens, status) &&
           (gb_model_is_language(r->how.model) ? open_language(r, status)
                                               : open_encoder(r, status));
}

static bool read_query_weights(gb_retriever *r, gb_status *status)
{
    r->query_weights = gb_alloc(gb_retriever_width(r), sizeof *r->query_weights, status);
    return r->query_weights && gb_folder_query_weights(r->model.folder, r->query_weights, status);
}

/* The tower of queries, where they have one: a retriever that is asked for queries alone. */
static bool open_queries(gb_retriever *r, gb_status *status)
{
    char *tower;
    if (!gb_find_query_tower(r->how.model, &tower, status))
        return false;
    gb_retriever_params how = r->how;
    how.model = tower;
    bool ok = !tower || (r->queries = gb_retriever_open(&how, status)) != NULL;
    if (r->queries)
        r->queries->how.model = r->how.model;
    if (ok && r->queries &&
        (gb_retriever_width(r->queries) != gb_retriever_width(r) ||
         r->queries->sentence.normalize != r->sentence.normalize || gb_retriever_is_sparse(r)))
        ok = gb_fail(status, GB_DATA, tower, NULL,
                     "the towers make vectors that do not belong "
                     "together: other widths, lengths or kinds");
    free(tower);
    return ok;
}

/* Dense vectors alone can be cut. */
static bool check_dims(const gb_retriever *r, gb_status *status)
{
    uint32_t dims = r->how.dims;
    bool dense = !gb_retriever_is_sparse(r) && !retrieve_is_late(r);
    return (dense ? dims <= r->hidden : !dims) ||
           gb_fail(status, GB_USAGE, "--dims", dense ? "take fewer" : "leave it out",
                   dense ? "%u of the %u dimensions of a vector"
                         : "%u dimensions of a vector that is not one of a text (model of %u)",
                   dims, r->hidden);
}

/* And weights of terms alone be dropped or rounded. */
static bool check_sparse(const gb_retriever *r, gb_status *status)
{
    const gb_sparse_settings *s = &r->how.sparse;
    bool asked = s->passage_terms || s->query_terms || s->least_weight > 0 || s->quantize > 0;
    return !asked || gb_retriever_is_sparse(r) ||
           gb_fail(status, GB_USAGE, r->how.model, "leave them out",
                   "options of sparse vectors, which the model does not make");
}

gb_retriever *gb_retriever_open(const gb_retriever_params *params, gb_status *status)
{
    gb_retriever *r = gb_alloc(1, sizeof *r, status);
    if (!r)
        return NULL;
    r->how = *params;
    r->programs = gb_alloc(1, sizeof *r->programs, status);
    if (!r->programs || !open_model(r, status) || !check_dims(r, status) ||
        !check_sparse(r, status) || (r->sentence.query_tokens && !read_query_weights(r, status)) ||
        !open_queries(r, status)) {
        gb_retriever_close(r);
        return NULL;
    }
    return r;
}

static void close_programs(retrieve_programs *programs)
{
    for (int i = 0; programs && i < 2; i++) {
        gb_encoder_destroy(programs->texts[i]);
        gb_late_encoder_destroy(programs->late_texts[i]);
    }
    if (programs) {
        gb_lm_encoder_destroy(programs->language);
        gb_state_destroy(programs->state);
    }
    free(programs);
}

void gb_retriever_close(gb_retriever *r)
{
    if (!r)
        return;
    gb_retriever_close(r->queries);
    close_programs(r->programs);
    gb_tokens_close(&r->tokens);
    if (r->params)
        gb_bert_free(&r->bert);
    gb_params_destroy(r->params);
    gb_model_input_close(&r->model);
    gb_language_input_close(&r->language);
    free(r->values);
    gb_npy_close(r->passages);
    free(r->query_weights);
    free(r->sparse_index);
    retrieve_late_close(&r->late);
    free(r);
}

const gb_retriever_params *retrieve_params(const gb_retriever *r)
{
    return &r->how;
}

bool gb_retriever_is_sparse(const gb_retriever *r)
{
    return r->sentence.pooling == GB_POOLING_TERMS;
}

uint32_t gb_retriever_width(const gb_retriever *r)
{
    if (retrieve_is_late(r))
        return r->late.settings.width;
    if (gb_retriever_is_sparse(r))
        return r->model.config.vocab_size;
    return r->how.dims ? r->how.dims : r->hidden;
}

const gb_tokens *gb_retriever_tokens(const gb_retriever *r)
{
    return &r->tokens;
}

gb_special_ids gb_retriever_specials(const gb_retriever *r)
{
    return r->specials;
}

/* ---- vectors ---- */

gb_state *retrieve_state(const gb_retriever *r, gb_status *status)
{
    gb_state **state = &r->programs->state;
    if (*state)
        return *state;
    *state = gb_state_create(r->how.device, r->params, false, status);
    if (*state && !gb_state_write(*state, GB_ARENA_PARAMS, r->values, status)) {
        gb_state_destroy(*state);
        *state = NULL;
    }
    return *state;
}

gb_encoder *retrieve_encoder(const gb_retriever *r, gb_text_kind kind, gb_status *status)
{
    bool query = kind == GB_TEXT_QUERY;
    if (query && r->queries)
        return retrieve_encoder(r->queries, kind, status);
    gb_encoder **encoder = &r->programs->texts[query];
    gb_state *state = *encoder ? NULL : retrieve_state(r, status);
    const gb_encoder_params params = {.device = r->how.device,
                                      .bert = &r->bert,
                                      .params = r->params,
                                      .state = state,
                                      .sentence = r->sentence,
                                      .dims = r->how.dims,
                                      .specials = r->specials,
                                      .max_length =
                                          query ? r->tokens.max_query : r->tokens.max_passage};
    if (!state)
        return *encoder;
    const char *prompt = query ? r->tokens.query_prompt : r->tokens.passage_prompt;
    uint32_t left_out;
    if (gb_prompt_tokens(&r->model, &r->sentence, prompt, &left_out, status) &&
        (*encoder = gb_encoder_create(&params, status)))
        gb_encoder_leave_out(*encoder, left_out);
    return *encoder;
}

/* That of a LLaMA, for texts of all kinds. */
static gb_lm_encoder *language_encoder(const gb_retriever *r, gb_status *status)
{
    gb_lm_encoder **encoder = &r->programs->language;
    if (!*encoder)
        *encoder = retrieve_language_encoder(&r->language, r->how.device, &r->sentence, r->how.dims,
                                             true, status);
    return *encoder;
}

/* What makes dense vectors of the texts of a kind. */
typedef struct vector_maker {
    gb_encoder *encoder;     /* or NULL */
    gb_lm_encoder *language; /* otherwise */
} vector_maker;

static bool find_maker(const gb_retriever *r, gb_text_kind kind, vector_maker *m, gb_status *status)
{
    const gb_retriever *of = kind == GB_TEXT_QUERY && r->queries ? r->queries : r;
    *m = (vector_maker){0};
    return retrieve_is_language(of) ? (m->language = language_encoder(of, status)) != NULL
                                    : (m->encoder = retrieve_encoder(of, kind, status)) != NULL;
}

static bool make_vectors(const vector_maker *m, const gb_encode_rows *texts, float *vectors,
                         gb_status *status)
{
    return m->language ? gb_lm_encoder_run(m->language, texts, vectors, status)
                       : gb_encoder_run(m->encoder, texts, vectors, status);
}

static gb_padding padding_of(const vector_maker *m)
{
    return m->language ? gb_lm_encoder_padding(m->language) : gb_encoder_padding(m->encoder);
}

gb_padding retrieve_padding_since(gb_padding now, gb_padding before)
{
    return (gb_padding){now.used - before.used, now.computed - before.computed};
}

bool gb_retriever_encode(const gb_retriever *r, gb_text_kind kind, const gb_encode_rows *texts,
                         float *vectors, gb_status *status)
{
    if (gb_retriever_is_sparse(r))
        return retrieve_sparse_encode(r, kind, texts, vectors, status);
    if (retrieve_is_late(r))
        return gb_fail(status, GB_USAGE, gb_folder_path(r->model.folder), "take a dense retriever",
                       "a %s model has no vector of a text",
                       gb_late_kind_name(r->late.settings.kind));
    vector_maker m;
    return find_maker(r, kind, &m, status) && make_vectors(&m, texts, vectors, status);
}

bool retrieve_wait_for_ranks(gb_ranks *ranks, gb_status *status)
{
    bool nothing = false;
    return gb_ranks_any(ranks, &nothing, status);
}

/* What a part is made of. */
typedef struct encoding {
    vector_maker maker;   /* does it */
    gb_encode_rows texts; /* of this rank */
} encoding;

static bool encode_some(void *self, uint32_t first, uint32_t count, float *vectors,
                        gb_status *status)
{
    const encoding *e = self;
    const gb_encode_rows some = {.tokens = e->texts.tokens,
                                 .rows = e->texts.rows,
                                 .first = e->texts.first + first,
                                 .count = count};
    return make_vectors(&e->maker, &some, vectors, status);
}

bool gb_retriever_write(const gb_retriever *r, gb_text_kind kind, const gb_encode_rows *texts,
                        const gb_vector_file *file, gb_padding *padding, gb_status *status)
{
    gb_ranks *ranks = r->how.ranks;
    encoding e = {.texts = *texts};
    if (!find_maker(r, kind, &e.maker, status))
        return false;
    retrieve_part part = {.file = file,
                          .label = texts->label,
                          .rows = texts->count,
                          .width = gb_retriever_width(r),
                          .make = encode_some,
                          .self = &e};
    gb_ranks_range(gb_ranks_rank(ranks), gb_ranks_count(ranks), texts->count, &part.at,
                   &part.count);
    e.texts.first += part.at;
    gb_padding before = padding_of(&e.maker);
    bool ok = retrieve_write_part(&part, status) && retrieve_wait_for_ranks(ranks, status);
    if (ok && padding)
        *padding = retrieve_padding_since(padding_of(&e.maker), before);
    return ok;
}

/* ---- ranking ---- */

bool gb_retriever_index(gb_retriever *r, const gb_vector_file *file, gb_status *status)
{
    const gb_encode_rows texts = {.tokens = r->tokens.passages,
                                  .count = (uint32_t)gb_row_file_count(r->tokens.passages),
                                  .label = "encode passages"};
    if (retrieve_is_late(r))
        return retrieve_late_index(r, file, status);
    if (gb_retriever_is_sparse(r))
        return (r->sparse_index = gb_strdup(file->path, status)) &&
               retrieve_sparse_write(r, GB_TEXT_PASSAGE, &texts, file, NULL, status);
    return gb_retriever_write(r, GB_TEXT_PASSAGE, &texts, file, NULL, status) &&
           (r->passages = gb_npy_open(&file->path, 1, status));
}

gb_vectors gb_retriever_passages(const gb_retriever *r)
{
    return gb_npy_vectors(r->passages);
}

bool retrieve_add_lists(const gb_encode_rows *queries, uint32_t k, const gb_found *found,
                        gb_run *run, gb_status *status)
{
    gb_hit *hits = gb_alloc(k, sizeof *hits, status);
    bool ok = hits != NULL;
    for (uint32_t q = 0; ok && q < queries->count; q++) {
        uint32_t query = queries->first + q;
        for (size_t i = 0, at = (size_t)q * k; i < k; i++)
            hits[i] = (gb_hit){found->rows[at + i], found->scores[at + i]};
        ok = gb_run_add(run, queries->rows ? queries->rows[query] : query, hits, k, status);
    }
    free(hits);
    return ok;
}

bool gb_retriever_rank(gb_retriever *r, const gb_encode_rows *queries, uint32_t depth, gb_run *run,
                       gb_status *status)
{
    if (gb_retriever_is_sparse(r))
        return retrieve_sparse_rank(r, queries, depth, run, status);
    if (retrieve_is_late(r))
        return retrieve_late_rank(r, queries, depth, run, status);
    gb_vectors passages = gb_retriever_passages(r);
    gb_vectors vectors = {.rows = queries->count, .width = passages.width};
    gb_search_params params = {.k = depth < passages.rows ? depth : passages.rows,
                               .ranks = r->how.ranks};
    size_t cells = (size_t)queries->count * params.k;
    float *values = gb_alloc((size_t)vectors.rows * vectors.width, sizeof *values, status);
    const gb_found found = {gb_alloc(cells, sizeof *found.rows, status),
                            gb_alloc(cells, sizeof *found.scores, status)};
    vectors.values = values;
    bool ok = values && found.rows && found.scores &&
              gb_retriever_encode(r, GB_TEXT_QUERY, queries, values, status) &&
              gb_search(r->how.device, &vectors, &passages, &params, &found, status) &&
              retrieve_add_lists(queries, params.k, &found, run, status);
    free(values);
    free(found.rows);
    free(found.scores);
    return ok;
}
