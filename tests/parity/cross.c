/* Cross-encoders against Hugging Face transformers and torch in float64: logits of pairs, some of
 * which are cut, both losses, and the gradient of every parameter. tests/peers/golden_cross.py made
 * the numbers and says what they are. */
#include "../nn/gradients.h"
#include "trust.h"

#include <gabbro/finetune.h>
#include <math.h>

#define PEER   "transformers, torch (float64)"
#define LENGTH 24 /* as in the script */
enum { QUERIES = 3, PER_QUERY = 3, PAIRS = QUERIES * PER_QUERY };

/* The golden model with its numbers. */
typedef struct golden {
    gb_folder *folder;         /* the model */
    gb_safetensors *numbers;   /* golden.safetensors */
    gb_vocab *vocab;           /* of the model */
    model m;                   /* its parameters */
    gb_pair_head head;         /* and head */
    gb_tokens tokens;          /* texts, as row files */
    gb_text_pair pairs[PAIRS]; /* rows of these */
    gb_device *device;         /* where */
} golden;

static const gb_stored *stored(const golden *g, const char *name)
{
    const gb_stored *found = gb_safetensors_find(g->numbers, name);
    cr_assert(found, "no golden %s", name);
    return found;
}

static int32_t integer(const gb_stored *s, uint64_t row, uint64_t col)
{
    cr_assert(!strcmp(s->dtype, "I32") && s->rank == 2 && row < s->shape[0]);
    int32_t value;
    memcpy(&value, (const char *)s->data + sizeof value * (row * s->shape[1] + col), sizeof value);
    return value;
}

static gb_row_file *texts_of(const golden *g, const char *name, const char *path)
{
    gb_status status = {0};
    const gb_stored *ids = stored(g, name);
    gb_row_writer *writer = gb_row_writer_open(path, 4, &status);
    MUST(writer);
    for (uint64_t t = 0; t < ids->shape[0]; t++) {
        uint32_t own[64], length = 0;
        while (length < ids->shape[1] && integer(ids, t, length) >= 0) {
            own[length] = (uint32_t)integer(ids, t, length);
            length++;
        }
        MUST(gb_row_writer_add(writer, own, length, &status));
    }
    MUST(gb_row_writer_commit(writer, &status));
    gb_row_file *file = gb_row_file_open(path, 4, &status);
    MUST(file);
    return file;
}

static void golden_open(golden *g, uint32_t users)
{
    gb_status status = {0};
    *g = (golden){.m.max_length = LENGTH};
    MUST(g->folder = gb_folder_open_kinds(GB_GOLDEN "/cross", GB_FOLDER_CROSS_ENCODER, &status));
    MUST(g->numbers = gb_safetensors_open(GB_GOLDEN "/cross/golden.safetensors", &status));
    MUST(g->vocab = gb_folder_vocab(g->folder, &status));
    model *m = &g->m;
    m->config = *gb_folder_config(g->folder);
    MUST(m->params = gb_params_create(&status));
    MUST(gb_bert_declare(m->params, &m->config, false, &m->bert, &status));
    MUST(gb_pair_head_declare(m->params, &m->config, &g->head, &status));
    gb_params_freeze(m->params);
    MUST(m->values = gb_alloc(gb_params_floats(m->params), sizeof *m->values, &status));
    MUST(gb_model_load(g->folder, m->params, m->values, &status));
    g->tokens.queries = texts_of(g, "queries", "queries.gbt");
    g->tokens.passages = texts_of(g, "passages", "passages.gbt");
    for (int i = 0; i < PAIRS; i++)
        g->pairs[i] = (gb_text_pair){(uint32_t)integer(stored(g, "pairs"), (uint64_t)i, 0),
                                     (uint32_t)integer(stored(g, "pairs"), (uint64_t)i, 1)};
    g->device = tiny_device(users);
}

static void golden_close(golden *g)
{
    tiny_device_close(g->device);
    gb_row_file_close(g->tokens.queries);
    gb_row_file_close(g->tokens.passages);
    model_free(&g->m);
    gb_vocab_destroy(g->vocab);
    gb_safetensors_close(g->numbers);
    gb_folder_close(g->folder);
}

/* ---- scores ---- */

static void score(const golden *g, const gb_text_pair *pairs, uint32_t count, float *scores)
{
    gb_status status = {0};
    const gb_pair_scorer_params how = {.device = g->device,
                                       .bert = &g->m.bert,
                                       .head = &g->head,
                                       .params = g->m.params,
                                       .values = g->m.values,
                                       .specials = gb_vocab_specials(g->vocab),
                                       .queries = g->tokens.queries,
                                       .passages = g->tokens.passages,
                                       .max_query_length = 64,
                                       .max_passage_length = 64,
                                       .max_length = LENGTH};
    gb_pair_scorer *scorer = gb_pair_scorer_create(&how, &status);
    MUST(scorer);
    MUST(gb_pair_scorer_run(scorer, pairs, count, scores, &status));
    gb_pair_scorer_destroy(scorer);
}

Test(parity_cross, logits)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    golden g;
    golden_open(&g, GB_USER_ENCODE);
    float wanted[PAIRS], got[PAIRS];
    MUST(gb_stored_read(stored(&g, "logits"), PAIRS, 0, wanted, &status));
    score(&g, g.pairs, PAIRS, got);
    double worst = 0, largest = 0;
    for (int i = 0; i < PAIRS; i++) {
        worst = fmax(worst, fabs((double)got[i] - wanted[i]));
        largest = fmax(largest, fabs((double)wanted[i]));
    }
    trust("cross-encoder: logits of pairs", PEER, worst / largest, 1e-5);
    golden_close(&g);
    scratch_leave(&s);
}

/* In batches, and whatever else is in them. */
Test(parity_cross, no_pair_depends_on_others)
{
    scratch s = scratch_enter();
    golden g;
    golden_open(&g, GB_USER_ENCODE);
    enum { MANY = 400 };
    gb_text_pair many[MANY];
    float alone[PAIRS], all[MANY];
    for (int i = 0; i < PAIRS; i++)
        score(&g, &g.pairs[i], 1, &alone[i]);
    for (int i = 0; i < MANY; i++)
        many[i] = g.pairs[(i * 7) % PAIRS];
    score(&g, many, MANY, all);
    for (int i = 0; i < MANY; i++)
        cr_expect_eq(memcmp(&all[i], &alone[(i * 7) % PAIRS], sizeof *all), 0, "pair %d", i);
    golden_close(&g);
    scratch_leave(&s);
}

/* ---- training ---- */

/* Largest difference of a part's gradient, relative to its largest value; parts whose gradient is
 * nothing but rounding, such as biases of keys, are left out. */
static double part_differs(const golden *g, const char *loss, const gb_param *param,
                           const gb_file_part *part, const float *gradients)
{
    gb_status status = {0};
    char name[GB_WEIGHT_NAME + 10];
    snprintf(name, sizeof name, "%s.%s", loss, part->name);
    float wanted[99 * 16];
    cr_assert((size_t)part->rows * part->cols <= sizeof wanted / sizeof *wanted);
    MUST(gb_stored_read(stored(g, name), part->vector ? part->cols : part->rows,
                        part->vector ? 0 : part->cols, wanted, &status));
    double worst = 0, largest = 0;
    for (uint32_t r = 0; r < part->rows; r++)
        for (uint32_t c = 0; c < part->cols; c++) {
            double value = wanted[(size_t)r * part->cols + c];
            uint64_t at = param->offset + part->at + (uint64_t)r * param->ld + c;
            worst = fmax(worst, fabs(gradients[at] - value));
            largest = fmax(largest, fabs(value));
        }
    return largest > 1e-9 ? worst / largest : 0;
}

static void check_loss(gb_cross_loss loss, double bound)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    golden g;
    golden_open(&g, GB_USER_TRAIN);
    gb_training_query queries[QUERIES];
    uint32_t passages[PAIRS];
    for (uint32_t q = 0; q < QUERIES; q++)
        queries[q] = (gb_training_query){q, q * PER_QUERY, 1, q * PER_QUERY + 1, PER_QUERY - 1};
    for (uint32_t p = 0; p < PAIRS; p++)
        passages[p] = g.pairs[p].passage;
    const gb_training_set set = {.queries = queries, .count = QUERIES, .passages = passages};
    const gb_cross_params how = {.batch = QUERIES,
                                 .negatives = PER_QUERY - 1,
                                 .loss = loss,
                                 .max_query_length = 64,
                                 .max_passage_length = 64,
                                 .max_length = LENGTH};
    MUST(g.m.self = gb_cross_create(&how, &set, &g.tokens, g.vocab, &g.m.bert, &g.head, &g.m.task,
                                    &status));
    gb_train_params params = plain_params(&g.m);
    gradient got = gradient_by(g.device, &g.m, &params);
    double wanted, worst = 0;
    memcpy(&wanted, (const char *)stored(&g, "loss")->data + loss * sizeof wanted, sizeof wanted);
    const char *name = gb_cross_losses[loss];
    char what[100];
    snprintf(what, sizeof what, "cross-encoder, %s: loss", name);
    trust(what, PEER, fabs(got.losses[0] / wanted - 1), 1e-6);
    for (uint32_t i = 0; i < gb_params_count(g.m.params); i++) {
        const gb_param *param = gb_params_at(g.m.params, i);
        for (uint32_t k = 0; k < gb_param_part_count(param); k++) {
            gb_file_part part;
            gb_param_part(param, k, &part);
            worst = fmax(worst, part_differs(&g, name, param, &part, got.values));
        }
    }
    snprintf(what, sizeof what, "cross-encoder, %s: gradient of every parameter", name);
    trust(what, PEER, worst, bound);
    free(got.values);
    gb_cross_destroy(g.m.self);
    golden_close(&g);
    scratch_leave(&s);
}

Test(parity_cross, softmax)
{
    check_loss(GB_CROSS_SOFTMAX, 5e-5);
}

Test(parity_cross, binary)
{
    check_loss(GB_CROSS_BINARY, 5e-5);
}
