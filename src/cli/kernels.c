/* gabbro kernels: what the driver's compiler makes of every kernel. */
#include "cli.h"

#include <gabbro/bench.h>

#include <stdio.h>

static int run(const gb_call *call)
{
    gb_kernels_params params = {.config = call->config, .out = stdout};
    const gb_option options[] = {
        {"size", GB_OPTION_TEXT, &params.sizes, 0, "LIST", "some of mini, small, base (all)"},
        {"tsv", GB_OPTION_TEXT, &params.tsv, 0, "FILE",
         "write a table of each program's kernels, with how often they run"},
        {"device", GB_OPTION_TEXT, &params.device, 0, "NAME",
         "device to look at: index, name, UUID or cpu", .letter = 'd'},
        {0}};
    gb_status status = {0};
    uint32_t wrong = 0;
    int code;
    if (!gb_command_begin(&gb_cli_kernels, options, call, NULL, &code))
        return code;
    gb_log_set_level(GB_LOG_ERROR);
    gb_install_signals();
    bool ok = gb_kernels_run(&params, &wrong, &status);
    code = gb_command_end(&status);
    return ok && wrong ? GB_MISMATCH : code;
}

const gb_command gb_cli_kernels = {
    .name = "kernels",
    .summary = "compile every kernel and say what the driver makes of it",
    .description =
        "Make every pipeline that the self-test, a training step of each objective, scoring and "
        "loss, of generators and of cross-encoders, encoding, search and generation need at some "
        "sizes, on a device that runs nothing, and "
        "print what the driver's compiler says of it: lanes of a subgroup, registers of a lane, "
        "registers spilled to memory, bytes of shared memory, occupancy and estimated cycles, each "
        "in the compiler's own terms (- where it says nothing). Where a device has matrices of "
        "16-bit "
        "floats, programs are made with them too. A kernel that cannot be made is named, with "
        "the reason, and the others follow; so is a program whose sizes are too large for a CPU "
        "driver. "
        "GABBRO_VALIDATION=1 runs it under the validation "
        "layer.\n\n"
        "Estimates of cycles weigh loops by a guess and know nothing of memory: they compare "
        "variants of one kernel on one device. The table of --tsv has a line for each kernel of "
        "each program, with dispatches, workgroups and arithmetic of a step, or of the whole.\n\n"
        "Exit code 0: every kernel was made that fits the device; 1: some were not, or the "
        "validation layer sent "
        "messages; 4: no device.",
    .run = run};
