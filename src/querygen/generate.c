/* A language model writes queries for the passages of a collection: what is missing is generated,
 * kept in a journal, and written down in the end. */
#include "private.h"

#include <gabbro/artifact.h>

#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

static bool check(const gb_querygen_params *o, gb_status *status)
{
    if (!o->queries || !o->batch || !o->max_tokens || o->prompt_tokens < 2)
        return gb_fail(status, GB_USAGE, NULL, NULL,
                       "queries, texts at a time and tokens must be at least 1, of a prompt 2");
    if (!o->shard_count || o->shard_index >= o->shard_count)
        return gb_fail(status, GB_USAGE, NULL, "shards are counted from 0",
                       "there is no shard %u of %u", o->shard_index, o->shard_count);
    return true;
}

/* Values of the prompt in the place of open ones. */
static bool resolve(gb_querygen *g, gb_status *status)
{
    gb_querygen_params *o = g->params;
    const gb_prompt_template *prompt = &g->prompt;
    uint32_t *const whole[] = {&o->queries, &o->top_k, &o->max_tokens, &o->prompt_tokens};
    const uint32_t theirs[] = {prompt->queries, prompt->top_k, prompt->max_tokens,
                               prompt->prompt_tokens};
    for (int i = 0; i < 4; i++)
        if (*whole[i] == GB_OPEN)
            *whole[i] = theirs[i];
    o->temperature = o->temperature < 0 ? prompt->temperature : o->temperature;
    o->top_p = o->top_p < 0 ? prompt->top_p : o->top_p;
    if (!o->name) {
        size_t length;
        const char *name = gb_path_name(o->model, &length);
        o->name = g->name = gb_format(status, "%.*s", (int)length, name);
    }
    return o->name && check(o, status);
}

gb_querygen *gb_querygen_create(gb_querygen_params *params, gb_status *status)
{
    gb_querygen *g = gb_alloc(1, sizeof *g, status);
    if (!g)
        return NULL;
    g->params = params;
    if (gb_prompt_template_read(params->prompt, &g->prompt, status) && resolve(g, status))
        return g;
    gb_querygen_destroy(g);
    return NULL;
}

void gb_querygen_destroy(gb_querygen *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->open_count; i++)
        json_decref(g->open[i].texts);
    gb_journal_close(g->journal);
    gb_collection_close(g->collection);
    gb_coder_close(g->coder);
    gb_prompt_template_free(&g->prompt);
    gb_text_free(&g->text);
    free(g->ids.data);
    free(g->open);
    free(g->folder);
    free(g->name);
    free(g);
}

const char *gb_querygen_prompt_name(const gb_querygen *g)
{
    return g->prompt.name;
}

bool querygen_open_inputs(gb_querygen *g, gb_status *status)
{
    const gb_querygen_params *o = g->params;
    uint32_t list = g->prompt.list;
    g->calls = list ? (o->queries + list - 1) / list : o->queries;
    g->folder = gb_find_model_folder(o->model, status);
    g->coder = g->folder ? gb_coder_open(g->folder, status) : NULL;
    g->collection = g->coder ? gb_open_collection(o->collection, status) : NULL;
    if (!g->collection)
        return false;
    uint64_t passages = g->collection->passages;
    g->first = g->next = (uint32_t)(passages * o->shard_index / o->shard_count);
    g->end = (uint32_t)(passages * (o->shard_index + 1) / o->shard_count);
    return true;
}

/* ---- prompts and texts ---- */

static bool next_prompt(void *self, gb_prompt *prompt, gb_status *status)
{
    gb_querygen *g = self;
    while (g->next < g->end && gb_journal_has(g->journal, g->next - g->first))
        g->next++;
    if (g->next == g->end)
        return true;
    if (!querygen_make_prompt(g, g->next, status))
        return false;
    if (!g->ids.count)
        return gb_fail(status, GB_DATA, NULL, "give a --prompt with words of its own",
                       "the prompt of passage %u has no tokens", g->next);
    *prompt = (gb_prompt){.ids = g->ids.data,
                          .count = (uint32_t)g->ids.count,
                          .passage = g->next++,
                          .times = g->calls};
    return true;
}

/* ---- texts ---- */

static querygen_begun *find_begun(gb_querygen *g, uint32_t passage, gb_status *status)
{
    for (size_t i = 0; i < g->open_count; i++)
        if (g->open[i].passage == passage)
            return &g->open[i];
    if (!gb_grow(&g->open, &g->open_space, g->open_count + 1, sizeof *g->open, status))
        return NULL;
    json_t *texts = json_array();
    for (uint32_t i = 0; i < g->calls; i++)
        json_array_append_new(texts, json_null());
    g->open[g->open_count] = (querygen_begun){.passage = passage, .texts = texts};
    return &g->open[g->open_count++];
}

/* All texts of a passage are there. */
static bool finish_passage(gb_querygen *g, querygen_begun *b, gb_status *status)
{
    char *line = json_dumps(b->texts, JSON_COMPACT), note[64];
    bool ok = gb_memory_check("generated queries", status) &&
              (line || gb_fail_memory(status, "generated queries")) &&
              gb_journal_add(g->journal, b->passage - g->first, line, status);
    free(line);
    json_decref(b->texts);
    *b = g->open[--g->open_count];
    snprintf(note, sizeof note, "%.1f tokens/s",
             (double)gb_generator_done(g->generator).tokens / (gb_now_s() - g->start_s));
    gb_progress_update(&g->progress, gb_journal_count(g->journal), note);
    return ok;
}

static bool take_text(void *self, uint32_t passage, uint32_t query, const uint32_t *ids,
                      uint32_t count, gb_status *status)
{
    gb_querygen *g = self;
    gb_text text = {0};
    querygen_begun *b = find_begun(g, passage, status);
    bool ok = b && gb_coder_decode(g->coder, ids, count, &text, status);
    if (ok) {
        bool sound = text.length && gb_utf8_valid(text.data, text.length) &&
                     !memchr(text.data, '\0', text.length); /* as everywhere that lines are read */
        json_array_set_new(b->texts, query,
                           json_stringn(sound ? text.data : "", //
                                        sound ? text.length : 0));
        ok = !text.failed || gb_fail_memory(status, "generated queries");
    }
    gb_text_free(&text);
    return ok && (++b->got < g->calls || finish_passage(g, b, status));
}

/* ---- the whole ---- */

/* Hash of the weights' file, or of all of a folder whose weights lie in several. */
static bool hash_weights(gb_querygen *g, gb_status *status)
{
    char *path = gb_folder_tensor_file(g->folder, status);
    bool ok = path && (gb_ends_with(path, strlen(path), ".json")
                           ? gb_hash_tree(g->folder, g->weights, status)
                           : gb_hash_file(path, g->weights, status));
    free(path);
    return ok;
}

static bool open_journal(gb_querygen *g, const gb_maker *maker, gb_status *status)
{
    char *path = gb_maker_resume_file(maker, "made", status);
    bool ok = path && (g->journal = gb_journal_open(path, g->end - g->first, status));
    free(path);
    return ok;
}

static bool make_texts(gb_querygen *g, gb_maker *maker, gb_status *status)
{
    const gb_querygen_params *o = g->params;
    if (!open_journal(g, maker, status))
        return false;
    uint32_t done = gb_journal_count(g->journal), wanted = g->end - g->first;
    if (done == wanted)
        return true;
    if (!gb_maker_device(maker, status) ||
        !(g->generator =
              gb_generator_create_quant(maker->device, g->folder, o->batch, o->prompt_tokens,
                                        o->max_tokens, o->quant, status)))
        return false;
    gb_sampling_params how = {.sample = o->temperature > 0,
                              .temperature = (float)o->temperature,
                              .top_k = o->top_k,
                              .top_p = (float)o->top_p,
                              .seed = o->seed};
    gb_generation work = {g, next_prompt, take_text, false};
    g->start_s = gb_now_s();
    gb_progress_begin(&g->progress, "generate", "passages", wanted, done);
    if (!gb_generate_all(g->generator, &work, &how, status))
        return false;
    gb_progress_end(&g->progress, wanted, NULL);
    return true;
}

/* For run.json; what depends on interruptions stands in its times. */
static void note(const gb_querygen *g, json_t *facts)
{
    json_object_set_new(facts, "generator", json_string(g->params->name));
    json_object_set_new(facts, "weights", json_string(g->weights));
    json_object_set_new(facts, "passages", json_integer(g->end - g->first));
    json_object_set_new(facts, "queries", json_integer((json_int_t)g->queries));
    if (g->generator) {
        gb_generator_counts done = gb_generator_done(g->generator);
        double seconds = gb_now_s() - g->start_s;
        json_object_set_new(facts, "times",
                            json_pack("{s:f, s:I, s:I, s:I, s:f}", "work_s", seconds, "tokens",
                                      (json_int_t)done.tokens, "prompt_tokens",
                                      (json_int_t)done.prompt_tokens, "steps",
                                      (json_int_t)done.steps, "tokens_per_s",
                                      (double)done.tokens / seconds));
    }
}

bool gb_querygen_run(gb_querygen *g, gb_maker *maker, gb_status *status)
{
    char *path = gb_maker_file(maker, "queries.jsonl", status);
    bool ok = path && querygen_open_inputs(g, status) && hash_weights(g, status) &&
              make_texts(g, maker, status) && querygen_write(g, path, status);
    if (ok && g->params->shard_count == 1) {
        gb_queries_params from = {.from = path, .writer = g->params->name};
        ok = gb_queries_make(g->collection, &from, gb_maker_folder(maker), status);
    }
    if (ok)
        note(g, maker->facts);
    gb_generator_destroy(g->generator); /* before its device is closed */
    g->generator = NULL;
    free(path);
    return ok;
}
