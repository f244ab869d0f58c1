/* Commands as nodes of a graph, and what a table needs of them. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

repro_graph *repro_graph_create(gb_status *status)
{
    repro_graph *graph = gb_alloc(1, sizeof *graph, status);
    if (!graph)
        return NULL;
    graph->arena = gb_arena_create(1 << 16, status);
    graph->places = graph->arena ? gb_map_create(status) : NULL;
    if (graph->places)
        return graph;
    repro_graph_destroy(graph);
    return NULL;
}

void repro_graph_destroy(repro_graph *graph)
{
    if (!graph)
        return;
    gb_map_destroy(graph->places);
    gb_arena_destroy(graph->arena);
    free(graph->nodes);
    free(graph);
}

const char *repro_graph_keep(repro_graph *graph, const char *text, gb_status *status)
{
    return gb_arena_strdup(graph->arena, text, strlen(text), status);
}

/* Inputs come before what needs them. */
void repro_graph_mark(const repro_graph *graph, const repro_node *node, bool *marks)
{
    marks[node->index] = true;
    for (size_t i = node->index + 1; i-- > 0;)
        for (size_t w = 0; marks[i] && w < graph->nodes[i]->count; w++)
            if (graph->nodes[i]->words[w].node)
                marks[graph->nodes[i]->words[w].node->index] = true;
}

/* A command as bytes that no other one has. */
static void write_key(const repro_word *words, size_t count, gb_text *key)
{
    for (size_t i = 0; i < count; i++) {
        gb_text_append(key, words[i].text, strlen(words[i].text) + 1);
        if (words[i].node)
            gb_text_printf(key, "%zu", words[i].node->index);
        gb_text_append(key, "", 1);
    }
}

static repro_node *add_node(repro_graph *graph, const char *label, const repro_word *words,
                            size_t count, gb_status *status)
{
    repro_node *node = gb_arena_alloc(graph->arena, sizeof *node, status);
    repro_word *own = gb_arena_alloc(graph->arena, count * sizeof *own, status);
    if (!node || !own ||
        !gb_grow(&graph->nodes, &graph->capacity, graph->count + 1, sizeof *graph->nodes, status))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        own[i] = (repro_word){repro_graph_keep(graph, words[i].text, status), words[i].node};
        if (!own[i].text)
            return NULL;
    }
    *node = (repro_node){.index = graph->count, .words = own, .count = count};
    node->label = repro_graph_keep(graph, label, status);
    if (!node->label)
        return NULL;
    graph->nodes[graph->count++] = node;
    return node;
}

repro_node *repro_graph_node(repro_graph *graph, const char *label, const repro_word *words,
                             size_t count, gb_status *status)
{
    gb_text key = {0};
    repro_node *node = NULL;
    write_key(words, count, &key);
    if (key.failed) {
        gb_fail_memory(status, "noting a command");
    } else {
        uint32_t place = gb_map_get(graph->places, key.data, key.length);
        node = place != GB_MAP_NONE ? graph->nodes[place]
                                    : add_node(graph, label, words, count, status);
        if (node && place == GB_MAP_NONE &&
            !gb_map_set(graph->places, key.data, key.length, (uint32_t)node->index, status))
            node = NULL;
    }
    gb_text_free(&key);
    return node;
}

char *repro_word_text(repro_word word, gb_status *status)
{
    return gb_format(status, "%s%s", word.text ? word.text : "",
                     word.node ? word.node->folder : "");
}

repro_word repro_node_option(const repro_node *node, const char *option)
{
    for (size_t i = node->count; i-- > 2;)
        if (!node->words[i - 1].node && !strcmp(node->words[i - 1].text, option))
            return node->words[i];
    return (repro_word){0};
}

/* ---- tables ---- */

void repro_table_free(repro_table *table)
{
    repro_settings_free(&table->settings);
    free(table->calls);
    free(table->results);
    free(table->notices);
    free(table->inputs);
    free(table->kept);
    json_decref(table->row_sums);
    *table = (repro_table){0};
}

/* Whether one of several patterns, with | between, fits a name. */
static bool fits(const char *patterns, const char *name)
{
    char one[256];
    for (const char *at = patterns; *at; at += *at == '|') {
        size_t length = strcspn(at, "|");
        snprintf(one, sizeof one, "%.*s", (int)length, at);
        if (gb_matches(one, name))
            return true;
        at += length;
    }
    return false;
}

bool repro_result_selected(const repro_result *result, const char *rows, bool everything)
{
    if (!result->row || everything)
        return true;
    return rows ? fits(rows, result->row) : !result->on_request;
}

/* Names of the table's rows, each once, with blanks between. */
static void list_rows(const repro_table *table, gb_text *out)
{
    for (size_t i = 0; i < table->result_count; i++) {
        const char *row = table->results[i].row;
        bool seen = row == NULL;
        for (size_t j = 0; !seen && j < i; j++)
            seen = table->results[j].row && !strcmp(table->results[j].row, row);
        if (!seen)
            gb_text_printf(out, "%s%s", out->length ? " " : "", row);
    }
}

static bool check_patterns(const repro_table *table, const char *rows, gb_status *status)
{
    char one[256];
    for (const char *at = rows; *at; at += *at == '|') {
        size_t length = strcspn(at, "|");
        bool found = false;
        snprintf(one, sizeof one, "%.*s", (int)length, at);
        for (size_t i = 0; !found && i < table->result_count; i++)
            found = table->results[i].row && gb_matches(one, table->results[i].row);
        if (!found) {
            gb_text names = {0};
            list_rows(table, &names);
            gb_fail(status, GB_USAGE, NULL, NULL, "%s has no row %.60s; it has: %s", table->name,
                    one, names.data ? names.data : "");
            gb_text_free(&names);
            return false;
        }
        at += length;
    }
    return true;
}

static bool counts(const repro_table *table, size_t call)
{
    return !table->plain || !table->calls[call].on_request;
}

static bool inputs_kept(const repro_node *node, const bool *kept)
{
    for (size_t i = 0; i < node->count; i++)
        if (node->words[i].node && !kept[node->words[i].node->index])
            return false;
    return true;
}

/* Marks what an artifact of results needs. */
static void mark(const repro_graph *graph, const repro_node *node, bool *marks)
{
    if (node && !marks[node->index])
        repro_graph_mark(graph, node, marks);
}

bool repro_table_select(repro_table *table, const repro_graph *graph, const char *rows,
                        bool everything, gb_status *status)
{
    if (rows && !check_patterns(table, rows, status))
        return false;
    bool *needed = gb_alloc(graph->count, 1, status);   /* by rows that are made */
    bool *left_out = gb_alloc(graph->count, 1, status); /* by rows that are not */
    bool *kept = gb_alloc(graph->count, 1, status);
    bool ok = needed && left_out && kept;
    for (size_t i = 0; ok && i < table->result_count; i++) {
        const repro_result *result = &table->results[i];
        bool *marks = repro_result_selected(result, rows, everything) ? needed : left_out;
        mark(graph, result->evaluation.node, marks);
        mark(graph, result->model.node, marks);
    }
    if (ok) {
        table->plain = !rows && !everything;
        mark(graph, table->page, needed);
        mark(graph, table->collection.node, needed);
        for (size_t i = 0; i < table->call_count; i++) {
            const repro_node *node = table->calls[i].node;
            bool idle = counts(table, i) && !left_out[node->index] && inputs_kept(node, kept);
            kept[node->index] = needed[node->index] || kept[node->index] || idle;
        }
        free(table->kept);
        table->kept = kept;
        kept = NULL;
    }
    free(needed);
    free(left_out);
    free(kept);
    return ok;
}

/* Whether an earlier call that counts made the same artifact. */
static bool made_before(const repro_table *table, size_t call)
{
    for (size_t i = 0; i < call; i++)
        if (table->calls[i].node == table->calls[call].node && counts(table, i))
            return true;
    return false;
}

bool repro_table_makes(const repro_table *table, size_t call, bool once)
{
    return counts(table, call) && table->kept[table->calls[call].node->index] &&
           !(once && made_before(table, call));
}

/* The commands that are kept, with the flags behind them; once: without repetition. */
static void calls_text(const repro_table *table, const char *flags, bool once, gb_text *out)
{
    for (size_t i = 0; i < table->call_count; i++)
        if (repro_table_makes(table, i, once))
            gb_text_printf(out, "%s%s\n", table->calls[i].line, flags);
}

void repro_table_text(const repro_table *table, const char *flags, gb_text *out)
{
    calls_text(table, flags, true, out);
}

/* ---- checksum ---- */

uint32_t repro_cksum(const void *bytes, size_t length)
{
    uint32_t crc = 0;
    const unsigned char *at = bytes;
    size_t rest = length; /* its bytes are summed up behind the others, the low ones first */
    for (size_t i = 0; i < length || rest; i++) {
        uint32_t byte = i < length ? at[i] : rest & 0xff;
        if (i >= length)
            rest >>= 8;
        crc ^= byte << 24;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 0x80000000u ? crc << 1 ^ 0x04c11db7u : crc << 1;
    }
    return ~crc;
}

/* text without every "FOLDER/" */
static void drop_folder(const gb_text *text, const char *folder, gb_text *out)
{
    size_t length = strlen(folder);
    const char *at = text->data ? text->data : "", *found;
    while (length && (found = strstr(at, folder)) != NULL) {
        bool whole = found[length] == '/';
        gb_text_append(out, at, (size_t)(found - at) + (whole ? 0 : length));
        at = found + length + whole;
    }
    gb_text_append(out, at, strlen(at));
}

bool repro_table_checksum(const repro_table *table, const char *data_dir, bool once, char sum[40],
                          gb_status *status)
{
    gb_text lines = {0}, bare = {0};
    calls_text(table, "", once, &lines);
    drop_folder(&lines, data_dir, &bare);
    bool ok = !lines.failed && !bare.failed;
    if (ok)
        snprintf(sum, 40, "%u-%zu", repro_cksum(bare.data, bare.length), bare.length);
    else
        gb_fail_memory(status, "summing up a recipe");
    gb_text_free(&lines);
    gb_text_free(&bare);
    return ok;
}
