/* Writing safetensors: float32 only, and the same bytes for the same tensors. */
#include "folder/internal.h"

#include <stdlib.h>
#include <string.h>

int folder_weights_by_name(const void *a, const void *b)
{
    const gb_weight *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

const gb_weight **folder_sorted_weights(const gb_weight *weights, size_t count, const char *path,
                                        gb_status *status)
{
    const gb_weight **sorted = gb_alloc(count, sizeof *sorted, status);
    if (!sorted)
        return NULL;
    for (size_t i = 0; i < count; i++)
        sorted[i] = &weights[i];
    if (count)
        qsort(sorted, count, sizeof *sorted, folder_weights_by_name);
    for (size_t i = 1; i < count; i++)
        if (strcmp(sorted[i]->name, sorted[i - 1]->name) == 0) {
            gb_fail(status, GB_DATA, path, "give every tensor its own name",
                    "two tensors are called %.120s", sorted[i]->name);
            free(sorted);
            return NULL;
        }
    return sorted;
}

/* ---- runs of values that lie together: the whole tensor, or each of its rows ---- */

static bool is_strided(const gb_weight *weight)
{
    return weight->cols && weight->stride && weight->stride != weight->cols;
}

static uint64_t runs_of(const gb_weight *weight)
{
    return is_strided(weight) ? weight->rows : 1;
}

static uint64_t run_length(const gb_weight *weight)
{
    return is_strided(weight) ? weight->cols : weight->rows * (weight->cols ? weight->cols : 1);
}

static const float *run_at(const gb_weight *weight, uint64_t run)
{
    return run ? weight->data + run * weight->stride : weight->data;
}

bool folder_check_finite(const gb_weight *weight, const char *path, gb_status *status)
{
    for (uint64_t run = 0; run < runs_of(weight); run++) {
        uint64_t length = run_length(weight);
        uint64_t bad = folder_first_unfinite(run_at(weight, run), length);
        if (bad < length)
            return gb_fail(status, GB_DATA, path, "the training diverged; the model is not written",
                           "tensor %s is not finite at value %llu", weight->name,
                           (unsigned long long)(run * length + bad));
    }
    return true;
}

static bool weight_bytes(const gb_weight *weight, uint64_t *bytes)
{
    return !__builtin_mul_overflow(weight->rows, weight->cols ? weight->cols : 1, bytes) &&
           !__builtin_mul_overflow(*bytes, sizeof(float), bytes);
}

/* {"dtype", "shape", "data_offsets"} of a tensor that begins at *offset, which moves behind it. */
static json_t *entry(const gb_weight *weight, uint64_t *offset)
{
    uint64_t bytes, end;
    if (!weight_bytes(weight, &bytes) || __builtin_add_overflow(*offset, bytes, &end) ||
        end > INT64_MAX)
        return NULL;
    json_t *shape = weight->cols
                        ? json_pack("[I, I]", (json_int_t)weight->rows, (json_int_t)weight->cols)
                        : json_pack("[I]", (json_int_t)weight->rows);
    json_t *json = json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F32", "shape", shape, "data_offsets",
                             (json_int_t)*offset, (json_int_t)end);
    *offset = end;
    return json;
}

/* The header's JSON text of weights in their order, padded to a multiple of 8 bytes so that the
 * data are aligned. */
static bool make_header(const gb_weight *const *weights, size_t count, const char *path,
                        gb_text *text, gb_status *status)
{
    json_t *header = json_pack("{s:{s:s}}", "__metadata__", "format", "pt");
    uint64_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        if (!folder_name_is_sound(weights[i]->name) ||
            json_object_set_new(header, weights[i]->name, entry(weights[i], &offset)) != 0) {
            json_decref(header);
            return gb_fail(status, GB_DATA, path,
                           "give a short UTF-8 name and a size that fits memory",
                           "tensor %.120s cannot be described", weights[i]->name);
        }
    }
    char *json = json_dumps(header, JSON_COMPACT);
    json_decref(header);
    if (json) {
        gb_text_append(text, json, strlen(json));
        gb_text_append(text, "        ", (8 - strlen(json) % 8) % 8);
        free(json);
    }
    return (json && !text->failed) || gb_fail_memory(status, "writing a safetensors header");
}

static bool write_all(const char *path, const gb_text *header, const gb_weight *const *weights,
                      size_t count, gb_status *status)
{
    gb_out *out = gb_out_open(path, status);
    if (!out)
        return false;
    FILE *stream = gb_out_stream(out);
    uint64_t length = header->length;
    fwrite(&length, sizeof length, 1, stream);
    fwrite(header->data, 1, header->length, stream);
    for (size_t i = 0; i < count; i++)
        for (uint64_t run = 0; run < runs_of(weights[i]) && !ferror(stream); run++)
            if (run_length(weights[i]))
                fwrite(run_at(weights[i], run), sizeof(float), run_length(weights[i]), stream);
    return gb_out_commit(out, status);
}

bool gb_safetensors_write(const char *path, const gb_weight *weights, size_t count,
                          gb_status *status)
{
    const gb_weight **sorted = folder_sorted_weights(weights, count, path, status);
    if (!sorted)
        return false;
    gb_text header = {0};
    bool ok = make_header(sorted, count, path, &header, status) &&
              write_all(path, &header, sorted, count, status);
    gb_text_free(&header);
    free(sorted);
    return ok;
}
