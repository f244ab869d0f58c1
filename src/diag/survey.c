/* The programs of the self-test on a device that runs nothing: their kernels alone matter. */
#include "selftest.h"

/* What is avoided for a set of kernels; false if the device does not have them. */
static bool variants_of(const gb_device_caps *caps, gb_selftest_column column, uint32_t given,
                        uint32_t *avoid)
{
    *avoid = given;
    switch (column) {
    case GB_SELFTEST_BUFFERS:
        *avoid |= GB_QUIRK_NO_TEXELS;
        return caps->profile == GB_PROFILE_CPU;
    case GB_SELFTEST_PLAIN:
        *avoid = GB_QUIRK_VARIANTS;
        return caps->profile == GB_PROFILE_CPU;
    case GB_SELFTEST_MATRICES:
        return caps->matrix.m;
    case GB_SELFTEST_NV_FORM:
        *avoid |= GB_QUIRK_NO_MATRIX_KHR;
        return caps->matrix.m && caps->matrix.khr_source && gb_shader_find("matmul_matrix");
    case GB_SELFTEST_BFLOAT16:
        return caps->matrix_bf16.m;
    default:
        return true;
    }
}

bool gb_selftest_survey(gb_device *device, gb_status *status)
{
    const gb_device_caps *caps = gb_device_get_caps(device);
    uint32_t given = caps->quirks & GB_QUIRK_TESTED, avoid;
    gb_precision own = caps->precision;
    bool ok = true;
    for (int column = 0; ok && column < GB_SELFTEST_COLUMNS; column++) {
        if (!variants_of(caps, (gb_selftest_column)column, given, &avoid))
            continue;
        gb_device_avoid(device, avoid);
        gb_device_use_precision(device, column == GB_SELFTEST_BFLOAT16   ? GB_BF16
                                        : column >= GB_SELFTEST_MATRICES ? GB_FP16
                                                                         : GB_FP32);
        for (size_t i = 0; ok && i < diag_selftest_case_count(); i++) {
            double worst;
            if (column == GB_SELFTEST_USED || diag_selftest_case_in(i, (gb_selftest_column)column))
                ok = diag_selftest_case_run(device, i, &worst, status);
        }
    }
    gb_device_avoid(device, given);
    gb_device_use_precision(device, own);
    return ok;
}
