/* Numbers of vectors in files: float32, float16, or int8 with a factor for each row. */
#include <gabbro/rows.h>

#include <math.h>
#include <string.h>

const char *const gb_number_names[] = {"float32", "float16", "int8", NULL};

uint32_t gb_number_bytes(gb_number kind)
{
    return kind == GB_NUMBER_FLOAT32 ? 4 : kind == GB_NUMBER_FLOAT16 ? 2 : 1;
}

static bool to_halves(const float *row, uint32_t width, void *out, const char *where,
                      gb_status *status)
{
    for (uint32_t i = 0; i < width; i++) {
        float value = row[i]; /* out may be where the row is */
        uint16_t half = gb_half_of(value);
        if ((half & 0x7fff) >= 0x7c00)
            return gb_fail(status, GB_DATA, where, "write them as float32",
                           "the value %g is beyond the largest float16", (double)value);
        memcpy((char *)out + 2 * (size_t)i, &half, sizeof half);
    }
    return true;
}

static float to_int8(const float *row, uint32_t width, void *out)
{
    int8_t *small = out;
    float largest = 0;
    for (uint32_t i = 0; i < width; i++)
        largest = fmaxf(largest, fabsf(row[i]));
    float factor = largest / 127;
    for (uint32_t i = 0; i < width; i++)
        small[i] = (int8_t)(factor > 0 ? lrintf(row[i] / factor) : 0);
    return factor;
}

/* As int8, what is not finite would be 0. */
static bool check_finite(const float *row, uint32_t width, const char *where, gb_status *status)
{
    for (uint32_t i = 0; i < width; i++)
        if (!isfinite(row[i]))
            return gb_fail(status, GB_DATA, where, "look at the model that made the vectors",
                           "a vector has the number %g", (double)row[i]);
    return true;
}

bool gb_number_pack(gb_number kind, const float *row, uint32_t width, void *out, float *factor,
                    const char *where, gb_status *status)
{
    if (kind == GB_NUMBER_FLOAT16)
        return to_halves(row, width, out, where, status);
    if (kind == GB_NUMBER_INT8 && !check_finite(row, width, where, status))
        return false;
    if (kind == GB_NUMBER_INT8)
        *factor = to_int8(row, width, out);
    else
        memmove(out, row, (size_t)width * sizeof *row);
    return true;
}

/* Number `index` of a packed vector. */
static float unpacked(gb_number kind, const void *packed, uint32_t index, float factor)
{
    uint16_t half;
    float value;
    if (kind == GB_NUMBER_INT8)
        return (float)((const int8_t *)packed)[index] * factor;
    if (kind == GB_NUMBER_FLOAT16) {
        memcpy(&half, (const char *)packed + 2 * (size_t)index, sizeof half);
        return gb_half_value(half);
    }
    memcpy(&value, (const char *)packed + 4 * (size_t)index, sizeof value);
    return value;
}

void gb_rounding_add(gb_rounding *rounding, gb_number kind, const float *row, uint32_t width,
                     const void *packed, float factor)
{
    double length = 0, lost = 0;
    for (uint32_t i = 0; i < width; i++) {
        double value = row[i], off = (double)unpacked(kind, packed, i, factor) - value;
        rounding->number = fmax(rounding->number, fabs(off));
        length += value * value;
        lost += off * off;
    }
    if (length > 0)
        rounding->vector = fmax(rounding->vector, sqrt(lost / length));
}

void gb_number_header(gb_number kind, uint64_t rows, uint32_t width, char header[GB_NPY_HEADER])
{
    if (kind == GB_NUMBER_FLOAT16)
        gb_npy_half_header(rows, width, header);
    else if (kind == GB_NUMBER_INT8)
        gb_npy_int8_header(rows, width, header);
    else
        gb_npy_header(rows, width, header);
}
