/* Device time by shader and label. */
#include "vk/private.h"
#include <stdlib.h>
#include <string.h>

static gb_profile_row *find_row(gb_device *device, const char *name, gb_status *status)
{
    if (!device->profile_index && !(device->profile_index = gb_map_create(status)))
        return NULL;
    uint32_t index = gb_map_get(device->profile_index, name, strlen(name));
    if (index != GB_MAP_NONE)
        return &device->profile[index];
    if (!gb_grow(&device->profile, &device->profile_capacity, device->profile_count + 1,
                 sizeof *device->profile, status) ||
        !gb_map_set(device->profile_index, name, strlen(name), (uint32_t)device->profile_count,
                    status))
        return NULL;
    gb_profile_row *row = &device->profile[device->profile_count++];
    *row = (gb_profile_row){0};
    snprintf(row->name, sizeof row->name, "%s", name);
    return row;
}

bool gb_profile_add(gb_device *device, const char *shader, const char *label, double ms,
                    double flops, double bytes, gb_status *status)
{
    char name[sizeof(((gb_profile_row *)0)->name)];
    snprintf(name, sizeof name, "%s%s%s", shader, label ? " " : "", label ? label : "");
    gb_profile_row *row = find_row(device, name, status);
    if (!row)
        return false;
    row->calls++;
    row->ms += ms;
    row->flops += flops;
    row->bytes += bytes;
    return true;
}

double gb_profile_total_ms(const gb_device *device)
{
    double total = 0;
    for (size_t i = 0; i < device->profile_count; i++)
        total += device->profile[i].ms;
    return total;
}

gb_profile_sum gb_profile_total(const gb_device *device)
{
    gb_profile_sum sum = {0};
    for (size_t i = 0; i < device->profile_count; i++) {
        sum.calls += device->profile[i].calls;
        sum.ms += device->profile[i].ms;
        sum.flops += device->profile[i].flops;
        sum.bytes += device->profile[i].bytes;
    }
    return sum;
}

const char *gb_profile_name(const gb_device *device, size_t row)
{
    return row < device->profile_count ? device->profile[row].name : NULL;
}

/* Longest first; equal times by name, so that the order is never left to chance. */
static int by_time(const void *a, const void *b)
{
    const gb_profile_row *x = *(const gb_profile_row *const *)a;
    const gb_profile_row *y = *(const gb_profile_row *const *)b;
    if (x->ms != y->ms)
        return x->ms < y->ms ? 1 : -1;
    return strcmp(x->name, y->name);
}

void gb_profile_print(const gb_device *device, FILE *out)
{
    if (device->profile_count == 0) {
        fprintf(out, "no profile: %s\n",
                device->adapter.caps.timestamp_bits ? "no dispatch was timed"
                                                    : "the device has no timestamps");
        return;
    }
    const gb_profile_row **rows = gb_alloc(device->profile_count, sizeof *rows, NULL);
    double total = gb_profile_total_ms(device);
    if (!rows)
        return;
    for (size_t i = 0; i < device->profile_count; i++)
        rows[i] = &device->profile[i];
    qsort(rows, device->profile_count, sizeof *rows, by_time);
    fprintf(out, "%-44s %8s %12s %10s %8s %7s\n", "kernel", "calls", "ms", "GFLOP/s", "GB/s",
            "share");
    for (size_t i = 0; i < device->profile_count; i++) {
        const gb_profile_row *r = rows[i];
        double per_ms = r->ms > 0 ? 1e-6 / r->ms : 0; /* to units of 1e9 a second */
        fprintf(out, "%-44s %8llu %12.3f %10.2f %8.2f %6.1f%%\n", r->name,
                (unsigned long long)r->calls, r->ms, r->flops * per_ms, r->bytes * per_ms,
                total > 0 ? 100 * r->ms / total : 0);
    }
    fprintf(out, "%-44s %8s %12.3f\n", "together", "", total);
    free(rows);
}

void gb_profile_reset(gb_device *device)
{
    gb_map_destroy(device->profile_index);
    device->profile_index = NULL;
    device->profile_count = 0;
}

void gb_profile_free(gb_device *device)
{
    gb_profile_reset(device);
    free(device->profile);
}
