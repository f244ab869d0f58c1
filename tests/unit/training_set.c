/* Training sets: the pools of hard negatives, and what fills up those that are too small. */
#include "../../src/finetune/private.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    cr_assert(gb_training_set_make(&set, &qrels, &run, 1, MOST, &status), "%s", status.what);
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

/* ---- false negatives ---- */

/* The set of two queries that share a run: query 0 has the positives 1 and 4, query 1 has 2. */
typedef struct filtered_set {
    gb_training_set set; /* of both */
    gb_run run;          /* 0 4 2 3 5 for query 0, 1 0 for query 1 */
} filtered_set;

static filtered_set make_two(void)
{
    filtered_set f = {0};
    gb_status status = {0};
    gb_qrel rows[] = {{0, 1, 1}, {0, 4, 2}, {1, 2, 1}};
    gb_qrels qrels = {.rows = rows, .count = 3};
    const gb_hit first[] = {{0, 9}, {4, 8}, {2, 7}, {3, 6}, {5, 5}}, second[] = {{1, 3}, {0, 2}};
    cr_assert(gb_run_add(&f.run, 0, first, 5, &status) &&
              gb_run_add(&f.run, 1, second, 2, &status));
    cr_assert(gb_training_set_make(&f.set, &qrels, &f.run, 1, MOST, &status));
    return f;
}

/* The negatives of a query as digits. */
static const char *pool_of(const filtered_set *f, uint32_t query)
{
    static char text[2][MOST + 1];
    const gb_training_query *q = &f->set.queries[query];
    uint32_t i = 0;
    for (; i < q->negative_count; i++)
        text[query][i] = (char)('0' + f->set.passages[q->negative_first + i]);
    text[query][i] = '\0';
    return text[query];
}

static void expect_filtered(gb_negative_filter how, const char *first, const char *second,
                            gb_filtered want)
{
    filtered_set f = make_two();
    gb_filtered counts;
    how.runs = &f.run;
    how.run_count = 1;
    gb_training_set_filter(&f.set, &how, &counts);
    cr_expect_str_eq(pool_of(&f, 0), first);
    cr_expect_str_eq(pool_of(&f, 1), second);
    cr_expect_eq(counts.before, want.before);
    cr_expect_eq(counts.left, want.left);
    cr_expect_eq(counts.by_rank, want.by_rank);
    cr_expect_eq(counts.by_text, want.by_text);
    cr_expect_eq(counts.by_score, want.by_score);
    cr_expect_eq(counts.unscored, want.unscored);
    cr_expect_eq(counts.unscored_queries, want.unscored_queries);
    cr_expect_eq(f.set.without_negatives, !*first + !*second);
    gb_run_free(&f.run);
    gb_training_set_free(&f.set);
}

/* The score filters: margins and bounds. */
#define BY(absolute, relative, least, most)                                                        \
    .margin = (absolute), .relative_margin = (relative), .min_score = (least), .max_score = (most)
#define OFF BY(-INFINITY, -INFINITY, -INFINITY, INFINITY)

Test(filter, nothing_asked_for_drops_nothing)
{
    expect_filtered((gb_negative_filter){OFF}, "0235", "10", (gb_filtered){.before = 6, .left = 6});
}

Test(filter, by_rank)
{
    /* Rank 2 of query 0 is a positive. */
    expect_filtered((gb_negative_filter){.skip = 2, OFF}, "235", "",
                    (gb_filtered){.before = 6, .left = 3, .by_rank = 3});
}

Test(filter, by_text)
{
    /* 3 is a copy of positive 4, 5 of negative 0; 1 is a copy of query 1's positive 2. */
    uint64_t texts[PASSAGES] = {10, 20, 20, 40, 40, 10};
    const gb_text_hashes hashes = {.passages = texts};
    expect_filtered((gb_negative_filter){.texts = &hashes, OFF}, "0", "0",
                    (gb_filtered){.before = 6, .left = 2, .by_text = 4});
}

Test(filter, by_score)
{
    /* Query 0: positives 1 and 4 have 6 and 4, and 5 has no score. Query 1: its positive has none.
     */
    gb_run scores = {0};
    gb_status status = {0};
    const gb_hit first[] = {{0, 1.5}, {1, 6}, {2, 1}, {3, 3.9}, {4, 4}},
                 second[] = {{0, .5}, {1, 9}};
    cr_assert(gb_run_add(&scores, 0, first, 5, &status) &&
              gb_run_add(&scores, 1, second, 2, &status));
    expect_filtered(
        (gb_negative_filter){.scores = &scores, BY(3, -INFINITY, -INFINITY, INFINITY)}, "2", "10",
        (gb_filtered){.before = 6, .left = 3, .by_score = 2, .unscored = 1, .unscored_queries = 1});
    expect_filtered(
        (gb_negative_filter){.scores = &scores, BY(-INFINITY, -INFINITY, -INFINITY, 1.5)}, "02",
        "0",
        (gb_filtered){.before = 6, .left = 3, .by_score = 2, .unscored = 1, .unscored_queries = 1});
    expect_filtered(
        (gb_negative_filter){.scores = &scores, BY(-INFINITY, -INFINITY, 1.5, INFINITY)}, "03", "1",
        (gb_filtered){.before = 6, .left = 3, .by_score = 2, .unscored = 1, .unscored_queries = 1});
    gb_run_free(&scores);
}

/* What is left of 0, 2 and 3, with these scores, beside positives of which the lower has p. */
static void expect_relative(double p, const double of[3], double margin, const char *left)
{
    gb_run scores = {0};
    gb_status status = {0};
    const gb_hit first[] = {{0, of[0]}, {1, p + 2}, {2, of[1]}, {3, of[2]}, {4, p}, {5, p + 1}},
                 second[] = {{0, 9}, {1, 9}};
    cr_assert(gb_run_add(&scores, 0, first, 6, &status) &&
              gb_run_add(&scores, 1, second, 2, &status));
    expect_filtered(
        (gb_negative_filter){.scores = &scores, BY(-INFINITY, margin, -INFINITY, INFINITY)}, left,
        "10",
        (gb_filtered){.before = 6,
                      .left = 2 + strlen(left),
                      .by_score = 4 - strlen(left),
                      .unscored_queries = 1});
    gb_run_free(&scores);
}

Test(filter, by_a_share_of_the_positive)
{
    expect_relative(8, (const double[]){6, 6.01, -6}, .25, "03");
    expect_relative(8, (const double[]){8, 8.01, 7}, 0, "03");
    /* A share of a negative score alone, -6, would let through what is above the positive. */
    expect_relative(-8, (const double[]){-6, -9.9, -10}, .25, "3");
    expect_relative(0, (const double[]){0, .01, -1}, .25, "03");
}

/* Of two positives and three negatives the teacher knows one and two. */
Test(training_set, what_a_teacher_did_not_score_is_left_out)
{
    gb_training_set set = make((const uint32_t[]){0, 2, 3}, 3);
    gb_status status = {0};
    const gb_hit hits[] = {{3, 1.5}, {4, 9}, {0, 2}};
    gb_run teacher = {0};
    gb_taught found;
    cr_assert(gb_run_add(&teacher, 0, hits, 3, &status));
    gb_training_set_teach(&set, &teacher, 4, &found);
    cr_expect_eq(found.pairs, 5);
    cr_expect_eq(found.missing, 2);
    cr_expect_eq(found.first_passage, 1, "positives are looked at first");
    cr_expect_eq(found.short_queries, 1, "four are drawn, two are there");
    cr_assert_eq(set.count, 1);
    cr_expect_eq(set.queries->positive_count, 1);
    cr_expect_eq(set.passages[set.queries->positive_first], 4);
    cr_expect_eq(set.queries->negative_count, 2);
    cr_expect_eq(set.passages[set.queries->negative_first + 1], 3, "the order stays");
    gb_run_free(&teacher);
    teacher = (gb_run){0};
    gb_training_set_teach(&set, &teacher, 1, &found);
    cr_expect_eq(set.count, 0);
    cr_expect_eq(found.dropped_queries, 1);
    gb_training_set_free(&set);
}

/* A pool of which all but one passage are far below the positive: drawn from two bins of margins it
 * comes up every other time, and in four draws every passage does once. */
Test(training_set, negatives_are_balanced_by_margin)
{
    gb_training_set set = make((const uint32_t[]){0, 2, 3, 5}, 4);
    gb_status status = {0};
    const gb_hit hits[] = {{1, 9}, {4, 9}, {0, 1}, {2, 8}, {3, 1.5}, {5, 0}};
    gb_run teacher = {0};
    cr_assert(gb_run_add(&teacher, 0, hits, 6, &status));
    const gb_finetune_params params = {.seed = 3, .margin_bins = 2};
    uint32_t pool[MOST], rows[MOST] = {1}, first[PASSAGES] = {0};
    finetune_drawer d = {
        .params = &params, .pool = pool, .data = {.set = &set, .teacher = &teacher}};
    enum { EPOCHS = 600 };
    for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
        uint32_t seen[PASSAGES] = {0};
        cr_assert(finetune_draw_balanced(&d, set.queries, epoch, 4, rows, &status));
        for (uint32_t n = 1; n <= 4; n++)
            seen[rows[n]]++;
        cr_expect(seen[0] == 1 && seen[2] == 1 && seen[3] == 1 && seen[5] == 1, "epoch %u", epoch);
        first[rows[1]]++;
    }
    cr_expect(first[2] > EPOCHS / 2 - 60 && first[2] < EPOCHS / 2 + 60, "%u", first[2]);
    for (uint32_t p = 0; p < PASSAGES; p++)
        cr_expect(p == 1 || p == 2 || p == 4 ||
                      (first[p] > EPOCHS / 6 - 50 && first[p] < EPOCHS / 6 + 50),
                  "passage %u: %u", p, first[p]);
    gb_run_free(&teacher);
    gb_training_set_free(&set);
}

/* Passages 2i and 2i + 1 have one text, and so have such queries; query i has positive i. Looking
 * for alike queries at every passage of so large a batch would take minutes. */
Test(training_set, copies_in_a_large_batch)
{
    enum { BATCH = 4096, NEGATIVES = 4, EACH = 1 + NEGATIVES, STEPS = 2 };
    gb_status status = {0};
    uint64_t *texts = gb_alloc(BATCH, sizeof *texts, &status), found = 0;
    gb_training_set set = {.count = BATCH,
                           .queries = gb_alloc(BATCH, sizeof *set.queries, &status),
                           .passages = gb_alloc(BATCH * EACH, sizeof *set.passages, &status)};
    char path[] = "/tmp/gabbro-test-XXXXXX";
    close(mkstemp(path));
    gb_row_writer *writer = gb_row_writer_open(path, 4, &status);
    for (uint32_t i = 0; i < BATCH; i++) {
        cr_assert(gb_row_writer_add(writer, NULL, 0, &status));
        texts[i] = i / 2;
        set.queries[i] = (gb_training_query){i, i * EACH, 1, i * EACH + 1, NEGATIVES};
        for (uint32_t p = 0; p < EACH; p++)
            set.passages[i * EACH + p] = (i + p) % BATCH;
    }
    cr_assert(gb_row_writer_commit(writer, &status), "%s", status.what);
    const gb_text_hashes hashes = {.passages = texts, .queries = texts};
    const gb_tokens tokens = {.passages = gb_row_file_open(path, 4, &status)};
    gb_vocab *vocab = gb_vocab_create(&status);
    cr_assert(tokens.passages && vocab, "%s", status.what);
    const gb_finetune_params params = {.batch = BATCH, .negatives = NEGATIVES, .seed = 3};
    finetune_drawer d = {
        .params = &params,
        .data = {.set = &set, .tokens = &tokens, .vocab = vocab, .copies = &hashes},
        .scoring = gb_scorings[0]};
    cr_assert(finetune_drawer_make(&d, &status), "%s", status.what);
    cr_assert(finetune_count_copies(&d, STEPS, &found, &status), "%s", status.what);
    /* Two queries have all columns of a text for copies, but for their own positive. */
    cr_expect_eq(found, STEPS * 2 * (BATCH * EACH - BATCH / 2));
    finetune_drawer_free(&d);
    gb_vocab_destroy(vocab);
    gb_row_file_close(tokens.passages);
    remove(path);
    gb_training_set_free(&set);
    free(texts);
}

/* Two heaps of points, told apart whatever is drawn first. */
Test(training_set, vectors_are_clustered)
{
    enum { COUNT = 300 }; /* more than one thread looks at */
    float values[COUNT * 2];
    uint32_t labels[COUNT];
    gb_status status = {0};
    for (uint32_t v = 0; v < COUNT; v++) {
        values[2 * v] = (v % 2 ? 10.0f : -10.0f) + (float)(v % 12) / 8;
        values[2 * v + 1] = (float)(v % 3);
    }
    const gb_vectors vectors = {.rows = COUNT, .width = 2, .values = values};
    for (uint64_t seed = 1; seed < 6; seed++) {
        cr_assert(gb_cluster_vectors(&vectors, 2, seed, labels, &status), "%s", status.what);
        for (uint32_t v = 0; v < COUNT; v++)
            cr_expect_eq(labels[v], labels[v % 2], "vector %u, seed %llu", v,
                         (unsigned long long)seed);
        cr_expect_neq(labels[0], labels[1]);
    }
}

/* Hundreds of thousands of vectors take hours, in which a signal must be heeded. */
Test(training_set, clustering_can_be_stopped)
{
    const float values[] = {1, 2, 3, 4};
    const gb_vectors vectors = {.rows = 4, .width = 1, .values = values};
    uint32_t labels[4];
    gb_status status = {0};
    gb_install_signals();
    raise(SIGINT);
    cr_expect_not(gb_cluster_vectors(&vectors, 2, 1, labels, &status));
    cr_expect_eq(status.code, GB_INTERRUPTED, "%s", status.what);
}

/* Every query once an epoch; `whole` batches of an epoch are of one topic at least. */
static void expect_batches_of_one_topic(uint32_t count, uint32_t kinds, uint32_t batch,
                                        uint32_t whole)
{
    enum { ROOM = 50, EPOCHS = 5 };
    uint32_t of[ROOM], mixed = 0, steps = EPOCHS * count / batch;
    gb_status status = {0};
    finetune_topics topics;
    for (uint32_t q = 0; q < count; q++)
        of[q] = q % kinds;
    cr_assert(finetune_topics_make(&topics, of, count, batch, 7, &status), "%s", status.what);
    for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
        uint32_t seen[ROOM] = {0};
        for (uint32_t i = 0; i < count; i++)
            seen[finetune_topics_at(&topics, (uint64_t)epoch * count + i)]++;
        for (uint32_t q = 0; q < count; q++)
            cr_expect_eq(seen[q], 1, "epoch %u, query %u: %u times", epoch, q, seen[q]);
    }
    for (uint32_t step = 0; step < steps; step++) {
        bool same = true;
        for (uint32_t i = 1; i < batch; i++)
            same &= of[finetune_topics_at(&topics, (uint64_t)step * batch + i)] ==
                    of[finetune_topics_at(&topics, (uint64_t)step * batch)];
        mixed += !same;
    }
    cr_expect_leq(mixed, steps - EPOCHS * whole, "%u of %u batches are mixed", mixed, steps);
    finetune_topics_free(&topics);
}

/* But for what whole batches leave over. */
Test(training_set, batches_are_of_one_topic)
{
    expect_batches_of_one_topic(23, 3, 4, 4); /* 8, 8 and 7 queries: five whole batches */
}

/* An epoch that begins within a step needs more queries of no whole batch than there are. */
Test(training_set, batches_are_of_one_topic_where_little_is_left_over)
{
    expect_batches_of_one_topic(42, 2, 5, 7); /* 21 and 21 queries: eight whole batches */
}

/* ---- batches without duplicates ---- */

enum { DRAWN = 60, WIDTH = 3, BATCH = 7 };

/* As one would say it: of those that are left the first that fit, batch by batch. Returns the
 * queries of whole batches. */
static uint32_t fill_slowly(const uint64_t *texts, uint32_t *left, uint32_t *batches)
{
    uint32_t done = 0, filled = BATCH;
    for (uint32_t count = DRAWN; filled == BATCH;) {
        uint32_t kept = 0;
        filled = 0;
        for (uint32_t i = 0; i < count; i++) {
            bool fits = filled < BATCH;
            for (uint32_t b = 0; fits && b < filled * WIDTH * WIDTH; b++)
                fits = texts[left[i] * WIDTH + b % WIDTH] !=
                       texts[batches[done + b / WIDTH / WIDTH] * WIDTH + b / WIDTH % WIDTH];
            if (fits)
                batches[done + filled++] = left[i];
            else
                left[kept++] = left[i];
        }
        count = kept;
        done += filled == BATCH ? BATCH : 0;
    }
    return done;
}

Test(training_set, batches_have_no_text_twice)
{
    uint64_t put_off = 0;
    for (uint32_t seed = 0; seed < 50; seed++) {
        gb_rng rng = gb_rng_make(seed, GB_RNG_TEST, 0, 0);
        gb_status status = {0};
        finetune_distinct x;
        uint32_t left[DRAWN], wanted[DRAWN], seen[DRAWN] = {0};
        cr_assert(finetune_distinct_make(&x, DRAWN, WIDTH, BATCH, &status));
        /* From hardly any copies to batches that cannot be filled. A query may have a text twice.
         */
        for (uint32_t i = 0; i < DRAWN * WIDTH; i++)
            x.texts[i] = (1 + gb_rng_below(&rng, 10 + 20 * seed)) * 0x100000001u;
        gb_rng_order(&rng, x.order, DRAWN);
        memcpy(left, x.order, sizeof left);
        finetune_distinct_fill(&x);
        uint32_t filled = fill_slowly(x.texts, left, wanted);
        cr_expect_eq(x.batches * BATCH, filled, "seed %u", seed);
        cr_expect_arr_eq(x.order, wanted, sizeof *wanted * filled, "seed %u", seed);
        for (uint32_t i = 0; i < DRAWN; i++)
            seen[x.order[i]]++;
        for (uint32_t q = 0; q < DRAWN; q++)
            cr_expect_eq(seen[q], 1, "seed %u, query %u", seed, q);
        put_off += x.put_off;
        finetune_distinct_free(&x);
    }
    cr_expect_gt(put_off, 0);
}
