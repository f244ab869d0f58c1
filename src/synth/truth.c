/* What the generator of a collection knew about it, and what that says of a ranking. */
#include <gabbro/synth.h>

#include <stdlib.h>

struct gb_synth_truth {
    gb_row_file *passages; /* u32: entity of a passage, then the facts that it states; or NULL */
    gb_row_file *queries;  /* u32: entity and fact that a query asks for; or NULL */
};

/* *file NULL when there is no such file. */
static bool open_table(const gb_collection *collection, const char *name, uint64_t rows,
                       gb_row_file **file, gb_status *status)
{
    char *path = gb_path_join(status, collection->path, name);
    bool there = path && gb_file_exists(path);
    if (there)
        *file = gb_row_file_open(path, sizeof(uint32_t), status);
    bool ok = path && (!there || *file);
    if (ok && *file && gb_row_file_count(*file) != rows)
        ok = gb_fail(status, GB_DATA, path, "make the collection again",
                     "the collection's tables do not agree");
    free(path);
    return ok;
}

bool gb_synth_truth_open(const gb_collection *collection, gb_synth_truth **truth, gb_status *status)
{
    gb_synth_truth *t = gb_alloc(1, sizeof *t, status);
    bool ok =
        t &&
        open_table(collection, "passages.truth.gbt", collection->passages, &t->passages, status) &&
        open_table(collection, "queries.truth.gbt", gb_row_file_count(collection->queries),
                   &t->queries, status);
    *truth = t;
    if (!ok || (!t->passages && !t->queries)) {
        gb_synth_truth_close(t);
        *truth = NULL;
    }
    return ok;
}

void gb_synth_truth_close(gb_synth_truth *truth)
{
    if (!truth)
        return;
    gb_row_file_close(truth->passages);
    gb_row_file_close(truth->queries);
    free(truth);
}

static uint32_t value_of(const gb_row_file *file, uint32_t row, size_t field)
{
    size_t length;
    if (!file || row >= gb_row_file_count(file))
        return GB_MAP_NONE;
    const uint32_t *values = gb_row_file_row(file, row, &length);
    return field < length ? values[field] : GB_MAP_NONE;
}

uint32_t gb_synth_passage_entity(const gb_synth_truth *truth, uint32_t passage)
{
    return value_of(truth->passages, passage, 0);
}

uint32_t gb_synth_query_entity(const gb_synth_truth *truth, uint32_t query)
{
    return value_of(truth->queries, query, 0);
}

uint32_t gb_synth_query_fact(const gb_synth_truth *truth, uint32_t query)
{
    return value_of(truth->queries, query, 1);
}

void gb_synth_diagnose(const gb_synth_truth *truth, const gb_split *split, const gb_run *run,
                       json_t *facts)
{
    double right = 0, place = 0;
    uint32_t count = 0, placed = 0;
    for (size_t i = 0; i < split->qrels.count; i++) {
        const gb_qrel *judged = &split->qrels.rows[i];
        const gb_run_list *list = gb_run_find(run, judged->query);
        uint32_t entity = gb_synth_passage_entity(truth, judged->passage);
        if (entity == GB_MAP_NONE || judged->grade < 1 || !list || !list->count)
            continue;
        count++;
        uint32_t same = 0, before = UINT32_MAX;
        for (uint32_t h = 0; h < list->count; h++) {
            uint32_t passage = run->hits[list->first + h].passage;
            bool own = gb_synth_passage_entity(truth, passage) == entity;
            right += own && h == 0;
            if (passage == judged->passage)
                before = same;
            same += own;
        }
        if (before != UINT32_MAX && same > 1) {
            place += (double)before / (same - 1);
            placed++;
        }
    }
    if (count)
        json_object_set_new(facts, "right_entity_at_rank_1", json_real(right / count));
    if (placed)
        json_object_set_new(facts, "place_inside_entity", json_real(place / placed));
}
