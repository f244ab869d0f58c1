/* Counts the work that tables take, without doing it. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

/* ---- sizes ---- */

/* The node of a collection that a command reads. */
static const repro_node *collection_of(const repro_node *node, const char *option)
{
    return repro_node_option(node, option).node;
}

/* Training queries of a collection as it is here: lines of its judgements. */
static double count_queries(const char *folder)
{
    char *path = gb_path_join(NULL, folder, "collection/qrels/train.tsv"), *line;
    gb_lines *lines = path && gb_file_exists(path) ? gb_lines_open(path, NULL) : NULL;
    double count = 0;
    size_t length;
    while (lines && gb_lines_next(lines, &line, &length, NULL) == 1)
        count++;
    gb_lines_close(lines);
    free(path);
    return count > 0 ? count - 1 : 0;
}

/* Of the public collection that one stands for; passages 0: it is one itself. */
static bool sizes_of(const repro_plan *plan, const repro_node *collection, repro_sizes *sizes,
                     gb_status *status)
{
    *sizes = (repro_sizes){0};
    if (!collection)
        return true;
    if (plan->public[collection->index])
        return repro_sizes_read(plan->public[collection->index], sizes, status);
    sizes->train_queries = count_queries(collection->folder);
    return true;
}

/* ---- kinds of commands ---- */

static bool first_of_kind(repro_argv *place, const repro_argv *argv, gb_status *status)
{
    bool ok = true;
    if (place->count)
        return true;
    for (size_t i = 0; ok && i < argv->count; i++)
        ok = repro_argv_add(place, status, "%s", argv->items[i]);
    return ok;
}

/* Adds a training to a table, and what it needs to *needs. */
static bool count_training(repro_plan *plan, const repro_node *node, const repro_argv *argv,
                           repro_table_cost *table, repro_bytes *needs, gb_status *status)
{
    repro_cost cost;
    if (!repro_plan_cost(plan, argv, &cost, status))
        return false;
    bool finetune = repro_is_finetuning(argv->items[0]);
    double steps = repro_cost_get(&cost, "steps"), batch = repro_cost_get(&cost, "batch");
    if (finetune) {
        double queries = repro_argv_number(argv, "--train-queries");
        repro_sizes sizes;
        if (!sizes_of(plan, collection_of(node, "--collection"), &sizes, status))
            return false;
        needs->memory = repro_plan_run_memory(plan, node, &sizes);
        queries = queries > 0 ? queries : sizes.train_queries;
        steps =
            (double)(uint64_t)((queries * repro_argv_number(argv, "--epochs") + batch - 1) / batch);
    }
    table->train_flops +=
        steps * (repro_cost_get(&cost, "flops") + repro_cost_get(&cost, "update_flops"));
    table->trainings++;
    table->disk += repro_cost_get(&cost, "parameter_bytes") / 4;
    needs->device +=
        repro_cost_get(&cost, "parameter_bytes") + repro_cost_get(&cost, "activation_bytes");
    return first_of_kind(finetune ? &plan->finetuning : &plan->training, argv, status);
}

/* One of several objectives that take a step each in turn, "OBJECTIVE" or "OBJECTIVE:CONTEXT", as a
 * training of its own. */
static bool count_turn(repro_plan *plan, const repro_node *node, const repro_argv *whole,
                       const char *objective, size_t length, repro_table_cost *table,
                       gb_status *status)
{
    repro_argv argv = {0};
    const char *context = memchr(objective, ':', length);
    size_t name = context ? (size_t)(context - objective) : length;
    bool ok = repro_argv_add(&argv, status, "pretrain") &&
              repro_argv_add(&argv, status, "%.*s", (int)name, objective);
    ok = ok && repro_argv_add_without(&argv, whole, 2, "--interleave-with", status);
    if (ok && context)
        ok = repro_argv_add(&argv, status, "--context") &&
             repro_argv_add(&argv, status, "%.*s", (int)(length - name - 1), context + 1);
    ok = ok && count_training(plan, node, &argv, table, &plan->needs[node->index], status);
    repro_argv_free(&argv);
    return ok;
}

static bool count_turns(repro_plan *plan, const repro_node *node, const repro_argv *argv,
                        repro_table_cost *table, gb_status *status)
{
    const char *others = repro_argv_option(argv, "--interleave-with");
    bool ok = count_turn(plan, node, argv, argv->items[1], strlen(argv->items[1]), table, status);
    for (const char *at = others; ok && *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        ok = count_turn(plan, node, argv, at, length, table, status);
        at += length;
    }
    return ok;
}

static const char *keep(repro_plan *plan, const gb_text *text, gb_status *status)
{
    return gb_arena_strdup(plan->graph->arena, text->data ? text->data : "", text->length, status);
}

/* In the place of mined negatives, which later commands read: BM25's. */
static bool stand_for_mined(repro_plan *plan, repro_node *node, const repro_argv *argv,
                            gb_status *status)
{
    const repro_node *collection = collection_of(node, "--collection");
    const char *own = NULL, **run = collection ? &plan->runs[collection->index] : &own;
    const char *words[] = {"bm25-run", "--collection", repro_argv_option(argv, "--collection"),
                           "--quiet", NULL};
    gb_text printed = {0};
    bool ok = *run || (repro_plan_command(plan, words, &printed, status) &&
                       (*run = keep(plan, &printed, status)) != NULL);
    gb_text_free(&printed);
    node->folder = *run;
    return ok;
}

/* In the place of a trained encoder, which later commands read: the one that the training starts
 * from, of the same size, be it fresh. */
static bool stand_for_trained(repro_plan *plan, repro_node *node, repro_argv *argv,
                              gb_status *status)
{
    const char *init = repro_argv_option(argv, "--init");
    gb_text printed = {0};
    bool ok = true;
    if (init)
        gb_text_append(&printed, init, strlen(init));
    else
        ok = repro_argv_add(argv, status, "--steps") && repro_argv_add(argv, status, "0") &&
             repro_argv_add(argv, status, "--quiet") &&
             repro_plan_command(plan, argv->items, &printed, status);
    ok = ok && (node->folder = keep(plan, &printed, status)) != NULL;
    gb_text_free(&printed);
    return ok;
}

/* What encodes texts: passages and queries, and a search among them. */
static bool count_encoding(repro_plan *plan, repro_node *node, const repro_argv *argv,
                           repro_table_cost *table, gb_status *status)
{
    repro_cost cost;
    repro_sizes sizes;
    repro_passage_cost each;
    if (!repro_plan_cost(plan, argv, &cost, status) ||
        !repro_plan_passage(node, &cost, &each, status) ||
        !sizes_of(plan, collection_of(node, "--collection"), &sizes, status))
        return false;
    bool mine = !strcmp(argv->items[0], "mine"), whole = sizes.passages <= 0;
    double passages = whole ? repro_cost_get(&cost, "passages") : sizes.passages;
    double queries = whole  ? repro_cost_get(&cost, "queries")
                     : mine ? sizes.train_queries
                            : sizes.eval_queries;
    double hits = queries * repro_argv_number(argv, "--depth");
    double sample =
        strcmp(argv->items[0], "mlm-loss") ? 0 : repro_cost_get(&cost, "sample"); /* 0: all */
    if (sample > 0 && sample < passages)
        passages = sample;
    double flops = passages * repro_cost_get(&cost, "passage_flops") +
                   queries * repro_cost_get(&cost, "query_flops") + passages * queries * each.flops;
    plan->needs[node->index] =
        (repro_bytes){.memory = queries * repro_cost_get(&cost, "width") * 4 +
                                hits * (REPRO_RUN_BYTES + REPRO_FOUND_BYTES),
                      .disk = passages * each.bytes};
    table->encode_flops += flops;
    table->encodings++;
    node->folder = plan->root; /* nobody reads it */
    if (mine) {
        repro_plan_run(plan, node, hits, table);
        return stand_for_mined(plan, node, argv, status);
    }
    table->disk += queries * 5000;
    if (whole && !strcmp(argv->items[0], "evaluate") && !plan->evaluation.count)
        plan->evaluation_flops = flops;
    return !whole || strcmp(argv->items[0], "evaluate") != 0 ||
           first_of_kind(&plan->evaluation, argv, status);
}

/* What an encoding by the model, collection and tokens of a command takes, and how big the
 * collection is; train: of the training queries. */
static bool cost_alike(repro_plan *plan, const repro_node *node, const repro_argv *argv, bool train,
                       repro_cost *cost, repro_sizes *sizes, gb_status *status)
{
    static const char *const options[] = {"--model", "--collection", "--tokens"};
    repro_argv alike = {0};
    bool ok = repro_argv_add(&alike, status, train ? "mine" : "evaluate");
    for (size_t i = 0; ok && i < 3; i++)
        ok = repro_argv_add(&alike, status, "%s", options[i]) &&
             repro_argv_add(&alike, status, "%s", repro_argv_option(argv, options[i]));
    ok = ok && repro_plan_cost(plan, &alike, cost, status) &&
         sizes_of(plan, collection_of(node, "--collection"), sizes, status);
    repro_argv_free(&alike);
    return ok;
}

/* Passages of a run scored by a cross-encoder: each takes about what its two texts take alone. */
static bool count_reranking(repro_plan *plan, repro_node *node, const repro_argv *argv,
                            repro_table_cost *table, gb_status *status)
{
    const char *depth = repro_argv_option(argv, "--depth");
    repro_node *of = repro_node_option(node, "--run").node;
    bool train = of && strcmp(of->words[0].text, "evaluate") != 0;
    repro_cost cost;
    repro_sizes sizes;
    if (!cost_alike(plan, node, argv, train, &cost, &sizes, status))
        return false;
    double queries = sizes.passages <= 0 ? repro_cost_get(&cost, "queries")
                     : train             ? sizes.train_queries
                                         : sizes.eval_queries;
    double pairs = queries * (depth ? strtod(depth, NULL) : 100);
    table->encode_flops +=
        pairs * (repro_cost_get(&cost, "passage_flops") + repro_cost_get(&cost, "query_flops"));
    table->encodings++;
    /* Beside the run that is read: the one that is written, its pairs, and their scores. */
    plan->needs[node->index] = (repro_bytes){.memory = repro_plan_run_memory(plan, node, &sizes) +
                                                       pairs * (REPRO_RUN_BYTES + 12),
                                             .disk = pairs * 4};
    repro_plan_run(plan, node, pairs, table);
    node->folder = of ? of->folder : plan->root; /* later commands find a run of these queries */
    return true;
}

/* The words of all passages weighted, which takes what encoding them takes. */
static bool count_weighing(repro_plan *plan, const repro_node *node, const repro_argv *argv,
                           repro_table_cost *table, gb_status *status)
{
    repro_cost cost;
    repro_sizes sizes;
    if (!cost_alike(plan, node, argv, false, &cost, &sizes, status))
        return false;
    double passages = sizes.passages <= 0 ? repro_cost_get(&cost, "passages") : sizes.passages;
    table->encode_flops += passages * repro_cost_get(&cost, "passage_flops");
    table->encodings++;
    return true;
}

/* A collection that stands for a public one, or that was cut from such. */
static bool note_public(repro_plan *plan, const repro_node *node, const repro_argv *argv,
                        repro_table_cost *table, gb_status *status)
{
    const char *from = repro_argv_option(argv, "--from");
    const repro_node *cut = collection_of(node, "--cut");
    size_t length = strlen(plan->stand_ins);
    if (cut)
        plan->public[node->index] = plan->public[cut->index];
    if (!from || strncmp(from, plan->stand_ins, length) != 0 || from[length] != '/')
        return true;
    const char *name = repro_graph_keep(plan->graph, from + length + 1, status);
    plan->public[node->index] = name;
    if (!name || !gb_grow(&table->data, &table->data_capacity, table->data_count + 1,
                          sizeof *table->data, status))
        return false;
    table->data[table->data_count++] = name;
    return true;
}

/* Really run; of a stand-in, its time is multiplied. */
static bool count_host(repro_plan *plan, repro_node *node, repro_argv *argv,
                       repro_table_cost *table, gb_status *status)
{
    gb_text printed = {0};
    double seconds = 0, index_bytes = 0, times = 1;
    bool ok = repro_argv_add(argv, status, "--quiet") &&
              repro_plan_command(plan, argv->items, &printed, status) &&
              (node->folder = keep(plan, &printed, status)) != NULL;
    gb_text_free(&printed);
    if (ok && !strcmp(argv->items[0], "collection"))
        ok = note_public(plan, node, argv, table, status);
    if (!ok)
        return false;
    const repro_node *of = collection_of(node, "--collection");
    const char *split = repro_argv_option(argv, "--split");
    if (of && split && !strcmp(argv->items[0], "bm25-run") && !strcmp(split, "train"))
        plan->runs[of->index] = node->folder;
    of = plan->public[node->index] ? node : of;
    if (of && plan->public[of->index] && strcmp(argv->items[0], "pretrain") != 0) {
        repro_sizes sizes;
        if (!repro_sizes_read(plan->public[of->index], &sizes, status))
            return false;
        times = sizes.passages / REPRO_STAND_IN_PASSAGES;
    }
    repro_record_number(node->folder, "run.json", "wall_s", &seconds);
    repro_record_number(node->folder, "run.json", "index_bytes", &index_bytes); /* of BM25 */
    table->host_s += seconds * times;
    plan->needs[node->index].memory = index_bytes * times;
    return true;
}

/* Passages that a ranking by BM25 finds, which lie in memory beside its index. */
static bool count_found(repro_plan *plan, const repro_node *node, const repro_argv *argv,
                        repro_table_cost *table, gb_status *status)
{
    const char *split = repro_argv_option(argv, "--split");
    bool run = !strcmp(argv->items[0], "bm25-run"), train = run && split && !strcmp(split, "train");
    repro_sizes sizes;
    if (!sizes_of(plan, collection_of(node, "--collection"), &sizes, status))
        return false;
    double hits =
        (train ? sizes.train_queries : sizes.eval_queries) * repro_argv_number(argv, "--depth");
    plan->needs[node->index].memory += hits * REPRO_RUN_BYTES;
    if (run)
        repro_plan_run(plan, node, hits, table);
    return true;
}

/* A ranking by BM25; without weights of words, which no counted model has given. */
static bool count_bm25(repro_plan *plan, repro_node *node, const repro_argv *argv,
                       repro_table_cost *table, gb_status *status)
{
    repro_argv plain = {0};
    bool ok = repro_argv_add_without(&plain, argv, 0, "--term-weights", status);
    ok = ok && count_host(plan, node, &plain, table, status) &&
         count_found(plan, node, argv, table, status);
    repro_argv_free(&plain);
    return ok;
}

static bool count_node(repro_plan *plan, repro_node *node, repro_table_cost *table,
                       gb_status *status)
{
    repro_argv argv;
    bool ok = repro_argv_of(node, &argv, status);
    const char *command = argv.count ? argv.items[0] : "",
               *kind = argv.count > 1 ? argv.items[1] : "";
    bool pretrain = !strcmp(command, "pretrain");
    node->folder = plan->root;
    bool of_runs = repro_argv_option(&argv, "--runs") || repro_argv_option(&argv, "--fuse");
    if (!ok || !strcmp(command, "efficiency") || !strcmp(command, "mean") ||
        (!strcmp(command, "evaluate") && of_runs))
        ; /* of what was counted already, in no time */
    else if (pretrain && !strcmp(kind, "none"))
        /* Its weights stand for others, so none are drawn. */
        ok = repro_argv_add(&argv, status, "--init-std") && repro_argv_add(&argv, status, "0") &&
             count_host(plan, node, &argv, table, status);
    else if ((!strcmp(command, "evaluate") && !strcmp(kind, "--bm25")) ||
             !strcmp(command, "bm25-run"))
        ok = count_bm25(plan, node, &argv, table, status);
    else if (!strcmp(command, "weigh-words"))
        ok = count_weighing(plan, node, &argv, table, status);
    else if (pretrain && repro_argv_option(&argv, "--interleave-with"))
        ok = count_turns(plan, node, &argv, table, status);
    else if (!strcmp(command, "rerank"))
        ok = count_reranking(plan, node, &argv, table, status);
    else if (pretrain || repro_is_finetuning(command)) {
        ok = count_training(plan, node, &argv, table, &plan->needs[node->index], status) &&
             stand_for_trained(plan, node, &argv, status);
    } else if (!strcmp(command, "mlm-loss") || !strcmp(command, "mine") ||
               !strcmp(command, "evaluate"))
        ok = count_encoding(plan, node, &argv, table, status);
    else
        ok = count_host(plan, node, &argv, table, status);
    node->state = REPRO_DONE;
    repro_argv_free(&argv);
    return ok;
}

static bool add_need(repro_table_cost *table, repro_bytes bytes, gb_status *status)
{
    if (!gb_grow(&table->needs, &table->need_capacity, table->need_count + 1, sizeof *table->needs,
                 status))
        return false;
    table->needs[table->need_count++] = bytes;
    return true;
}

bool repro_plan_count(repro_plan *plan, gb_status *status)
{
    bool ok = true;
    for (size_t t = 0; ok && t < plan->count; t++) {
        const repro_table *table = &plan->tables[t];
        plan->costs[t].name = table->name;
        for (size_t i = 0; ok && i < table->call_count; i++) {
            repro_node *node = table->calls[i].node;
            if (!table->kept[node->index])
                continue;
            ok = (node->state == REPRO_DONE || count_node(plan, node, &plan->costs[t], status)) &&
                 add_need(&plan->costs[t], plan->needs[node->index], status);
        }
    }
    return ok;
}

/* ---- all of it ---- */

/* A public folder that a recipe asks for. */
static bool stand_in(void *context, const char *name, gb_status *status)
{
    const repro_plan *plan = context;
    const repro_settings *settings = &plan->session->settings;
    const char *encoder = repro_settings_get(settings, "initial_encoder");
    const char *tokens = repro_settings_get(settings, "vocabulary_tokens");
    uint32_t count = tokens ? (uint32_t)strtoul(tokens, NULL, 10) : 2048;
    repro_sizes sizes;
    char *folder = gb_path_join(status, plan->stand_ins, name);
    bool ok = folder != NULL;
    if (ok && !gb_dir_exists(folder)) {
        if (encoder && !strcmp(encoder, name))
            ok = repro_stand_in_vocabulary(folder, count, status);
        else
            ok = repro_sizes_read(name, &sizes, status) &&
                 repro_stand_in_collection(folder, &sizes, count, status);
    }
    free(folder);
    return ok;
}

/* The recipes of the tables, for one seed, into the graph. */
static bool read_recipes(repro_plan *plan, repro_session *session, gb_status *status)
{
    const repro_catalog *catalog = &session->catalog;
    bool ok = true;
    session->recipe.seed_count = 1;
    session->recipe.plan = true;
    session->recipe.data_dir = plan->stand_ins;
    session->recipe.input = stand_in;
    session->recipe.context = plan;
    for (size_t i = 0; ok && i < catalog->count; i++) {
        const repro_entry *entry = &catalog->entries[i];
        bool wanted =
            session->entry ? entry == session->entry : entry->ready && !repro_entry_is_study(entry);
        if (wanted)
            ok = repro_session_recipe(session, entry->name, plan->graph,
                                      &plan->tables[plan->count++], status);
    }
    for (size_t t = 0; ok && t < plan->count; t++)
        ok = repro_session_select(session, plan->graph, &plan->tables[t], status);
    return ok;
}

static bool prepare(repro_plan *plan, repro_session *session, gb_status *status)
{
    size_t most = session->catalog.count, variables = 0;
    plan->session = session;
    plan->root = gb_temporary_folder(session->params->config, "plan", status);
    plan->graph = plan->root ? repro_graph_create(status) : NULL;
    plan->tables = gb_alloc(most, sizeof *plan->tables, status);
    plan->costs = gb_alloc(most + 1, sizeof *plan->costs, status);
    plan->counted = gb_map_create(status);
    if (!plan->graph || !plan->tables || !plan->costs || !plan->counted)
        return false;
    for (; session->environment[variables]; variables++)
        plan->environment[variables] = session->environment[variables];
    plan->environment[variables++] =
        repro_session_keep(session, status, "GABBRO_STORE=%s/store", plan->root);
    plan->environment[variables] = session->threads;
    plan->stand_ins = repro_session_keep(session, status, "%s/stand-in", plan->root);
    if (!plan->environment[variables - 1] || !plan->stand_ins ||
        !read_recipes(plan, session, status))
        return false;
    size_t nodes = plan->graph->count;
    plan->public = gb_alloc(nodes, sizeof *plan->public, status);
    plan->needs = gb_alloc(nodes, sizeof *plan->needs, status);
    plan->hits = gb_alloc(nodes, sizeof *plan->hits, status);
    plan->runs = gb_alloc(nodes, sizeof *plan->runs, status);
    return plan->public && plan->needs && plan->hits && plan->runs;
}

static void plan_free(repro_plan *plan)
{
    for (size_t t = 0; t < plan->count; t++)
        repro_table_free(&plan->tables[t]);
    for (size_t t = 0; plan->costs && t <= plan->count; t++) {
        free(plan->costs[t].needs);
        free(plan->costs[t].data);
    }
    repro_argv_free(&plan->training);
    repro_argv_free(&plan->finetuning);
    repro_argv_free(&plan->evaluation);
    free(plan->tables);
    free(plan->costs);
    free(plan->public);
    free(plan->needs);
    free(plan->hits);
    free(plan->runs);
    free(plan->kinds);
    gb_map_destroy(plan->counted);
    repro_graph_destroy(plan->graph);
    gb_temporary_remove(plan->root);
    free(plan);
}

bool repro_plan_tables(repro_session *session, gb_status *status)
{
    repro_plan *plan = gb_alloc(1, sizeof *plan, status);
    repro_speed speed;
    if (!plan)
        return false;
    if (!session->params->quiet)
        gb_say_line("counting what the tables take");
    bool ok = prepare(plan, session, status) && repro_plan_count(plan, status) &&
              repro_plan_measure(plan, &speed, status) && repro_plan_print(plan, &speed, status);
    plan_free(plan);
    return ok;
}
