/* gabbro bench: how fast the device multiplies matrices and makes training steps. */
#include "cli.h"

#include <gabbro/nn.h>

#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#ifdef GABBRO_HAVE_BLAS
#include <cblas.h>
#endif

static const char help[] =
    "usage: gabbro bench matmul|step [--device DEVICE] [--repeats N] [--json FILE]\n\n"
    "  matmul   products of the built-in scale's shapes, beside OpenBLAS where it was built in\n"
    "  step     a coCondenser step of the built-in scale, and an MLM step of 2 layers x 128\n\n"
    "Warm-up is not counted. Times are of the host, from submission to result.\n";

typedef struct bench {
    gb_device *device; /* open */
    uint32_t repeats;  /* timed runs of each case */
    json_t *results;   /* array of what was measured */
} bench;

/* Seconds of the timed runs of one case. */
typedef struct timing {
    double best_s, median_s; /* of the runs */
} timing;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static timing timing_of(double *seconds, uint32_t count)
{
    qsort(seconds, count, sizeof *seconds, by_value);
    return (timing){seconds[0], seconds[count / 2]};
}

/* ---- products ---- */

typedef struct shape {
    const char *what; /* where it occurs */
    gb_form form;     /* NN, NT, TN */
    uint32_t m, n, k; /* sizes */
} shape;

static const char *form_name(gb_form form)
{
    return form == GB_NN ? "NN" : form == GB_NT ? "NT" : "TN";
}

/* The same product several times in one program, so that submitting costs little beside it. */
static uint32_t products_of_run(const shape *s)
{
    double flops = 2.0 * s->m * s->n * s->k, count = 2e8 / flops;
    return count < 1 ? 1 : count > 16 ? 16 : (uint32_t)count;
}

static bool time_runs(gb_exec *exec, uint32_t repeats, timing *out, gb_status *status)
{
    double *seconds = gb_alloc(repeats, sizeof *seconds, status);
    bool ok = seconds != NULL;
    for (uint32_t r = 0; ok && r < repeats + 3; r++) { /* three to warm up */
        uint64_t ticket;
        double start_s = gb_now_s();
        ok = gb_exec_run(exec, &ticket, status) && gb_exec_wait(exec, ticket, status);
        if (r >= 3)
            seconds[r - 3] = gb_now_s() - start_s;
    }
    if (ok)
        *out = timing_of(seconds, repeats);
    free(seconds);
    return ok;
}

static bool device_product(const bench *b, const shape *s, timing *out, gb_status *status)
{
    bool tn = s->form == GB_TN, nt = s->form == GB_NT;
    gb_params *params = gb_params_create(status);
    if (!params)
        return false;
    gb_params_add(params, "a", tn ? s->k : s->m, tn ? s->m : s->k, true, GB_INIT_NORMAL, 1, status);
    gb_params_add(params, "b", nt ? s->n : s->k, nt ? s->k : s->n, true, GB_INIT_NORMAL, 1, status);
    gb_params_freeze(params);
    float *values = gb_alloc(gb_params_floats(params), sizeof *values, status);
    gb_state *state = values ? gb_state_create(b->device, params, false, status) : NULL;
    gb_tape *tape = state ? gb_tape_create(params, "bench", status) : NULL;
    gb_exec *exec = NULL;
    if (tape) {
        gb_params_init(params, 1, values);
        for (uint32_t i = 0; i < products_of_run(s); i++)
            gb_matmul(tape, s->form, gb_tape_param(tape, 0), gb_tape_param(tape, 1));
        if (gb_state_write(state, GB_ARENA_PARAMS, values, status))
            exec = gb_exec_create(state, tape, status);
    }
    bool ok = exec && time_runs(exec, b->repeats, out, status);
    gb_exec_destroy(exec);
    gb_tape_destroy(tape);
    gb_state_destroy(state);
    gb_params_destroy(params);
    free(values);
    return ok;
}

#ifdef GABBRO_HAVE_BLAS
static bool blas_product(const bench *b, const shape *s, timing *out, gb_status *status)
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
    for (uint32_t r = 0; r < b->repeats + 3; r++) {
        double start_s = gb_now_s();
        for (uint32_t i = 0; i < products_of_run(s); i++)
            cblas_sgemm(CblasRowMajor, tn ? CblasTrans : CblasNoTrans,
                        nt ? CblasTrans : CblasNoTrans, (int)s->m, (int)s->n, (int)s->k, 1, p,
                        (int)(tn ? s->m : s->k), p + size_a, (int)(nt ? s->k : s->n), 0,
                        p + size_a + size_b, (int)s->n);
        if (r >= 3)
            seconds[r - 3] = gb_now_s() - start_s;
    }
    *out = timing_of(seconds, b->repeats);
    free(seconds);
    free(p);
    return true;
}
#endif

static bool bench_matmul(bench *b, gb_status *status)
{
    static const shape shapes[] = {
        {"square", GB_NN, 512, 512, 512},       {"square", GB_NT, 512, 512, 512},
        {"square", GB_TN, 512, 512, 512},       {"qkv forward", GB_NT, 1024, 192, 64},
        {"up forward", GB_NT, 2048, 256, 64},   {"down forward", GB_NT, 2048, 64, 256},
        {"up forward", GB_NT, 4096, 256, 64},   {"out gradient", GB_NN, 2048, 64, 64},
        {"up gradient", GB_NN, 2048, 64, 256},  {"down gradient", GB_NN, 2048, 256, 64},
        {"out weights", GB_TN, 64, 64, 2048},   {"up weights", GB_TN, 256, 64, 2048},
        {"down weights", GB_TN, 64, 256, 4096},
    };
    printf("%-14s %-4s %5s %5s %5s  %9s %9s  %9s %6s\n", "product", "form", "m", "n", "k",
           "GFLOP/s", "median", "OpenBLAS", "ratio");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const shape *s = &shapes[i];
        double flops = 2.0 * s->m * s->n * s->k * products_of_run(s);
        timing own;
        if (!device_product(b, s, &own, status))
            return false;
        json_t *row = json_pack("{s:s, s:s, s:i, s:i, s:i, s:f, s:f}", "product", s->what, "form",
                                form_name(s->form), "m", (int)s->m, "n", (int)s->n, "k", (int)s->k,
                                "gflops_best", flops / own.best_s / 1e9, "gflops_median",
                                flops / own.median_s / 1e9);
        printf("%-14s %-4s %5u %5u %5u  %9.2f %9.2f", s->what, form_name(s->form), s->m, s->n, s->k,
               flops / own.best_s / 1e9, flops / own.median_s / 1e9);
#ifdef GABBRO_HAVE_BLAS
        timing blas;
        if (!blas_product(b, s, &blas, status)) {
            json_decref(row);
            return false;
        }
        json_object_set_new(row, "openblas_gflops_best", json_real(flops / blas.best_s / 1e9));
        json_object_set_new(row, "ratio", json_real(blas.best_s / own.best_s));
        printf("  %9.2f %6.2f\n", flops / blas.best_s / 1e9, blas.best_s / own.best_s);
#else
        printf("  %9s %6s\n", "-", "-");
#endif
        json_array_append_new(b->results, row);
    }
    return true;
}

/* ---- steps ---- */

/* A step on random tokens: texts of shortest..longest tokens in turn. */
typedef struct step_case {
    const char *name;           /* for people */
    uint32_t hidden, ffn;       /* of the encoder: 2 layers, 4 heads */
    uint32_t texts;             /* sequences */
    uint32_t shortest, longest; /* tokens of one, [CLS] and [SEP] included */
    bool condenser;             /* with a head of one layer and the contrastive loss */
} step_case;

/* What a step needs open. */
typedef struct step_bench {
    gb_bert_config config;                                                 /* of the encoder */
    gb_params *params;                                                     /* all */
    gb_bert bert;                                                          /* encoder */
    gb_block head;                                                         /* of the Condenser */
    gb_state *state;                                                       /* on the device */
    gb_tape *tape, *adamw;                                                 /* programs */
    gb_exec *exec, *update;                                                /* recorded */
    gb_packed packed;                                                      /* the batch */
    gb_packed_inputs in;                                                   /* its inputs */
    gb_rows_inputs masked, cls;                                            /* picked rows */
    gb_tensor labels, weights, sibling, pair_weights, itself, step_values; /* inputs */
    float *values;                                                         /* parameters */
} step_bench;

#define VOCABULARY 1083 /* as large as that of the built-in world */
#define MASK_EVERY 7    /* one token in seven is masked */

static bool make_batch(step_bench *s, const step_case *c, gb_status *status)
{
    gb_special_ids specials = {.pad = 0, .unk = 1, .cls = 2, .sep = 3, .mask = 4};
    uint32_t ids[512];
    gb_rng rng = gb_rng_make(1, GB_RNG_TEST, 0, 0);
    gb_packed_reset(&s->packed);
    for (uint32_t t = 0; t < c->texts; t++) {
        uint32_t length = c->shortest + t * 5 % (c->longest - c->shortest + 1) - 2;
        for (uint32_t i = 0; i < length; i++)
            ids[i] = 5 + gb_rng_below(&rng, VOCABULARY - 5);
        if (!gb_packed_add(&s->packed, &specials, ids, NULL, length, c->longest, status))
            return false;
    }
    return true;
}

static void build_step(step_bench *s, const step_case *c)
{
    gb_net net = {.tape = s->tape, .eps = 1e-12f, .longest = c->longest};
    uint32_t rows = gb_bucket_rows(s->packed.rows), masked = s->packed.rows / MASK_EVERY;
    s->in = gb_packed_declare(&net, &s->config, rows, c->texts);
    s->masked = gb_rows_declare(&net, masked, rows);
    s->labels = gb_tape_input(s->tape, "labels", GB_U32, masked, 1);
    s->weights = gb_tape_input(s->tape, "weights", GB_F32, masked, 1);
    gb_tensor middle, h = gb_bert_encode(&net, &s->bert, &s->in, 1, &middle);
    gb_tensor loss = gb_bert_mlm_loss(&net, &s->bert, gb_rows_gather(&net, h, &s->masked),
                                      s->labels, s->weights);
    if (c->condenser) {
        s->cls = gb_rows_declare(&net, c->texts, rows);
        s->sibling = gb_tape_input(s->tape, "siblings", GB_U32, c->texts, 1);
        s->pair_weights = gb_tape_input(s->tape, "pair weights", GB_F32, c->texts, 1);
        s->itself = gb_tape_input(s->tape, "diagonal", GB_U32, c->texts, (c->texts + 31) / 32);
        gb_tensor cls = gb_rows_gather(&net, h, &s->cls);
        gb_tensor x = gb_merge_rows(s->tape, middle, cls, s->cls.inverse, s->cls.index);
        x = gb_block_apply(&net, &s->head, &s->in, x);
        loss = gb_add(s->tape, loss,
                      gb_bert_mlm_loss(&net, &s->bert, gb_rows_gather(&net, x, &s->masked),
                                       s->labels, s->weights));
        loss = gb_add(s->tape, loss,
                      gb_softmax_loss(s->tape, gb_matmul(s->tape, GB_NT, cls, cls), s->sibling,
                                      s->pair_weights, s->itself));
    }
    gb_tape_output(s->tape, loss);
    gb_status status = {0};
    gb_backward(s->tape, loss, &status);
}

static bool fill_step(step_bench *s, const step_case *c, gb_status *status)
{
    uint32_t rows[4096];
    if (!gb_packed_fill(s->exec, &s->in, &s->packed, &s->config, 1, 1, status))
        return false;
    for (uint32_t i = 0; i < s->masked.count; i++)
        rows[i] = i * MASK_EVERY + 1;
    if (!gb_rows_fill(s->exec, &s->masked, rows, s->masked.count, status))
        return false;
    uint32_t *labels = gb_exec_input(s->exec, s->labels, status);
    float *weights = labels ? gb_exec_input(s->exec, s->weights, status) : NULL;
    if (!weights)
        return false;
    for (uint32_t i = 0; i < s->masked.count; i++) {
        labels[i] = s->packed.ids[rows[i]];
        weights[(size_t)i * 4] = 1.0f / (float)s->masked.count;
    }
    if (!c->condenser)
        return true;
    if (!gb_rows_fill(s->exec, &s->cls, s->packed.starts, c->texts, status))
        return false;
    uint32_t *sibling = gb_exec_input(s->exec, s->sibling, status);
    float *pair = sibling ? gb_exec_input(s->exec, s->pair_weights, status) : NULL;
    uint32_t *itself = pair ? gb_exec_input(s->exec, s->itself, status) : NULL;
    if (!itself)
        return false;
    uint32_t words = (c->texts + 31) / 32;
    for (uint32_t i = 0; i < c->texts; i++) {
        sibling[i] = i ^ 1;
        pair[(size_t)i * 4] = 1.0f / (float)c->texts;
        for (uint32_t w = 0; w < words; w++)
            itself[i * words + w] = w == i / 32 ? 1u << (i % 32) : 0;
    }
    return true;
}

static bool open_step(step_bench *s, const bench *b, const step_case *c, gb_status *status)
{
    s->config = GB_BERT_BASE;
    s->config.vocab_size = VOCABULARY;
    s->config.hidden_size = c->hidden;
    s->config.layers = 2;
    s->config.heads = 4;
    s->config.intermediate_size = c->ffn;
    s->config.max_positions = c->longest;
    s->config.initializer_range = .05;
    s->config.hidden_dropout = s->config.attention_dropout = 0;
    s->params = gb_params_create(status);
    if (!s->params || !gb_bert_declare(s->params, &s->config, true, &s->bert, status) ||
        (c->condenser &&
         !gb_block_declare(s->params, "condenser.layer.0", &s->config, &s->head, status)))
        return false;
    gb_params_freeze(s->params);
    s->values = gb_alloc(gb_params_floats(s->params), sizeof *s->values, status);
    if (!s->values || !make_batch(s, c, status))
        return false;
    gb_params_init(s->params, 1, s->values);
    if (!(s->state = gb_state_create(b->device, s->params, true, status)) ||
        !gb_state_write(s->state, GB_ARENA_PARAMS, s->values, status) ||
        !(s->tape = gb_tape_create(s->params, c->name, status)) ||
        !(s->adamw = gb_tape_create(s->params, "adamw", status)))
        return false;
    build_step(s, c);
    s->step_values = gb_adamw_input(s->adamw);
    gb_adamw(s->adamw, &(gb_adamw_params){.9f, .999f, 1e-8f, .01f}, s->step_values);
    return (s->exec = gb_exec_create(s->state, s->tape, status)) &&
           (s->update = gb_exec_create(s->state, s->adamw, status));
}

static void close_step(step_bench *s)
{
    gb_exec_destroy(s->exec);
    gb_exec_destroy(s->update);
    gb_tape_destroy(s->tape);
    gb_tape_destroy(s->adamw);
    gb_state_destroy(s->state);
    gb_packed_free(&s->packed);
    gb_bert_free(&s->bert);
    gb_params_destroy(s->params);
    free(s->values);
}

/* Arithmetic of the matrix products of a tape, as emitted for the device. */
static double product_flops(const bench *b, const gb_tape *tape, gb_status *status)
{
    gb_emitter emitter = {.target = gb_target_of(b->device)};
    double flops = 0;
    if (gb_emit_tape(&emitter, tape, false, status))
        for (size_t k = 0; k < emitter.count; k++)
            if (!strncmp(emitter.kernels[k].label, "matmul ", 7))
                flops += emitter.kernels[k].flops;
    free(emitter.kernels);
    return flops;
}

static bool one_step(step_bench *s, const step_case *c, uint32_t step, gb_status *status)
{
    if (!fill_step(s, c, status) || !gb_exec_run(s->exec, NULL, status))
        return false;
    float *values = gb_exec_input(s->update, s->step_values, status);
    uint64_t ticket;
    if (!values)
        return false;
    gb_adamw_fill(&(gb_adamw_params){.9f, .999f, 1e-8f, .01f}, step + 1, 1e-4f, 1, values);
    return gb_exec_run(s->update, &ticket, status) && gb_exec_wait(s->update, ticket, status);
}

static bool time_step(bench *b, const step_case *c, gb_status *status)
{
    step_bench s = {0};
    double *seconds = gb_alloc(b->repeats, sizeof *seconds, status);
    bool ok = seconds && open_step(&s, b, c, status);
    for (uint32_t r = 0; ok && r < b->repeats + 3; r++) {
        double start_s = gb_now_s();
        ok = one_step(&s, c, r, status);
        if (r >= 3)
            seconds[r - 3] = gb_now_s() - start_s;
    }
    double products = ok ? product_flops(b, s.tape, status) : 0;
    if (ok) {
        timing t = timing_of(seconds, b->repeats);
        double flops = gb_exec_flops(s.exec) + gb_exec_flops(s.update);
        printf("%-40s %6u tokens  %8.2f ms (median %8.2f)  %6.2f GFLOP/s, products only %6.2f\n",
               c->name, s.packed.rows, 1e3 * t.best_s, 1e3 * t.median_s, flops / t.best_s / 1e9,
               products / t.best_s / 1e9);
        json_array_append_new(b->results,
                              json_pack("{s:s, s:i, s:f, s:f, s:f, s:f}", "step", c->name, "tokens",
                                        (int)s.packed.rows, "ms_best", 1e3 * t.best_s, "ms_median",
                                        1e3 * t.median_s, "gflops_best", flops / t.best_s / 1e9,
                                        "gflops_products_only", products / t.best_s / 1e9));
    }
    close_step(&s);
    free(seconds);
    return ok;
}

static bool bench_step(bench *b, gb_status *status)
{
    static const step_case cases[] = {
        {"coCondenser, 2+1 layers x 64, 32 pairs", 64, 256, 64, 16, 48, true},
        {"MLM, 2 layers x 64, 32 texts", 64, 256, 32, 16, 48, false},
        {"MLM, 2 layers x 128, 1,024 tokens", 128, 512, 32, 32, 32, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!time_step(b, &cases[i], status))
            return false;
    return true;
}

/* ---- command ---- */

static bool save(const bench *b, const char *what, const char *path, gb_status *status)
{
    const gb_device_caps *caps = gb_device_get_caps(b->device);
    json_t *all =
        json_pack("{s:s, s:s, s:s, s:s, s:i, s:O}", "bench", what, "device", caps->name, "driver",
                  caps->driver, "profile", gb_kernel_profile_name(caps->profile), "repeats",
                  (int)b->repeats, "results", b->results);
    gb_out *out = all ? gb_out_open(path, status) : NULL;
    bool ok =
        out && json_dumpf(all, gb_out_stream(out), JSON_INDENT(1) | JSON_REAL_PRECISION(6)) == 0;
    if (ok)
        fputc('\n', gb_out_stream(out));
    json_decref(all);
    return out && gb_out_commit(out, status) && ok;
}

int gb_cli_bench(int argc, char **argv)
{
    static const struct option long_options[] = {{"device", required_argument, NULL, 'd'},
                                                 {"repeats", required_argument, NULL, 'n'},
                                                 {"json", required_argument, NULL, 'j'},
                                                 {"help", no_argument, NULL, 'h'},
                                                 {0}};
    const char *json = NULL;
    gb_device_params params = {0};
    bench b = {.repeats = 20};
    int option;
    while ((option = getopt_long(argc, argv, "d:n:j:h", long_options, NULL)) != -1) {
        if (option == 'd')
            params.select = optarg;
        else if (option == 'n')
            b.repeats = (uint32_t)strtoul(optarg, NULL, 10);
        else if (option == 'j')
            json = optarg;
        else {
            fputs(help, option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : GB_USAGE;
        }
    }
    const char *what = optind + 1 == argc ? argv[optind] : "";
    bool matmul = !strcmp(what, "matmul");
    if ((!matmul && strcmp(what, "step")) || !b.repeats || b.repeats > 10000) {
        fputs(help, stderr);
        return GB_USAGE;
    }
    gb_status status = {0};
    b.device = gb_device_open(&params, &status);
    b.results = json_array();
    if (b.device) {
        const gb_device_caps *caps = gb_device_get_caps(b.device);
        printf("device: %s, %s, %s kernels\n", caps->name, caps->driver,
               gb_kernel_profile_name(caps->profile));
    }
    bool ok = b.device && (matmul ? bench_matmul(&b, &status) : bench_step(&b, &status)) &&
              (!json || save(&b, what, json, &status));
    json_decref(b.results);
    gb_device_close(b.device);
    if (!ok)
        gb_status_print(&status);
    return ok ? 0 : (int)status.code;
}
