#include "trial.h"

#include <stdlib.h>
#include <string.h>

#define VOCABULARY 211 /* no multiple of anything */
#define SPECIALS   5   /* of them, at the front */
#define SEED       42
#define DOCUMENTS  23
#define SPANS      3 /* passages of a document */
#define PASSAGES   (DOCUMENTS * SPANS)
#define SHORTEST   5  /* tokens of a passage, without [CLS] and [SEP] */
#define MAX_LENGTH 22 /* with them */

/* ---- texts ---- */

/* Words follow a law, so that there is something to learn: mostly the next one is the last plus 7.
 */
static uint32_t next_word(gb_rng *rng, uint32_t last)
{
    uint32_t words = VOCABULARY - SPECIALS, any = gb_rng_below(rng, words);
    return SPECIALS + (gb_rng_below(rng, 4) ? (last - SPECIALS + 7) % words : any);
}

static bool write_passage(gb_row_writer *writer, uint32_t passage, gb_status *status)
{
    gb_rng rng = gb_rng_make(SEED, GB_RNG_TEST, passage, 0);
    uint32_t ids[MAX_LENGTH - 2];
    uint32_t length = SHORTEST + gb_rng_below(&rng, MAX_LENGTH - 1 - SHORTEST);
    uint32_t word = SPECIALS + gb_rng_below(&rng, VOCABULARY - SPECIALS);
    for (uint32_t i = 0; i < length; i++)
        ids[i] = word = next_word(&rng, word);
    return gb_row_writer_add(writer, ids, length, status);
}

static bool write_passages(const char *folder, gb_status *status)
{
    gb_row_writer *writer =
        gb_row_writer_open_in(folder, "passages.ids.gbt", sizeof(uint32_t), status);
    bool ok = writer != NULL;
    for (uint32_t p = 0; ok && p < PASSAGES; p++)
        ok = write_passage(writer, p, status);
    return gb_row_writer_end(writer, ok, status);
}

static gb_vocab *make_vocabulary(const char *folder, gb_status *status)
{
    gb_text lines = {0};
    gb_vocab *vocab = NULL;
    gb_text_printf(&lines, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    for (uint32_t i = SPECIALS; i < VOCABULARY; i++)
        gb_text_printf(&lines, "w%u\n", i);
    char *path = gb_path_join(status, folder, "vocab.txt");
    if (path && gb_text_write(&lines, path, status))
        vocab = gb_vocab_load(path, status);
    free(path);
    gb_text_free(&lines);
    return vocab;
}

/* Tables are read from files, which nobody needs once they are open. */
static bool make_texts(trial *t, const gb_config *config, gb_status *status)
{
    char *folder = gb_temporary_folder(config, "trial", status);
    bool ok = folder && write_passages(folder, status) &&
              (t->tokens.passages =
                   gb_row_file_open_in(folder, "passages.ids.gbt", sizeof(uint32_t), status)) &&
              (t->vocab = make_vocabulary(folder, status)) &&
              (t->document = gb_alloc(PASSAGES, sizeof *t->document, status));
    gb_temporary_remove(folder);
    for (uint32_t p = 0; ok && p < PASSAGES; p++)
        t->document[p] = p / SPANS;
    t->collection =
        (gb_collection){.document = t->document, .passages = PASSAGES, .documents = DOCUMENTS};
    return ok;
}

/* ---- the training ---- */

static void settle(trial *t, uint32_t steps)
{
    gb_bert_config *c = &t->config;
    *c = GB_BERT_BASE;
    c->vocab_size = VOCABULARY;
    c->hidden_size = 36;
    c->layers = 2;
    c->heads = 3;
    c->intermediate_size = 76;
    c->max_positions = MAX_LENGTH;
    c->initializer_range = .1;
    c->hidden_dropout = c->attention_dropout = .1;
    t->train = (gb_train_params){.params = t->params,
                                 .config = c,
                                 .schedule = {GB_SCHEDULE_LINEAR, 2e-3f, 0, steps / 10, steps},
                                 .adamw = {.9f, .999f, 1e-8f, .01f},
                                 .max_norm = 1,
                                 .max_length = MAX_LENGTH,
                                 .label = "trial"};
}

static bool make_model(trial *t, gb_status *status)
{
    const gb_objective *objective = gb_objective_find("cocondenser");
    gb_own_settings own = gb_objective_defaults(objective);
    gb_pretrain_params params = {.context = GB_CONTEXT_SPAN,
                                 .batch = TRIAL_PAIRS,
                                 .max_length = MAX_LENGTH,
                                 .seed = SEED,
                                 .steps = t->train.schedule.steps,
                                 .own = &own};
    gb_pretrain_data data = {.collection = &t->collection, .tokens = &t->tokens, .vocab = t->vocab};
    if (!gb_objective_set(objective, &own, "mask-ratio", ".2", status) ||
        !gb_objective_set(objective, &own, "head-layers", "1", status) ||
        !gb_objective_set(objective, &own, "skip-from", "1", status) ||
        !gb_bert_declare(t->params, &t->config, true, &t->bert, status) ||
        !(t->objective = objective->create(&params, &data, &t->bert, t->params, &t->task, status)))
        return false;
    gb_params_freeze(t->params);
    t->values = gb_alloc(gb_params_floats(t->params), sizeof *t->values, status);
    if (t->values)
        gb_params_init(t->params, SEED, t->values);
    return t->values != NULL;
}

bool compare_trial_make(trial *t, const gb_config *config, uint32_t steps, gb_status *status)
{
    *t = (trial){.params = gb_params_create(status)};
    settle(t, steps);
    return t->params && make_texts(t, config, status) && make_model(t, status);
}

void compare_trial_free(trial *t)
{
    if (t->objective)
        gb_objective_find("cocondenser")->destroy(t->objective);
    gb_bert_free(&t->bert);
    gb_params_destroy(t->params);
    gb_vocab_destroy(t->vocab);
    gb_row_file_close(t->tokens.passages);
    free(t->document);
    free(t->values);
    *t = (trial){0};
}
