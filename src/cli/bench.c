/* gabbro bench: how fast the device does what training, encoding and searching consist of. */
#include "cli.h"

#include <gabbro/bench.h>

#include <stdio.h>

static int run(const gb_call *call)
{
    static const char *const peers[] = {"openblas", NULL};
    gb_bench_params params = {.config = call->config, .repeats = 20, .seconds = 5, .out = stdout};
    uint32_t peer = GB_OPEN;
    const gb_option options[] = {
        {"size", GB_OPTION_TEXT, &params.sizes, 0, "LIST",
         "some of mini, small, base (default: mini,small on a CPU device, else all)"},
        {"only", GB_OPTION_TEXT, &params.only, 0, "TEXT", "only cases whose name contains it"},
        {"texts", GB_OPTION_U32, &params.texts, 0, NULL,
         "texts of a training step, an even number (default: those of the size; growth has its "
         "own)",
         .min = 2, .max = 4096},
        {"repeats", GB_OPTION_U32, &params.repeats, 0, NULL,
         "timed executions of a case at most; two more warm up", .letter = 'n', .min = 1,
         .max = 10000},
        {"seconds", GB_OPTION_REAL, &params.seconds, 0, NULL,
         "seconds of a case's timed executions at most; a case of which one execution would take "
         "longer is left out and named",
         .min = 1e-3, .max = 1e6},
        {"kernels", GB_OPTION_FLAG, &params.kernels, 0, NULL,
         "below each case what its kernels take, the longest first"},
        {"peer", GB_OPTION_CHOICE, &peer, 0, "NAME",
         "matrix products beside another library, if it is installed", peers},
        {"device", GB_OPTION_TEXT, &params.device, 0, "NAME",
         "device to measure: index, name, UUID or cpu", .letter = 'd'},
        {"json", GB_OPTION_TEXT, &params.json, 0, "FILE", "write everything as JSON",
         .letter = 'j'},
        {"dry-run", GB_OPTION_FLAG, &params.dry_run, 0, NULL,
         "list the cases, measure nothing; with --json their sizes"},
        {0}};
    gb_words parts = {0};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_bench, options, call, &parts, &code))
        return code;
    params.openblas = peer != GB_OPEN;
    params.parts = parts.items;
    params.part_count = parts.count;
    gb_log_set_level(GB_LOG_WARN);
    gb_install_signals();
    gb_bench_run(&params, &status);
    return gb_command_end(&status);
}

const gb_command gb_cli_bench = {
    .name = "bench",
    .summary = "measure what training, encoding, searching and generating consist of",
    .operands = "[PART...]",
    .operands_max = 16,
    .description =
        "Parts (all of them without any):\n"
        "  matmul      matrix products in all forms: square, and those of a BERT layer\n"
        "  attention   forward, and with its gradient, texts of 32 to 512 tokens\n"
        "  bandwidth   layer norm, AdamW, copies\n"
        "  loss        vocabulary heads and contrastive losses, with gradients\n"
        "  scores      late interaction and term weights, with gradients\n"
        "  step        whole training steps of objectives and of fine-tuning\n"
        "  encode      vectors of texts\n"
        "  search      exact search of vectors\n"
        "  generate    texts by language models with random weights\n"
        "  growth      steps of 1,024 to 65,536 tokens, searches in 10,000 to 640,000\n"
        "              passages: rates that stay mean that cost grows as it should\n\n"
        "Columns: \"ms\" is the median of the wall time, from the call to the result; \"spread\" "
        "is the distance between the quartiles, of the median; \"device ms\" is the sum of the "
        "kernels' times, measured apart, and \"share\" what that is of the wall time: what is "
        "missing to 100% is the host, or copies; above 100% kernels overlap. GFLOP/s and GB/s are "
        "of device time where there is one, and of wall time for step, encode, search and "
        "generate. \"ceiling\" is the share of the "
        "least time that the best product and a large copy, measured at the start, would allow.",
    .run = run};
