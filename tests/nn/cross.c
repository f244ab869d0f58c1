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
    check_shares(device, &m, name);
    gb_cross_destroy(m.self);
    model_free(&m);
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
}

Test(cross, softmax, .timeout = 120)
{
    check_cross(GB_CROSS_SOFTMAX, "cross-encoder, softmax");
}

Test(cross, binary, .timeout = 120)
{
    check_cross(GB_CROSS_BINARY, "cross-encoder, binary");
}
