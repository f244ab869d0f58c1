/* Device time by shader and label. */
#include "vk/private.h"
#include <stdlib.h>
#include <string.h>

static gb_timing_row *find_row(gb_device *device, const char *name, gb_status *status)
{
    if (!device->timing_index && !(device->timing_index = gb_map_create(status)))
        return NULL;
    uint32_t index = gb_map_get(device->timing_index, name, strlen(name));
    if (index != GB_MAP_NONE)
        return &device->profile[index];
    if (!gb_grow(&device->profile, &device->timing_capacity, device->timing_count + 1,
                 sizeof *device->profile, status) ||
        !gb_map_set(device->timing_index, name, strlen(name), (uint32_t)device->timing_count,
                    status))
        return NULL;
    gb_timing_row *row = &device->profile[device->timing_count++];
    *row = (gb_timing_row){0};
    snprintf(row->name, sizeof row->name, "%s", name);
    return row;
}

bool vk_timing_add(gb_device *device, const char *shader, const char *label, double ms,
                   double flops, double bytes, gb_status *status)
{
    char name[sizeof(((gb_timing_row *)0)->name)];
    snprintf(name, sizeof name, "%s%s%s", shader, label ? " " : "", label ? label : "");
    gb_timing_row *row = find_row(device, name, status);
    if (!row)
        return false;
    row->calls++;
    row->ms += ms;
    row->flops += flops;
    row->bytes += bytes;
    return true;
}

double gb_timing_total_ms(const gb_device *device)
{
    double total = 0;
    for (size_t i = 0; i < device->timing_count; i++)
        total += device->profile[i].ms;
    return total;
}

gb_timing_sum gb_timing_total(const gb_device *device)
{
    gb_timing_sum sum = {0};
    for (size_t i = 0; i < device->timing_count; i++) {
        sum.calls += device->profile[i].calls;
        sum.ms += device->profile[i].ms;
        sum.flops += device->profile[i].flops;
        sum.bytes += device->profile[i].bytes;
    }
    return sum;
}

const char *gb_timing_name(const gb_device *device, size_t row)
{
    return row < device->timing_count ? device->profile[row].name : NULL;
}

/* Longest first; equal times by name, so that the order is never left to chance. */
static int by_time(const void *a, const void *b)
{
    const gb_timing_row *x = *(const gb_timing_row *const *)a;
    const gb_timing_row *y = *(const gb_timing_row *const *)b;
    if (x->ms != y->ms)
        return x->ms < y->ms ? 1 : -1;
    return strcmp(x->name, y->name);
}

void gb_timing_print(const gb_device *device, FILE *out)
{
    if (device->timing_count == 0) {
        fprintf(out, "no profile: %s\n",
                device->adapter.caps.timestamp_bits ? "no dispatch was timed"
                                                    : "the device has no timestamps");
        return;
    }
    const gb_timing_row **rows = gb_alloc(device->timing_count, sizeof *rows, NULL);
    double total = gb_timing_total_ms(device);
    if (!rows)
        return;
    for (size_t i = 0; i < device->timing_count; i++)
        rows[i] = &device->profile[i];
    qsort(rows, device->timing_count, sizeof *rows, by_time);
    fprintf(out, "%-44s %8s %12s %10s %8s %7s\n", "kernel", "calls", "ms", "GFLOP/s", "GB/s",
            "share");
    for (size_t i = 0; i < device->timing_count; i++) {
        const gb_timing_row *r = rows[i];
        double per_ms = r->ms > 0 ? 1e-6 / r->ms : 0; /* to units of 1e9 a second */
        fprintf(out, "%-44s %8llu %12.3f %10.2f %8.2f %6.1f%%\n", r->name,
                (unsigned long long)r->calls, r->ms, r->flops * per_ms, r->bytes * per_ms,
                total > 0 ? 100 * r->ms / total : 0);
    }
    fprintf(out, "%-44s %8s %12.3f\n", "together", "", total);
    free(rows);
}

void gb_timing_reset(gb_device *device)
{
    gb_map_destroy(device->timing_index);
    device->timing_index = NULL;
    device->timing_count = 0;
}

void vk_profile_free(gb_device *device)
{
    gb_timing_reset(device);
    free(device->profile);
}
