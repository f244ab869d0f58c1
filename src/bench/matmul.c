/* Products: squares, and the forward products, gradients and weight gradients of a BERT layer; with
 * operands rounded to half floats and bfloat16 too where the device has cooperative matrices for
 * them. */
#include "private.h"
#include <gabbro/os.h>

#include <stdlib.h>

typedef struct shape {
    gb_matmul_form form; /* NN, NT, TN */
    uint32_t m, n, k;    /* sizes */
} shape;

static const char *form_name(gb_matmul_form form)
{
    return form == GB_NN ? "NN" : form == GB_NT ? "NT" : "TN";
}

static double flops_of(const shape *s)
{
    return 2.0 * s->m * s->n * s->k;
}

/* The same product several times in one program, so that submitting costs little beside it. */
static uint32_t times_in_run(const shape *s)
{
    double count = 2e8 / flops_of(s);
    return count < 1 ? 1 : count > 16 ? 16 : (uint32_t)count;
}

static bool declare(void *context, gb_params *params, gb_status *status)
{
    const shape *s = context;
    bool tn = s->form == GB_TN, nt = s->form == GB_NT;
    return gb_params_add_matrix(params, "a", tn ? s->k : s->m, tn ? s->m : s->k, 1, status) !=
               UINT32_MAX &&
           gb_params_add_matrix(params, "b", nt ? s->n : s->k, nt ? s->k : s->n, 1, status) !=
               UINT32_MAX;
}

static void build(void *context, gb_tape *tape)
{
    const shape *s = context;
    for (uint32_t i = 0; i < times_in_run(s); i++)
        gb_matmul(tape, s->form, gb_tape_param(tape, 0), gb_tape_param(tape, 1));
}

/* ---- OpenBLAS, if it is there ---- */

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 }; /* of the CBLAS interface */

bool bench_blas_open(bench *b, gb_status *status)
{
    static const char hint[] = "apt install libopenblas0";
    *(void **)&b->sgemm = gb_os_function("libopenblas.so.0", "cblas_sgemm");
    return b->sgemm ||
           gb_fail(status, GB_USAGE, "--peer openblas", hint, "its library is not installed");
}

static bool blas_product(const bench *b, const shape *s, bench_times *times, gb_status *status)
{
    bool tn = s->form == GB_TN, nt = s->form == GB_NT;
    size_t size_a = (size_t)s->m * s->k, size_b = (size_t)s->k * s->n;
    float *p = gb_alloc(size_a + size_b + (size_t)s->m * s->n, sizeof *p, status);
    double *seconds = p ? gb_alloc(b->repeats, sizeof *seconds, status) : NULL;
    if (!seconds) {
        free(p);
        return false;
    }
    for (size_t i = 0; i < size_a + size_b; i++)
        p[i] = (float)(i % 17) * .1f - .8f;
    uint32_t count = 0, inner = times_in_run(s);
    double first_s = 0;
    for (uint32_t r = 0; r < BENCH_WARM_UP || !bench_enough(b, count, first_s); r++) {
        double start_s = gb_now_s();
        for (uint32_t i = 0; i < inner; i++)
            b->sgemm(ROW_MAJOR, tn ? TRANSPOSE : NO_TRANSPOSE, nt ? TRANSPOSE : NO_TRANSPOSE,
                     (int)s->m, (int)s->n, (int)s->k, 1, p, (int)(tn ? s->m : s->k), p + size_a,
                     (int)(nt ? s->k : s->n), 0, p + size_a + size_b, (int)s->n);
        if (r >= BENCH_WARM_UP)
            seconds[count++] = (gb_now_s() - start_s) / inner;
        else
            first_s = gb_now_s();
    }
    bench_times blas = {0};
    bench_summarise(seconds, count, &blas);
    times->peer_s = blas.median_s;
    free(seconds);
    free(p);
    return true;
}

/* ---- cases ---- */

static gb_precision precision_of(const bench *b)
{
    return b->device ? gb_device_get_caps(b->device)->precision : GB_FP32;
}

static bool measure(bench *b, void *context, bench_times *times, gb_status *status)
{
    const shape *s = context;
    bench_program program = {
        .declare = declare, .build = build, .context = context, .times = times_in_run(s)};
    return bench_program_measure(b, &program, times, status) &&
           (!b->sgemm || precision_of(b) != GB_FP32 || blas_product(b, s, times, status));
}

static bool run(bench *b, const bench_size *size, const char *what, shape s, gb_status *status)
{
    char name[80];
    const char *precision = gb_precision_name(precision_of(b)), *shown = precision;
    if (precision_of(b) == GB_FP32)
        shown = "";
    const char *space = *shown ? " " : "";
    if (size)
        snprintf(name, sizeof name, "%s %s %s%s%s", size->name, what, form_name(s.form), space,
                 shown);
    else
        snprintf(name, sizeof name, "square %u %s%s%s", s.m, form_name(s.form), space, shown);
    bench_case c = {.name = name,
                    .size = size,
                    .shape =
                        json_pack("{s:s, s:i, s:i, s:i, s:s}", "form", form_name(s.form), "m",
                                  (int)s.m, "n", (int)s.n, "k", (int)s.k, "precision", precision),
                    .flops = flops_of(&s),
                    .bytes = 4.0 * ((double)s.m * s.k + (double)s.k * s.n + (double)s.m * s.n)};
    return bench_case_run(b, &c, measure, &s, status);
}

/* Of a layer with T tokens: y = x W^T (NT), dx = dy W (NN), dW = dy^T x (TN). */
static bool layer(bench *b, const bench_size *size, const char *what, uint32_t out, uint32_t in,
                  gb_status *status)
{
    char name[60];
    uint32_t t = size->rows;
    snprintf(name, sizeof name, "%s forward", what);
    if (!run(b, size, name, (shape){GB_NT, t, out, in}, status))
        return false;
    snprintf(name, sizeof name, "%s gradient", what);
    if (!run(b, size, name, (shape){GB_NN, t, in, out}, status))
        return false;
    snprintf(name, sizeof name, "%s weights", what);
    return run(b, size, name, (shape){GB_TN, out, in, t}, status);
}

static bool all(bench *b, gb_status *status)
{
    for (uint32_t n = 512; n <= 4096; n *= 2) /* 512 mini, 1024 small, the others base */
        for (int form = GB_NN; form <= GB_TN; form++)
            if (b->sizes[n == 512    ? 0
                         : n == 1024 ? 1
                                     : 2] &&
                !run(b, NULL, "square", (shape){(gb_matmul_form)form, n, n, n}, status))
                return false;
    for (size_t i = 0; i < BENCH_SIZES; i++) {
        const bench_size *s = &bench_sizes[i];
        if (b->sizes[i] && !(layer(b, s, "qkv", 3 * s->hidden, s->hidden, status) &&
                             layer(b, s, "out", s->hidden, s->hidden, status) &&
                             layer(b, s, "up", s->ffn, s->hidden, status) &&
                             layer(b, s, "down", s->hidden, s->ffn, status)))
            return false;
    }
    return true;
}

bool bench_matmul(bench *b, gb_status *status)
{
    gb_precision own = precision_of(b);
    bool ok = all(b, status);
    for (int p = GB_FP16; ok && b->device && p <= GB_BF16; p++) {
        gb_precision other = (gb_precision)p;
        if (other == own || !gb_matrix_of(gb_device_get_caps(b->device), other).m)
            continue;
        gb_device_use_precision(b->device, other);
        ok = all(b, status);
        gb_device_use_precision(b->device, own);
    }
    return ok;
}
