/* The wiring of models and objectives, against plain C that shares nothing with the tape. */
#include "seen.h"

#include <math.h>

/* ---- the encoder ---- */

/* A batch of random texts: no words, seven words, and one that is cut. */
static gb_batch random_batch(const tiny *t, const model *m)
{
    static const uint32_t words[] = {0, 7, TINY_LONGEST + 9, 15};
    gb_status status = {0};
    gb_special_ids specials = gb_vocab_specials(t->vocab);
    gb_batch batch = {0};
    gb_rng rng = gb_rng_make(8, GB_RNG_TEST, 0, 0);
    for (int s = 0; s < 4; s++) {
        uint32_t ids[64];
        for (uint32_t i = 0; i < words[s]; i++)
            ids[i] = gb_rng_below(&rng, m->config.vocab_size);
        MUST(gb_batch_add(&batch, &specials, ids, NULL, words[s], TINY_LONGEST, &status));
    }
    return batch;
}

/* Last states of the batch on the device, [rows][hidden]. */
static void expect_states(const model *m, const gb_batch *batch, const float *states)
{
    uint32_t h = m->config.hidden_size;
    double worst = 0;
    for (uint32_t s = 0; s < batch->count; s++) {
        uint32_t first = batch->starts[s], length = batch->starts[s + 1] - first;
        naive n = naive_encode(m, batch->ids + first, length, 0, NULL);
        for (size_t i = 0; i < (size_t)length * h; i++)
            worst = fmax(worst, fabs(states[(size_t)first * h + i] - n.x[i]));
        free(n.x);
    }
    cr_expect_leq(worst, 1e-5, "states differ by %g", worst);
}

Test(wiring, encoder)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    tiny t = tiny_make();
    gb_bert_config config = tiny_config(&t, 24, 40, 0);
    config.layer_norm_eps = 1e-3; /* large enough to be seen */
    model m;
    model_make(&m, &t, &config, NULL, NULL);
    gb_batch batch = random_batch(&t, &m);
    gb_device *device = tiny_device(GB_USER_TRAIN);
    gb_state *state = gb_state_create(device, m.params, false, &status);
    MUST(state);
    MUST(gb_state_write(state, GB_ARENA_PARAMS, m.values, &status));
    gb_tape *tape = gb_tape_create(m.params, "encoder", &status);
    MUST(tape);
    gb_builder builder = {
        .tape = tape, .eps = (float)config.layer_norm_eps, .max_length = TINY_LONGEST};
    gb_batch_inputs in =
        gb_batch_declare(&builder, &config, gb_bucket_rows(batch.rows), 4, &batch, 0);
    gb_tensor states = gb_bert_encode(&builder, &m.bert, &in, 0, NULL);
    gb_tape_output(tape, states);
    gb_executable *exec = gb_executable_create(state, tape, &status);
    MUST(exec);
    uint64_t ticket;
    MUST(gb_executable_submit(exec, 0, &ticket, &status));
    const float *values = gb_executable_output(exec, ticket, states, &status);
    MUST(values);
    expect_states(&m, &batch, values);
    gb_executable_destroy(exec);
    gb_tape_destroy(tape);
    gb_state_destroy(state);
    tiny_device_close(device);
    gb_batch_free(&batch);
    model_free(&m);
    tiny_free(&t);
    scratch_leave(&s);
}

/* ---- objectives, from the inputs that they wrote themselves ---- */

/* -log exp(h_i . h_sibling) / sum_{j != i} exp(h_i . h_j), mean over i. */
static double pretrain_pair_loss(const naive *states, uint32_t count)
{
    double loss = 0;
    for (uint32_t i = 0; i < count; i++) {
        double sum = 0, sibling = 0;
        for (uint32_t j = 0; j < count; j++) {
            double dot = 0;
            for (uint32_t d = 0; d < states[i].hidden; d++)
                dot += states[i].x[d] * states[j].x[d];
            sum += j == i ? 0 : exp(dot);
            sibling = j == (i ^ 1) ? dot : sibling;
        }
        loss += (log(sum) - sibling) / count;
    }
    return loss;
}

/* Only passages are anchors, only contexts are compared. */
static double one_sided_loss(const naive *states, uint32_t count)
{
    double loss = 0;
    for (uint32_t i = 0; i < count; i += 2) {
        double sum = 0, own = 0;
        for (uint32_t j = 1; j < count; j += 2) {
            double dot = 0;
            for (uint32_t d = 0; d < states[i].hidden; d++)
                dot += states[i].x[d] * states[j].x[d];
            sum += exp(dot);
            own = j == i + 1 ? dot : own;
        }
        loss += (log(sum) - own) / (count / 2);
    }
    return loss;
}

static void cocondenser_case(const tiny *t, gb_device *device, uint32_t skip_from,
                             uint32_t contrast)
{
    gb_bert_config config = tiny_config(t, 16, 32, 0);
    tiny_params settings = tiny_settings();
    settings.common.context = GB_CONTEXT_SPAN;
    settings.skip_from = skip_from;
    settings.contrast = contrast;
    settings.lm_weight = contrast == TINY_SYMMETRIC ? 1 : 2;
    model m;
    model_make(&m, t, &config, "cocondenser", &settings);
    pass p = compare_pass_make(&m, device, 0, 0);
    seen_batch b = batch_of(&p, 0, 2 * settings.common.batch);
    naive states[MOST] = {{0}}, head[MOST] = {{0}};
    encode_batch(&m, &b, states, skip_from, head);
    for (uint32_t s = 0; s < b.count; s++) { /* late [CLS], middle tokens */
        memcpy(head[s].x, states[s].x, config.hidden_size * sizeof(double));
        naive_layer(&m, "condenser.layer.0", &head[s]);
        naive_layer(&m, "condenser.layer.1", &head[s]);
    }
    double mlm = mean_token_loss(&m, &p, &b, states, 1) + mean_token_loss(&m, &p, &b, head, 2);
    double pairs = contrast == TINY_SYMMETRIC ? pretrain_pair_loss(states, b.count)
                                              : one_sided_loss(states, b.count);
    expect_loss(p.loss[1], mlm, "masked LM of encoder and head");
    expect_loss(p.loss[2], pairs, "contrastive loss");
    expect_loss(p.loss[0], settings.lm_weight * mlm + pairs, "total");
    free_batch(states, b.count);
    free_batch(head, b.count);
    compare_pass_free(&p);
    model_free(&m);
}

static void condenser_case(const tiny *t, gb_device *device)
{
    gb_bert_config config = tiny_config(t, 16, 32, 0);
    tiny_params settings = tiny_settings();
    model m;
    model_make(&m, t, &config, "condenser", &settings);
    pass p = compare_pass_make(&m, device, 0, 0);
    seen_batch b = batch_of(&p, 0, settings.common.batch);
    naive states[MOST] = {{0}}, head[MOST] = {{0}};
    encode_batch(&m, &b, states, settings.skip_from, head);
    for (uint32_t s = 0; s < b.count; s++) {
        memcpy(head[s].x, states[s].x, config.hidden_size * sizeof(double));
        naive_layer(&m, "condenser.layer.0", &head[s]);
        naive_layer(&m, "condenser.layer.1", &head[s]);
    }
    expect_loss(p.loss[0],
                mean_token_loss(&m, &p, &b, states, 1) + mean_token_loss(&m, &p, &b, head, 2),
                "masked LM of encoder and head");
    free_batch(states, b.count);
    free_batch(head, b.count);
    compare_pass_free(&p);
    model_free(&m);
}

/* Layers [decoder] on the contexts, slot 0 the [CLS] vector of the passage. */
static void decode(const model *m, const pass *p, const tiny_params *settings,
                   const naive *passages, naive *decoded)
{
    seen_batch b = batch_of(p, 1, settings->common.batch);
    for (uint32_t s = 0; s < b.count; s++) {
        uint32_t length;
        const uint32_t *ids = ids_of(&b, s, &length);
        decoded[s] = naive_embed(m, ids, length);
        memcpy(decoded[s].x, passages[s].x, decoded[s].hidden * sizeof(double));
        for (uint32_t l = 0; l < settings->decoder_layers; l++) {
            char prefix[64];
            snprintf(prefix, sizeof prefix, "decoder.layer.%u", l);
            if (settings->decoder == TINY_CAUSAL)
                naive_causal_layer(m, prefix, &decoded[s], settings->window);
            else
                naive_layer(m, prefix, &decoded[s]);
        }
        if (settings->decoder == TINY_CAUSAL)
            naive_norm(m, "decoder.LayerNorm", &decoded[s]);
    }
}

/* Queries cls + position; keys and values [cls, embeddings]; bits as the objective drew them. */
static void decode_enhanced(const model *m, const pass *p, const tiny_params *settings,
                            const naive *passages, naive *decoded)
{
    seen_batch b = batch_of(p, 1, settings->common.batch);
    gb_tensor input = pass_input(p, "visible columns", 0);
    const uint32_t *bits = gb_reference_u(p->reference, input);
    uint32_t words = gb_tape_tensor(p->tape, input)->cols, h = m->config.hidden_size, ld;
    const float *position = model_values(m, &ld, "bert.embeddings.position_embeddings.weight");
    for (uint32_t s = 0; s < b.count; s++) {
        uint32_t length;
        const uint32_t *ids = ids_of(&b, s, &length);
        naive states = naive_embed(m, ids, length);
        memcpy(states.x, passages[s].x, h * sizeof(double));
        decoded[s] = naive_embed(m, ids, length);
        for (size_t i = 0; i < (size_t)length * h; i++)
            decoded[s].x[i] = passages[s].x[i % h] + (double)position[i / h * ld + i % h];
        naive_query_layer(m, "decoder.layer.0", &decoded[s], &states,
                          bits + (size_t)b.starts[s] * words, words);
        free(states.x);
    }
}

static void decode_seed(const model *m, const pass *p, const tiny_params *settings,
                        const naive *passages, naive *decoded)
{
    seen_batch b = batch_of(p, 1, settings->common.batch);
    for (uint32_t s = 0; s < b.count; s++) {
        uint32_t length;
        const uint32_t *ids = ids_of(&b, s, &length);
        decoded[s] = naive_embed(m, ids, length);
        for (uint32_t l = 0; l < settings->decoder_layers; l++) {
            char prefix[64];
            snprintf(prefix, sizeof prefix, "decoder.layer.%u", l);
            naive_memory_layer(m, prefix, &decoded[s], passages[s].x, settings->window);
        }
    }
}

static void decoding_case(const tiny *t, gb_device *device, const char *objective, uint32_t decoder,
                          uint32_t layers, uint32_t window)
{
    gb_bert_config config = tiny_config(t, 16, 32, 0);
    tiny_params settings = tiny_settings();
    settings.common.context = GB_CONTEXT_SPAN;
    settings.decoder = decoder;
    settings.decoder_layers = layers;
    settings.window = window;
    model m;
    model_make(&m, t, &config, objective, &settings);
    pass p = compare_pass_make(&m, device, 0, 0);
    seen_batch passages = batch_of(&p, 0, settings.common.batch),
               contexts = batch_of(&p, 1, settings.common.batch);
    naive states[MOST], decoded[MOST];
    encode_batch(&m, &passages, states, 0, NULL);
    if (!strcmp(objective, "enhanced"))
        decode_enhanced(&m, &p, &settings, states, decoded);
    else if (!strcmp(objective, "seed"))
        decode_seed(&m, &p, &settings, states, decoded);
    else
        decode(&m, &p, &settings, states, decoded);
    expect_loss(p.loss[0],
                mean_token_loss(&m, &p, &passages, states, 2) +
                    mean_token_loss(&m, &p, &contexts, decoded, 3),
                "total");
    free_batch(states, passages.count);
    free_batch(decoded, contexts.count);
    compare_pass_free(&p);
    model_free(&m);
}

Test(wiring, objectives)
{
    scratch s = scratch_enter();
    tiny t = tiny_make();
    gb_device *device = tiny_device(GB_USER_TRAIN);
    cocondenser_case(&t, device, 0, TINY_SYMMETRIC);
    cocondenser_case(&t, device, 1, TINY_SYMMETRIC);
    cocondenser_case(&t, device, 1, TINY_ONE_SIDED);
    condenser_case(&t, device);
    decoding_case(&t, device, "cotmae", TINY_CAUSAL, 1, 3);
    decoding_case(&t, device, "cotmae", TINY_CAUSAL, 2, 0);
    decoding_case(&t, device, "cotmae", TINY_MASKED, 2, 3);
    decoding_case(&t, device, "autoencoding", TINY_MASKED, 1, 0);
    decoding_case(&t, device, "autoregression", TINY_CAUSAL, 1, 0);
    decoding_case(&t, device, "bottleneck", TINY_CAUSAL, 1, 4);
    decoding_case(&t, device, "enhanced", TINY_CAUSAL, 1, 0);
    decoding_case(&t, device, "seed", TINY_CAUSAL, 3, 2);
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
}
