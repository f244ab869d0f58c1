/* Cross-encoders: the whole gradient, and pairs whose segments are told apart. */
#include "gradients.h"

#include <gabbro/finetune.h>

/* A training set by hand: query i belongs to passage i, the others are negatives. */
enum { QUERIES = 4, PASSAGES = 8 };
typedef struct hand_made {
    gb_training_query queries[QUERIES];
    uint32_t passages[QUERIES * PASSAGES];
    gb_training_set set; /* of these */
} hand_made;

static void make_by_hand(hand_made *made, const tiny *t)
{
    for (uint32_t q = 0; q < QUERIES; q++) {
        made->queries[q] = (gb_training_query){q, q * PASSAGES, 1, q * PASSAGES + 1, PASSAGES - 1};
        for (uint32_t p = 0; p < PASSAGES; p++)
            made->passages[q * PASSAGES + p] = (q + p) % t->collection->passages;
    }
    made->set =
        (gb_training_set){.queries = made->queries, .count = QUERIES, .passages = made->passages};
}

static void check_cross(gb_cross_loss loss, const char *name)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    tiny t = tiny_make();
    gb_device *device = tiny_device(GB_USER_TRAIN);
    hand_made made;
    make_by_hand(&made, &t);
    gb_cross_params settings = {.batch = 3,
                                .negatives = 2,
                                .loss = loss,
                                .max_query_length = 12,
                                .max_passage_length = TINY_LONGEST,
                                .max_length = TINY_LONGEST,
                                .seed = 5};
    gb_pair_head head;
    model m = {.config = tiny_config(&t, 16, 32, .1), .max_length = TINY_LONGEST};
    m.config.layers = 3;
    m.config.initializer_range = .2; /* so that scores differ */
    MUST(m.params = gb_params_create(&status));
    MUST(gb_bert_declare(m.params, &m.config, false, &m.bert, &status));
    MUST(gb_pair_head_declare(m.params, &m.config, &head, &status));
    gb_params_freeze(m.params);
    MUST(m.values = gb_alloc(gb_params_floats(m.params), sizeof *m.values, &status));
    gb_params_init(m.params, 7, m.values);
    MUST(m.self = gb_cross_create(&settings, &made.set, &t.tokens, t.vocab, &m.bert, &head, &m.task,
                                  &status));
    check_reference(device, &m, name);
    check_parts(device, &m, name);
    check_shards(device, &m, name);
    gb_cross_destroy(m.self);
    model_free(&m);
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
}

Test(cross, softmax)
{
    check_cross(GB_CROSS_SOFTMAX, "cross-encoder, softmax");
}

Test(cross, binary)
{
    check_cross(GB_CROSS_BINARY, "cross-encoder, binary");
}

/* ---- segments ---- */

/* Embeddings of a batch, with its segments or without. */
typedef struct embedding {
    const model *m;        /* of which */
    const gb_batch *batch; /* of what */
    bool pairs;            /* with segments */
    gb_tensor states;      /* [64, H] */
} embedding;

static bool build_embedding(void *self, gb_tape *tape, gb_status *status)
{
    (void)status;
    embedding *e = self;
    gb_builder builder = gb_builder_forward(tape, &e->m->config, TINY_LONGEST);
    gb_batch_inputs in = gb_batch_declare(&builder, &e->m->config, 64, 4, e->batch, 0);
    if (e->pairs)
        gb_batch_pairs_declare(&builder, &e->m->config, &in, e->batch);
    e->states = gb_bert_embed(&builder, &e->m->bert, &in);
    gb_tape_output(tape, e->states);
    return true;
}

/* States of all 64 rows, of which `apart` gets those that differ between the two ways. */
static void embed_both_ways(gb_device *device, const model *m, const gb_batch *batch,
                            bool apart[64])
{
    gb_status status = {0};
    float states[2][64 * 16];
    for (int pairs = 0; pairs < 2; pairs++) {
        embedding e = {m, batch, pairs, GB_NO_TENSOR};
        const gb_executable_params program = {.name = "embed",
                                              .device = device,
                                              .params = m->params,
                                              .values = m->values,
                                              .build = build_embedding,
                                              .self = &e};
        gb_executable *exec = gb_executable_build(&program, &status);
        uint64_t ticket;
        MUST(exec);
        MUST(gb_executable_submit(exec, 0, &ticket, &status));
        const float *out = gb_executable_output(exec, ticket, e.states, &status);
        MUST(out);
        memcpy(states[pairs], out, sizeof states[pairs]);
        gb_executable_destroy(exec);
    }
    for (int r = 0; r < 64; r++)
        apart[r] = memcmp(&states[0][r * 16], &states[1][r * 16], 16 * sizeof(float)) != 0;
}

/* Texts that are no pairs have the bits that they have without segments; of a pair the second text
 * and its [SEP] are of the second token type. */
Test(cross, segments)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    tiny t = tiny_make();
    gb_device *device = tiny_device(GB_USER_ENCODE);
    gb_bert_config config = tiny_config(&t, 16, 32, 0);
    gb_special_ids specials = gb_vocab_specials(t.vocab);
    model m;
    model_make(&m, &t, &config, NULL, NULL);
    const uint32_t ids[] = {7, 8, 9, 10, 11, 12, 13, 14};
    gb_batch batch = {0};
    MUST(gb_batch_add(&batch, &specials, ids, NULL, 8, TINY_LONGEST, &status));
    MUST(gb_batch_add_pair(&batch, &specials, (gb_token_text){ids, 3}, (gb_token_text){ids + 3, 5},
                           TINY_LONGEST, &status));
    bool apart[64];
    embed_both_ways(device, &m, &batch, apart);
    uint32_t second = batch.starts[1] + 5;
    for (uint32_t r = 0; r < 64; r++)
        cr_expect_eq(apart[r], r >= second && r < batch.rows, "row %u", r);
    gb_batch_free(&batch);
    model_free(&m);
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
}
