/* gabbro generate: the step in which a language model writes queries for the passages of a
 * collection. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>

#include <gabbro/language.h>

#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro generate --model DIR --collection STEP [options]\n\n"
    "Queries for the passages of a collection, written by a language model (T5 or LLaMA). Prints\n"
    "the step's folder: queries.jsonl, a line a query with all that made it, and what gabbro\n"
    "tokenize --generated reads. Prompts: doc2query, text2query, tk-instruct, alpaca, or a file\n"
    "(prompts/README.md). A prompt brings its settings; options change them.\n\n"
    "With --shard-count N the shards' files, one behind the other, are the file of the whole;\n"
    "gabbro queries --from takes it.\n";

#define UNSET       UINT32_MAX /* the prompt's own value */
#define COST_SAMPLE 1000       /* prompts that the cost is told from */

typedef struct settings {
    const char *model, *collection, *name;    /* folders; who writes */
    const char *prompt, *out;                 /* files */
    uint32_t queries, top_k;                  /* of a passage; of sampling */
    uint32_t most_tokens, prompt_tokens;      /* of an answer; of a prompt */
    uint32_t batch, shard_index, shard_count; /* texts at a time; part of the passages */
    double temperature, top_p;                /* of sampling */
    uint64_t seed;                            /* of sampling */
    bool dry_run;                             /* say what it takes */
    const char *weights;                      /* how matrices are kept, by name */
    gb_packing packing;                       /* the same */
} settings;

/* A passage of which some texts are made. */
typedef struct begun {
    uint32_t passage; /* row */
    uint32_t got;     /* texts so far */
    json_t *texts;    /* array of them, by number */
} begun;

typedef struct making {
    const settings *o;         /* options, resolved */
    gb_template prompt;        /* filled for every passage */
    char *folder;              /* the model's */
    char *name;                /* of the model's folder, where no other was given */
    gb_coder *coder;           /* its tokenizer */
    gb_collection *collection; /* passages */
    gb_journal *journal;       /* passages of this shard that are done */
    gb_generator *generator;   /* on the device */
    uint32_t first, end, next; /* passages of this shard, and the next one to begin */
    uint32_t calls;            /* texts of a passage */
    begun *open;               /* passages between */
    size_t open_count;         /* their number */
    size_t open_space;         /* capacity */
    gb_text text;              /* scratch: a prompt or an answer */
    gb_ids ids;                /* scratch: its tokens */
    uint64_t queries;          /* written */
    double start_s;            /* when making began */
    gb_progress progress;      /* of the passages */
} making;

/* ---- prompts ---- */

static bool encode(making *m, uint32_t passage, size_t most_bytes, gb_status *status)
{
    m->text.length = 0;
    m->ids.count = 0;
    return gb_template_fill(&m->prompt, m->collection, passage, most_bytes, &m->text, status) &&
           gb_coder_encode(m->coder, m->text.data, m->text.length, &m->ids, status);
}

/* The tokens of a passage's prompt in m->ids. A long one loses the end of its passage. */
static bool make_prompt(making *m, uint32_t passage, gb_status *status)
{
    uint32_t most = m->o->prompt_tokens, end = gb_coder_special_ids(m->coder).end;
    if (!encode(m, passage, SIZE_MAX, status))
        return false;
    if (m->ids.count > most && gb_template_ends_with_passage(&m->prompt)) {
        bool ends = m->ids.data[m->ids.count - 1] == end;
        m->ids.count = most;
        if (ends)
            m->ids.data[most - 1] = end;
    }
    for (size_t bytes = m->text.length; m->ids.count > most;) {
        size_t fewer = bytes * most / m->ids.count;
        bytes = fewer < bytes ? fewer : bytes - 1;
        if (!bytes)
            return gb_fail(status, GB_USAGE, m->prompt.name, "give more --prompt-tokens",
                           "the prompt alone has more than %u tokens", most);
        if (!encode(m, passage, bytes, status))
            return false;
    }
    return true;
}

static bool next_prompt(void *self, gb_prompt *prompt, gb_status *status)
{
    making *m = self;
    while (m->next < m->end && gb_journal_has(m->journal, m->next - m->first))
        m->next++;
    if (m->next == m->end)
        return true;
    if (!make_prompt(m, m->next, status))
        return false;
    *prompt = (gb_prompt){.ids = m->ids.data,
                          .count = (uint32_t)m->ids.count,
                          .passage = m->next++,
                          .times = m->calls};
    return true;
}

/* ---- texts ---- */

static begun *find_begun(making *m, uint32_t passage, gb_status *status)
{
    for (size_t i = 0; i < m->open_count; i++)
        if (m->open[i].passage == passage)
            return &m->open[i];
    if (!gb_grow(&m->open, &m->open_space, m->open_count + 1, sizeof *m->open, status))
        return NULL;
    json_t *texts = json_array();
    for (uint32_t i = 0; i < m->calls; i++)
        json_array_append_new(texts, json_null());
    m->open[m->open_count] = (begun){.passage = passage, .texts = texts};
    return &m->open[m->open_count++];
}

/* All texts of a passage are there. */
static bool finish_passage(making *m, begun *b, gb_status *status)
{
    char *line = json_dumps(b->texts, JSON_COMPACT), note[64];
    bool ok = gb_memory_check("generated queries", status) &&
              (line || gb_fail_memory(status, "generated queries")) &&
              gb_journal_add(m->journal, b->passage - m->first, line, status);
    free(line);
    json_decref(b->texts);
    *b = m->open[--m->open_count];
    snprintf(note, sizeof note, "%.1f tokens/s",
             (double)gb_generator_done(m->generator).tokens / (gb_now_s() - m->start_s));
    gb_progress_update(&m->progress, gb_journal_count(m->journal), note);
    return ok;
}

static bool take_text(void *self, uint32_t passage, uint32_t query, const uint32_t *ids,
                      uint32_t count, gb_status *status)
{
    making *m = self;
    gb_text text = {0};
    begun *b = find_begun(m, passage, status);
    bool ok = b && gb_coder_decode(m->coder, ids, count, &text, status);
    if (ok) {
        bool sound = text.length && gb_utf8_valid(text.data, text.length);
        json_array_set_new(b->texts, query,
                           json_stringn(sound ? text.data : "", //
                                        sound ? text.length : 0));
        ok = !text.failed || gb_fail_memory(status, "generated queries");
    }
    gb_text_free(&text);
    return ok && (++b->got < m->calls || finish_passage(m, b, status));
}

/* ---- the file ---- */

/* What is the same in all lines; a new reference. */
static json_t *description(const making *m, const char *weights)
{
    const settings *o = m->o;
    json_t *line = json_pack("{s:s, s:s, s:s, s:I, s:{s:f, s:i, s:f, s:i, s:i}}", "generator",
                             o->name, "weights", weights, "prompt", m->prompt.name, "seed",
                             (json_int_t)o->seed, "settings", "temperature", o->temperature,
                             "top_k", (int)o->top_k, "top_p", o->top_p, "most_tokens",
                             (int)o->most_tokens, "prompt_tokens", (int)o->prompt_tokens);
    if (o->packing)
        json_object_set_new(json_object_get(line, "settings"), "weights", json_string(o->weights));
    return line;
}

static bool write_query(making *m, FILE *out, uint32_t passage, uint32_t number, const char *query,
                        size_t length, const json_t *about, gb_status *status)
{
    size_t id_length;
    const char *id = gb_table_row(m->collection->passage_ids, passage, &id_length);
    json_t *line = json_object();
    json_object_set_new(line, "id", json_stringn(id, id_length));
    json_object_set_new(line, "query", json_stringn(query, length));
    json_object_set_new(line, "number", json_integer(number));
    json_object_update(line, (json_t *)about);
    bool ok = gb_memory_check("generated queries", status) &&
              (json_dumpf(line, out, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0 ||
               gb_fail(status, GB_DATA, "queries.jsonl", "is the disk full?", "cannot write"));
    fputc('\n', out);
    json_decref(line);
    m->queries++;
    return ok;
}

/* The queries of a passage: numbers of single ones are those of their draws. */
static bool write_passage(making *m, FILE *out, uint32_t passage, const json_t *about,
                          gb_status *status)
{
    const char *line = gb_journal_line(m->journal, passage - m->first, status);
    json_t *texts = line ? json_loads(line, 0, NULL) : NULL;
    gb_text lines = {0};
    uint32_t number = 0;
    bool ok = json_is_array(texts);
    if (line && !ok)
        ok = gb_fail(status, GB_DATA, "resume/made", "remove the step's work folder",
                     "the answers for passage %u cannot be read", passage);
    for (size_t i = 0; ok && i < json_array_size(texts); i++) {
        const json_t *text = json_array_get(texts, i);
        size_t at = lines.length;
        gb_answer_queries(&m->prompt, json_string_value(text) ? json_string_value(text) : "",
                          json_string_length(text), &lines);
        number = m->prompt.list ? number : (uint32_t)i;
        while (ok && at < lines.length && number < m->o->queries) {
            size_t length = strcspn(lines.data + at, "\n");
            ok = write_query(m, out, passage, number++, lines.data + at, length, about, status);
            at += length + 1;
        }
    }
    ok = ok && (!lines.failed || gb_fail_memory(status, "generated queries"));
    gb_text_free(&lines);
    json_decref(texts);
    return ok;
}

static bool write_queries(making *m, const char *path, const char *weights, gb_status *status)
{
    json_t *about = description(m, weights);
    gb_out *out = about ? gb_out_open(path, status) : NULL;
    bool ok = out != NULL;
    for (uint32_t p = m->first; ok && p < m->end; p++)
        ok = write_passage(m, gb_out_stream(out), p, about, status);
    if (ok)
        ok = gb_out_commit(out, status);
    else
        gb_out_abandon(out);
    json_decref(about);
    return ok;
}

/* ---- the step ---- */

/* The weights' file, or all of a folder whose weights lie in several. */
static bool hash_weights(const char *folder, char hash[GB_HASH_SIZE], gb_status *status)
{
    char *path = gb_path_join(status, folder, "model.safetensors");
    bool ok = path && (gb_file_exists(path) ? gb_hash_file(path, hash, status)
                                            : gb_hash_tree(folder, hash, status));
    free(path);
    return ok;
}

static bool open_making(making *m, const settings *o, gb_status *status)
{
    m->o = o;
    m->calls = m->prompt.list ? (o->queries + m->prompt.list - 1) / m->prompt.list : o->queries;
    m->folder = gb_find_model_folder(o->model, status);
    m->coder = m->folder ? gb_coder_open(m->folder, status) : NULL;
    m->collection = m->coder ? gb_open_collection(o->collection, status) : NULL;
    if (!m->collection)
        return false;
    uint64_t passages = m->collection->passages;
    m->first = m->next = (uint32_t)(passages * o->shard_index / o->shard_count);
    m->end = (uint32_t)(passages * (o->shard_index + 1) / o->shard_count);
    return true;
}

static void close_making(making *m)
{
    for (size_t i = 0; i < m->open_count; i++)
        json_decref(m->open[i].texts);
    gb_generator_destroy(m->generator);
    gb_journal_close(m->journal);
    gb_collection_close(m->collection);
    gb_coder_close(m->coder);
    gb_template_free(&m->prompt);
    gb_text_free(&m->text);
    free(m->ids.data);
    free(m->open);
    free(m->folder);
    free(m->name);
}

static bool open_journal(making *m, const step_run *run, gb_status *status)
{
    char *path = step_resume_file(run, "made", status);
    bool ok = path && (m->journal = gb_journal_open(path, m->end - m->first, status));
    free(path);
    return ok;
}

static bool make_texts(making *m, step_run *run, gb_status *status)
{
    const settings *o = m->o;
    if (!open_journal(m, run, status))
        return false;
    uint32_t done = gb_journal_count(m->journal), wanted = m->end - m->first;
    if (done == wanted)
        return true;
    if (!step_device(run, status) || !(m->generator = gb_generator_create_packed(
                                           run->device, m->folder, o->batch, o->prompt_tokens,
                                           o->most_tokens, o->packing, status)))
        return false;
    gb_pick_params how = {.sample = o->temperature > 0,
                          .temperature = (float)o->temperature,
                          .top_k = o->top_k,
                          .top_p = (float)o->top_p,
                          .seed = o->seed};
    gb_generation work = {m, next_prompt, take_text, false};
    m->start_s = gb_now_s();
    gb_progress_begin(&m->progress, "generate", "passages", wanted, done);
    if (!gb_generate_all(m->generator, &work, &how, status))
        return false;
    gb_progress_end(&m->progress, wanted, NULL);
    return true;
}

/* Facts of run.json; what depends on interruptions stands in its times. */
static json_t *facts_of(making *m, step_run *run, const char *weights)
{
    json_t *facts = run->device ? step_device_facts(run) : json_object();
    json_object_set_new(facts, "generator", json_string(m->o->name));
    json_object_set_new(facts, "weights", json_string(weights));
    json_object_set_new(facts, "passages", json_integer(m->end - m->first));
    json_object_set_new(facts, "queries", json_integer((json_int_t)m->queries));
    if (m->generator) {
        gb_generator_counts done = gb_generator_done(m->generator);
        double seconds = gb_now_s() - m->start_s;
        json_object_set_new(facts, "times",
                            json_pack("{s:f, s:I, s:I, s:I, s:f}", "work_s", seconds, "tokens",
                                      (json_int_t)done.tokens, "prompt_tokens",
                                      (json_int_t)done.prompt_tokens, "steps",
                                      (json_int_t)done.steps, "tokens_per_s",
                                      (double)done.tokens / seconds));
    }
    return facts;
}

static bool work(making *m, const settings *o, step_run *run, gb_status *status)
{
    char weights[GB_HASH_SIZE];
    char *path = step_file(run, "queries.jsonl", status);
    bool ok = path && open_making(m, o, status) && hash_weights(m->folder, weights, status) &&
              make_texts(m, run, status) && write_queries(m, path, weights, status);
    if (ok && o->shard_count == 1) {
        gb_queries_params from = {.from = path, .writer = o->name};
        ok = gb_queries_make(m->collection, &from, gb_step_path(run->step), status);
    }
    json_t *facts = ok ? facts_of(m, run, weights) : NULL;
    ok = ok && step_end(run, facts, status);
    json_decref(facts);
    free(path);
    return ok;
}

static bool copy_out(const step_run *run, const char *to, gb_status *status)
{
    char *from = step_file(run, "queries.jsonl", status);
    bool ok = from && gb_copy_file(from, to, status);
    free(from);
    return ok;
}

/* ---- what it takes ---- */

/* NAME=NUMBER words: prompts are counted in a sample, texts are as long as they may be. */
static bool say_cost(making *m, const settings *o, gb_status *status)
{
    gb_language_config config;
    uint64_t weights, all;
    if (!open_making(m, o, status))
        return false;
    char *path = gb_path_join(status, m->folder, "config.json");
    bool ok = path && gb_language_config_read(path, &config, status);
    free(path);
    gb_language_cache none = {0};
    gb_language_cache cache =
        gb_generator_cache(&config, o->batch, o->prompt_tokens, o->most_tokens);
    none.packing = cache.packing = o->packing;
    ok = ok && gb_language_bytes(&config, &none, &weights, status) &&
         gb_language_bytes(&config, &cache, &all, status);
    uint32_t passages = m->end - m->first, sampled = 0;
    uint32_t sample = passages < COST_SAMPLE ? passages : COST_SAMPLE;
    double tokens = 0, flops = 0;
    for (; ok && sampled < sample; sampled++) {
        ok = make_prompt(m, m->first + (uint32_t)((uint64_t)passages * sampled / sample), status);
        tokens += (double)m->ids.count;
        for (uint32_t call = 0; ok && call < m->calls; call++)
            flops += gb_generate_flops(&config, call && config.layers ? 0 : m->ids.count,
                                       o->most_tokens);
    }
    double scale = sampled ? (double)passages / sampled : 0;
    if (ok)
        printf("passages=%u texts=%.0f prompt_tokens=%.0f most_new_tokens=%.0f most_flops=%.6g "
               "parameter_bytes=%llu cache_bytes=%llu\n",
               passages, (double)passages * m->calls, tokens * scale,
               (double)passages * m->calls * o->most_tokens, flops * scale,
               (unsigned long long)weights, (unsigned long long)(all - weights));
    return ok;
}

/* ---- options ---- */

/* The file of a prompt: one of the program's, or any other. Caller frees. */
static char *find_prompt(const char *name, gb_status *status)
{
    if (strchr(name, '/') || gb_file_exists(name))
        return gb_strdup(name, status);
    char *own = gb_format(status, "prompts/%s", name);
    char *path = own ? gb_share_file(own) : NULL;
    if (own && !path)
        gb_fail(status, GB_USAGE, NULL, "doc2query, text2query, tk-instruct, alpaca, or a file",
                "there is no prompt \"%.80s\"", name);
    free(own);
    return path;
}

static bool resolve(settings *o, making *m, gb_status *status)
{
    gb_template *prompt = &m->prompt;
    if (!gb_template_read(o->prompt, prompt, status))
        return false;
    uint32_t *const whole[] = {&o->queries, &o->top_k, &o->most_tokens, &o->prompt_tokens};
    const uint32_t theirs[] = {prompt->queries, prompt->top_k, prompt->most_tokens,
                               prompt->prompt_tokens};
    for (int i = 0; i < 4; i++)
        if (*whole[i] == UNSET)
            *whole[i] = theirs[i];
    o->temperature = o->temperature < 0 ? prompt->temperature : o->temperature;
    o->top_p = o->top_p < 0 ? prompt->top_p : o->top_p;
    if (!o->name) {
        size_t length;
        const char *name = gb_path_name(o->model, &length);
        if (!(o->name = m->name = gb_format(status, "%.*s", (int)length, name)))
            return false;
    }
    if (!o->queries || !o->batch || !o->most_tokens || o->prompt_tokens < 2)
        return gb_fail(status, GB_USAGE, NULL, NULL,
                       "queries, texts at a time and tokens must be at least 1, of a prompt 2");
    if (!o->shard_count || o->shard_index >= o->shard_count)
        return gb_fail(status, GB_USAGE, NULL, "shards are counted from 0",
                       "there is no shard %u of %u", o->shard_index, o->shard_count);
    return true;
}

static int run_generate(step_run *run, settings *o, gb_status *status)
{
    making m = {0};
    const char *out = o->out;
    bool ok = resolve(o, &m, status) && gb_packing_find(o->weights, &o->packing, status);
    if (o->packing)
        run->shader_set = "language,packed";
    o->out = NULL; /* no part of the step's key */
    if (ok && (o->dry_run || run->cost)) {
        say_cost(&m, o, status);
    } else if (ok) {
        json_t *extra = json_pack("{s:s}", "prompt-name", m.prompt.name);
        ok = step_begin(run, 1, true, extra, status);
        ok = ok &&
             (gb_step_done(run->step) ? step_end(run, NULL, status) : work(&m, o, run, status));
        if (ok && out)
            copy_out(run, out, status);
    }
    close_making(&m);
    return step_close(run, status);
}

int gb_cli_generate(int argc, char **argv)
{
    gb_status status = {0};
    settings o = {.prompt = "doc2query",
                  .queries = UNSET,
                  .top_k = UNSET,
                  .most_tokens = UNSET,
                  .prompt_tokens = UNSET,
                  .batch = 32,
                  .shard_count = 1,
                  .temperature = -1,
                  .top_p = -1,
                  .seed = 42,
                  .weights = "fp32"};
    const step_option options[] = {
        {"model", OPTION_TEXT, &o.model, true, true, "language model: step or folder"},
        {"collection", OPTION_TEXT, &o.collection, true, true, "step of a collection"},
        {"prompt", OPTION_TEXT, &o.prompt, false, true, "its name or file (doc2query)"},
        {"queries", OPTION_U32, &o.queries, false, false, "wanted of a passage"},
        {"temperature", OPTION_REAL, &o.temperature, false, false,
         "of sampling; 0: the most probable token"},
        {"top-k", OPTION_U32, &o.top_k, false, false, "draw from the k most probable; 0: all"},
        {"top-p", OPTION_RATIO, &o.top_p, false, false,
         "draw from the fewest that reach p; 0 or 1: all"},
        {"most-tokens", OPTION_U32, &o.most_tokens, false, false, "of an answer"},
        {"prompt-tokens", OPTION_U32, &o.prompt_tokens, false, false,
         "of a prompt; the passage is cut to fit"},
        {"seed", OPTION_U64, &o.seed, false, false, "of sampling (42)"},
        {"batch", OPTION_U32, &o.batch, false, false, "texts at a time (32)"},
        {"shard-index", OPTION_U32, &o.shard_index, false, false, "part of the passages (0)"},
        {"shard-count", OPTION_U32, &o.shard_count, false, false, "how many parts (1)"},
        {"name", OPTION_TEXT, &o.name, false, false, "of the generator (the model folder's)"},
        {"weights", OPTION_TEXT, &o.weights, false, false,
         "kept on the device as fp32, fp16, bf16 or q8 (blocks of 8-bit numbers)", true},
        {"out", OPTION_TEXT, &o.out, false, false, "also write the queries to this file", true},
        {"dry-run", OPTION_FLAG, &o.dry_run, false, false, "say what it takes, and end", true},
        {0}};
    step_run run = {.kind = "generate", .options = options, .shader_set = "language"};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    char *prompt = find_prompt(o.prompt, &status);
    o.prompt = prompt;
    code = prompt ? run_generate(&run, &o, &status) : step_close(&run, &status);
    free(prompt);
    return code;
}
