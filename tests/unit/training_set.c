/* Training sets: the pools of hard negatives, and what fills up those that are too small. */
#include <gabbro/finetune.h>

#include <criterion/criterion.h>
#include <stdlib.h>

enum { PASSAGES = 6, MOST = 8 };

/* Query 0 has the positives 1 and 4, and what its runs gave. */
static gb_training_set make(const uint32_t *ranked, uint32_t count)
{
    gb_status status = {0};
    gb_qrel rows[] = {{.query = 0, .passage = 1, .grade = 1},
                      {.query = 0, .passage = 4, .grade = 2}};
    gb_qrels qrels = {.rows = rows, .count = 2};
    gb_hit hits[MOST];
    gb_run run = {0};
    gb_training_set set;
    for (uint32_t i = 0; i < count; i++)
        hits[i] = (gb_hit){ranked[i], -(double)i};
    cr_assert(gb_run_add(&run, 0, hits, count, &status));
    cr_assert(gb_training_set_make(&set, &qrels, &run, 1, MOST, 0, 42, &status), "%s", status.what);
    gb_run_free(&run);
    return set;
}

static void draw(const gb_training_set *set, uint32_t epoch, uint32_t count, uint32_t *drawn)
{
    uint32_t pool[MOST];
    gb_status status = {0};
    cr_assert(
        gb_training_negatives(set, set->queries, 42, epoch, count, PASSAGES, pool, drawn, &status),
        "%s", status.what);
}

Test(training_set, no_positive_is_drawn_as_negative)
{
    gb_training_set set = make((const uint32_t[]){4, 2, 1}, 3);
    cr_assert_eq(set.queries->negative_count, 1, "the positives are no part of the pool");
    uint32_t seen[PASSAGES] = {0}, drawn[MOST];
    for (uint32_t epoch = 0; epoch < 200; epoch++) {
        draw(&set, epoch, 4, drawn);
        cr_expect_eq(drawn[0], 2, "the pool first");
        for (uint32_t n = 0; n < 4; n++)
            seen[drawn[n]]++;
    }
    cr_expect_eq(seen[1] + seen[4], 0, "%u draws of a positive", seen[1] + seen[4]);
    cr_expect(seen[0] && seen[2] && seen[3] && seen[5], "all others are drawn");
    gb_training_set_free(&set);
}

Test(training_set, epochs_take_turns_through_the_pool)
{
    gb_training_set set = make((const uint32_t[]){0, 2, 3, 5}, 4);
    uint32_t first[MOST], second[MOST], again[MOST], seen[PASSAGES] = {0};
    draw(&set, 0, 2, first);
    draw(&set, 1, 2, second);
    draw(&set, 2, 2, again);
    for (uint32_t n = 0; n < 2; n++) {
        seen[first[n]]++, seen[second[n]]++;
        cr_expect_eq(first[n], again[n]);
    }
    cr_expect(seen[0] == 1 && seen[2] == 1 && seen[3] == 1 && seen[5] == 1);
    gb_training_set_free(&set);
}

Test(training_set, where_all_passages_are_positives_there_is_no_negative)
{
    gb_training_set set = make((const uint32_t[]){1}, 1);
    uint32_t pool[MOST], drawn[MOST];
    gb_status status = {0};
    cr_expect_not(gb_training_negatives(&set, set.queries, 42, 0, 1, 2, pool, drawn, &status));
    cr_expect_eq(status.code, GB_DATA);
    gb_training_set_free(&set);
}
