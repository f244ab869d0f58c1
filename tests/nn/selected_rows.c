/* The last layer computes only rows whose states are read: nothing of a training changes by that
 * but the order of sums. */
#include "tiny.h"

#include <math.h>

#define READ (GB_BUCKET_SIZES - 1) /* size of a bucket: last rows that are read */

/* ---- the list ---- */

static void expect_list(const uint32_t *a, uint32_t a_count, const uint32_t *b, uint32_t b_count,
                        const uint32_t *wanted, uint32_t count)
{
    gb_status status = {0};
    gb_selected_rows list = {0};
    for (int round = 0; round < 2; round++) /* a list is made anew each time */
        MUST(gb_selected_rows_list(&list, a, a_count, b, b_count, &status));
    cr_assert_eq(list.count, count);
    for (uint32_t i = 0; i < count; i++)
        cr_expect_eq(list.rows[i], wanted[i], "row %u is %u, not %u", i, list.rows[i], wanted[i]);
    gb_selected_rows_free(&list);
}

Test(read_rows, are_those_of_both_lists)
{
    expect_list(NULL, 0, NULL, 0, NULL, 0);
    expect_list((uint32_t[]){5}, 1, NULL, 0, (uint32_t[]){5}, 1);
    expect_list((uint32_t[]){0, 8, 11}, 3, (uint32_t[]){2, 3, 8, 10}, 4,
                (uint32_t[]){0, 2, 3, 8, 10, 11}, 6);
    expect_list((uint32_t[]){1, 3}, 2, (uint32_t[]){4, 8, 9}, 3, (uint32_t[]){1, 3, 4, 8, 9}, 5);
}

/* ---- trainings ---- */

typedef struct read_case {
    const char *objective;                 /* by name */
    void (*change)(tiny_params *settings); /* what differs from tiny_settings */
    bool drops;                            /* it needs dropout */
} read_case;

static void masked(tiny_params *s)
{
    s->decoder = TINY_MASKED;
}

static void late_middle(tiny_params *s)
{
    s->skip_from = 2; /* the last layer's states are the head's input: all are read */
}

/* The batch as it would be if all rows were read. */
static bool sample_all(void *self, uint32_t step, gb_bucket *bucket, gb_status *status)
{
    const watched *w = self;
    bool ok = w->inner.sample(w->inner.self, step, bucket, status);
    bucket->size[READ] = bucket->size[0];
    return ok;
}

static void check_case(const tiny *t, gb_device *device, const read_case *c, double dropout)
{
    gb_bert_config config = tiny_config(t, 16, 32, dropout);
    tiny_params settings = tiny_settings();
    settings.common.batch = 14;
    settings.mask_ratio = .15;
    if (c->change)
        c->change(&settings);
    model m;
    model_make(&m, t, &config, c->objective, &settings);
    pass some = compare_pass_make(&m, device, 2, 0);
    cr_expect_lt(some.bucket.size[READ], some.bucket.size[0], "%s computes all rows", c->objective);
    watched w = {.inner = m.task};
    m.task = watched_task(&w);
    m.task.sample = sample_all;
    pass all = compare_pass_make(&m, device, 2, 0);
    for (int l = 0; l < GB_MAX_LOSSES && m.task.loss_names[l]; l++)
        cr_expect_float_eq(some.loss[l], all.loss[l], 1e-6 * fabs(all.loss[l]),
                           "%s: %s is %.9g, not %.9g", c->objective, m.task.loss_names[l],
                           some.loss[l], all.loss[l]);
    gb_reference_run(some.reference);
    double worst = worst_gradient(m.params, some.gradients,
                                  gb_reference_arena(some.reference, GB_ARENA_GRADS));
    cr_expect_leq(worst, 1e-5, "%s: gradients differ by %g", c->objective, worst);
    gb_reference_run(all.reference);
    worst =
        worst_gradient(m.params, some.gradients, gb_reference_arena(all.reference, GB_ARENA_GRADS));
    cr_expect_leq(worst, 1e-5, "%s: gradients differ by %g from those of all rows", c->objective,
                  worst);
    compare_pass_free(&some);
    compare_pass_free(&all);
    model_free(&m);
}

Test(read_rows, gradients_are_those_of_all_rows)
{
    static const read_case cases[] = {
        {"mlm", NULL},    {"condenser", NULL}, {"cocondenser", NULL}, {"cocondenser", late_middle},
        {"cotmae", NULL}, {"cotmae", masked},  {"enhanced", NULL},    {"autoencoding", NULL},
        {"bow", NULL},    {"ict", NULL},       {"prop", NULL},        {"simcse", NULL, true}};
    scratch s = scratch_enter();
    tiny t = tiny_make();
    gb_device *device = tiny_device(GB_USER_TRAIN);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int drop = cases[i].drops; drop < 2; drop++)
            check_case(&t, device, &cases[i], drop ? .1 : 0);
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
}
