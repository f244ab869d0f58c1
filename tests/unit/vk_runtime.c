/* The Vulkan runtime on whatever device there is (lavapipe at the least), under the validation
 * layer where it is installed. Each test runs in a process of its own, so it may set variables. */
#include "vk_help.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- a small job: y = 0, y += 2x twice, z = y; each item needs the one before ---- */

enum { N = 1000, SLOT = 4096 };

typedef struct test_job {
    gb_buffer *buffer;   /* x, y and z in slots */
    gb_item items[4];    /* fill, axpy, axpy, copy */
    gb_program *program; /* of the items */
} test_job;

static gb_item axpy(gb_binding x, gb_binding y, float a)
{
    gb_item item = {.kind = GB_ITEM_DISPATCH,
                    .barrier_before = true,
                    .label = "axpy",
                    .bind = {x, y},
                    .push_bytes = 8,
                    .grid = {(N + 31) / 32, 1, 1},
                    .flops = 2.0 * N,
                    .bytes = 12.0 * N};
    memcpy(item.push, &(uint32_t){N}, 4);
    memcpy(item.push + 4, &a, 4);
    return item;
}

static bool job_create(test_job *job, gb_device *device, gb_status *status)
{
    uint32_t spec[] = {32, 0};
    *job = (test_job){0};
    job->buffer = gb_buffer_create(device, GB_BUFFER_DEVICE, 3 * SLOT, "test", status);
    gb_pipeline *pipeline = gb_pipeline_get(device, "test_axpy", spec, 2, status);
    if (!job->buffer || !pipeline)
        return false;
    gb_binding x = {job->buffer, 0, 4 * N}, y = {job->buffer, SLOT, 4 * N},
               z = {job->buffer, 2 * SLOT, 4 * N};
    job->items[0] = (gb_item){.kind = GB_ITEM_FILL, .label = "zero", .bind = {y}};
    job->items[1] = job->items[2] = axpy(x, y, 2);
    job->items[1].pipeline = job->items[2].pipeline = pipeline;
    job->items[3] = (gb_item){.kind = GB_ITEM_COPY, .barrier_before = true, .bind = {y, z}};
    job->program = gb_program_create(device, job->items, 4, status);
    return job->program;
}

static void job_destroy(test_job *job)
{
    gb_program_destroy(job->program);
    gb_buffer_destroy(job->buffer);
}

/* Upload x, run `times` times, download z. */
static bool job_run(test_job *job, gb_device *device, int times, float results[N],
                    gb_status *status)
{
    float values[N];
    for (int i = 0; i < N; i++)
        values[i] = (float)i;
    bool ok = gb_upload(device, job->buffer, 0, values, sizeof values, status);
    for (int i = 0; ok && i < times; i++)
        ok = gb_program_submit(job->program, status) != 0;
    return ok && gb_download(device, job->buffer, 2 * SLOT, results, N * sizeof results[0], status);
}

static void check_results(const float results[N])
{
    for (int i = 0; i < N; i++)
        cr_assert_eq(results[i], 4 * (float)i, "result %d is %g", i, (double)results[i]);
}

/* The whole job on one device; returns the number of submissions of one run. */
static size_t run_job(gb_device *device)
{
    gb_status status = {0};
    test_job job;
    float results[N];
    CHECK(job_create(&job, device, &status));
    CHECK(job_run(&job, device, 3, results, &status));
    check_results(results);
    size_t submissions = gb_program_submissions(job.program);
    job_destroy(&job);
    return submissions;
}

/* ---- programs ---- */

Test(vk_runtime, program_runs_and_is_replayed)
{
    gb_device *device = open_device(false);
    cr_assert_eq(run_job(device), 1);
    close_device(device);
}

Test(vk_runtime, program_is_split_by_cost_and_still_right)
{
    setenv("GABBRO_SUBMIT_MS", "0", 1);
    setenv("GABBRO_BARRIERS", "full", 1);
    gb_device *device = open_device(false);
    cr_assert_eq(run_job(device), 4);
    close_device(device);
}

Test(vk_runtime, dispatch_is_split_that_takes_too_long)
{
    setenv("GABBRO_SUBMIT_MS", "0.00001", 1);
    gb_device *device = open_device(true);
    cr_assert_gt(run_job(device), 4);
    close_device(device);
}

Test(vk_runtime, smallest_limits_and_staging)
{
    setenv("GABBRO_LIMITS", "min", 1);
    gb_status status = {0};
    gb_device *device = open_device(false);
    const gb_device_caps *caps = gb_device_get_caps(device);
    cr_assert_leq(caps->max_binding_bytes, (uint64_t)1 << 27);
    cr_assert_leq(caps->max_workgroup, 128);
    cr_assert_leq(caps->max_shared_bytes, 16384);
    cr_assert_not(caps->subgroup_ops & GB_SUBGROUP_SHUFFLE);
    uint32_t big[] = {256, 0};
    cr_assert_null(gb_pipeline_get(device, "test_axpy", big, 2, &status));
    cr_assert_eq(status.code, GB_DEVICE);
    cr_assert(strstr(status.what, "256 x 1 x 1"), "%s", status.what);
    run_job(device);
    close_device(device);
}

/* More bytes than both halves of the staging memory together, at an odd place. */
Test(vk_runtime, long_transfers_through_staging)
{
    const uint64_t size = 2 * GB_STAGING_BYTES + GB_STAGING_BYTES / 2 + 4, offset = 12;
    gb_status status = {0};
    setenv("GABBRO_LIMITS", "min", 1);
    gb_device *device = open_device(false);
    gb_buffer *buffer = gb_buffer_create(device, GB_BUFFER_DEVICE, size + offset, "long", &status);
    CHECK(buffer);
    cr_assert_null(gb_buffer_map(buffer));
    uint32_t *there = malloc(size), *back = calloc(1, size);
    for (uint32_t i = 0; i < size / 4; i++)
        there[i] = i * 2654435761u;
    CHECK(gb_upload(device, buffer, offset, there, size, &status));
    CHECK(gb_download(device, buffer, offset, back, size, &status));
    cr_assert_arr_eq(there, back, size);
    cr_assert_not(gb_upload(device, buffer, offset + 4, there, size, &status));
    cr_assert_eq(status.code, GB_INTERNAL);
    free(there);
    free(back);
    gb_buffer_destroy(buffer);
    close_device(device);
}

Test(vk_runtime, bad_items_are_refused)
{
    gb_device *device = open_device(false);
    test_job job;
    gb_status status = {0};
    CHECK(job_create(&job, device, &status));
    const char *reasons[] = {"reaches beyond", "not aligned", "grid",       "no pipeline",
                             "push",           "sizes",       "onto itself"};
    for (int i = 0; i < 7; i++) {
        gb_item item = job.items[i < 5 ? 1 : 3];
        switch (i) {
        case 0:
            item.bind[1].size = 3 * SLOT;
            break;
        case 1:
            item.bind[1].offset = SLOT + 4;
            break;
        case 2:
            item.grid[1] = 0;
            break;
        case 3:
            item.pipeline = NULL;
            break;
        case 4:
            item.push_bytes = GB_PUSH_BYTES + 4;
            break;
        case 5:
            item.bind[1].size = 8;
            break;
        case 6:
            item.bind[1] = item.bind[0];
            break;
        }
        status = (gb_status){0};
        cr_assert_null(gb_program_create(device, &item, 1, &status));
        cr_assert_eq(status.code, GB_INTERNAL);
        cr_assert(strstr(status.what, reasons[i]), "%d: %s", i, status.what);
    }
    job_destroy(&job);
    close_device(device);
}

/* ---- device ---- */

Test(vk_runtime, selection)
{
    gb_device_caps *caps = NULL;
    size_t count = 0;
    gb_status status = {0};
    CHECK(gb_device_list(NULL, &caps, &count, &status));
    if (count == 0)
        cr_skip_test("skipped: no device");
    char *by_default = identity_of(NULL, &status);
    CHECK(by_default);
    char *by_uuid = identity_of(caps[0].uuid, &status);
    char *by_index = identity_of("0", &status);
    cr_assert_str_eq(by_uuid, by_index);
    cr_assert(strstr(by_index, caps[0].name) && strstr(by_index, "profile"), "%s", by_index);
    setenv("GABBRO_PROFILE", caps[0].type == GB_DEVICE_CPU ? "scalar" : "cpu", 1);
    char *forced = identity_of(NULL, &status);
    cr_assert_str_neq(forced, by_default);
    free(by_default);
    free(by_uuid);
    free(by_index);
    free(forced);
    free(caps);
}

Test(vk_runtime, selection_errors)
{
    static const char *const wrong[] = {"no such card", "77",
                                        "00000000-0000-0000-0000-000000000000"};
    gb_status status;
    free(identity_of(NULL, &status));
    for (size_t i = 0; i < 3; i++) {
        status = (gb_status){0};
        setenv("GABBRO_DEVICE", wrong[i], 1);
        cr_assert_null(open_plain(&status));
        cr_assert_eq(status.code, GB_DEVICE);
        cr_assert(strstr(status.what, wrong[i]) || strstr(status.what, "no Vulkan"), "%s",
                  status.what);
    }
    unsetenv("GABBRO_DEVICE");
    static const char *const variables[] = {"GABBRO_PROFILE", "GABBRO_QUIRKS", "GABBRO_LIMITS"};
    for (size_t i = 0; i < 3; i++) {
        status = (gb_status){0};
        setenv(variables[i], "nonsense", 1);
        cr_assert_null(open_plain(&status));
        cr_assert_eq(status.code, GB_USAGE);
        cr_assert_str_eq(status.where, variables[i]);
        unsetenv(variables[i]);
    }
}

/* A loader that is older than the driver: what is core of a later Vulkan is asked for as
 * extensions, for it has no entry points then. */
Test(vk_runtime, older_loader)
{
    gb_status status = {0};
    gb_adapter *adapters = NULL;
    uint32_t count = 0;
    gb_instance *instance = vk_instance_create(NULL, &status);
    CHECK(instance);
    instance->api_version = VK_API_VERSION_1_1;
    CHECK(vk_adapters_list(instance, &adapters, &count, &status));
    for (uint32_t i = 0; i < count; i++) {
        bool extension = false;
        for (uint32_t e = 0; e < adapters[i].extension_count; e++)
            extension |=
                !strcmp(adapters[i].extensions[e], VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);
        cr_expect_not(adapters[i].core12 || adapters[i].core13);
        cr_expect_eq(adapters[i].caps.usable, extension, "%s", adapters[i].caps.reason);
    }
    free(adapters);
    vk_instance_destroy(instance);
}

Test(vk_runtime, no_driver)
{
    gb_status status = {0};
    setenv("VK_ICD_FILENAMES", "/nonexistent.json", 1);
    setenv("VK_DRIVER_FILES", "/nonexistent.json", 1);
    cr_assert_null(open_plain(&status));
    cr_assert_eq(status.code, GB_DEVICE);
    cr_assert(strstr(status.hint, "mesa-vulkan-drivers"), "%s", status.hint);
}

Test(vk_runtime, quirks_can_be_forced)
{
    gb_status status = {0};
    setenv("GABBRO_QUIRKS", "no_subgroups,no_fp16,small_submits,-small_submits,-as_stored", 1);
    setenv("GABBRO_PROFILE", "scalar", 1); /* the cpu kernels have needs of their own */
    gb_device *device = open_device(false);
    const gb_device_caps *caps = gb_device_get_caps(device);
    char text[256];
    gb_quirks_text(NULL, caps->quirks, text, sizeof text);
    cr_assert_str_eq(text, "no_subgroups,no_fp16");
    cr_assert_eq(caps->subgroup_ops & GB_SUBGROUP_SHUFFLE, 0);
    cr_assert_not(caps->fp16);
    char *identity = identity_of(NULL, &status);
    cr_assert(strstr(identity, text), "%s", identity);
    free(identity);
    close_device(device);
}

/* ---- validation ---- */

/* Silence proves nothing unless the layer is known to speak. */
Test(vk_runtime, validation_layer_speaks)
{
    expect_messages();
    gb_device *device = open_device(false);
    if (!gb_device_validating(device))
        cr_skip_test("skipped: the validation layer is not installed");
    VkBuffer buffer = VK_NULL_HANDLE;
    VkBufferCreateInfo empty = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    if (vkCreateBuffer(device->handle, &empty, NULL, &buffer) == VK_SUCCESS)
        vkDestroyBuffer(device->handle, buffer, NULL);
    cr_assert_geq(gb_device_validation_count(device), 1);
    gb_device_close(device);
}

/* The barriers of programs are what keeps synchronisation validation silent: without one before
 * the copy of what was just filled it speaks. */
Test(vk_runtime, missing_barrier_is_noticed)
{
    expect_messages();
    gb_status status = {0};
    setenv("GABBRO_VALIDATION", "sync", 1);
    gb_device *device = open_device(false);
    if (!gb_device_validating(device))
        cr_skip_test("skipped: the validation layer is not installed");
    run_job(device);
    cr_assert_eq(gb_device_validation_count(device), 0);
    gb_buffer *buffer = gb_buffer_create(device, GB_BUFFER_DEVICE, 2 * SLOT, "test", &status);
    CHECK(buffer);
    gb_item items[] = {
        {.kind = GB_ITEM_FILL, .bind = {{buffer, 0, SLOT}}},
        {.kind = GB_ITEM_COPY, .bind = {{buffer, 0, SLOT}, {buffer, SLOT, SLOT}}},
    };
    gb_program *program = gb_program_create(device, items, 2, &status);
    CHECK(program);
    cr_assert_geq(gb_device_validation_count(device), 1);
    gb_program_destroy(program);
    gb_buffer_destroy(buffer);
    gb_device_close(device);
}

/* ---- pipelines ---- */

Test(vk_runtime, shader_table_is_sorted_and_hashed)
{
    char one[GB_HASH_SIZE], two[GB_HASH_SIZE];
    for (size_t i = 1; i < gb_shader_binary_count; i++)
        cr_assert_lt(strcmp(gb_shader_binaries[i - 1].name, gb_shader_binaries[i].name), 0);
    for (size_t i = 0; i < gb_shader_binary_count; i++)
        cr_assert_eq(gb_shader_find(gb_shader_binaries[i].name), &gb_shader_binaries[i]);
    cr_assert_null(gb_shader_find("no such shader"));
    gb_shaders_hash(GB_USER_ALL, one);
    gb_shaders_hash(GB_USER_ALL, two);
    cr_assert_eq(strlen(one), 64);
    cr_assert_str_eq(one, two);
    gb_shaders_hash(GB_USER_TRAIN, two);
    cr_assert_str_neq(one, two);
    gb_shaders_hash(GB_USER_TRAIN | GB_USER_SEARCH, one);
    cr_assert_str_neq(one, two);
}

Test(vk_runtime, runs_only_kernels_of_its_users)
{
    gb_status status = {0};
    gb_device_params params = params_now();
    params.users = GB_USER_SEARCH;
    gb_device *device = gb_device_open(&params, &status);
    if (!device)
        cr_skip_test("skipped: %s", status.what);
    uint32_t spec[] = {32, 0};
    cr_expect_null(gb_pipeline_get(device, "test_axpy", spec, 2, &status));
    cr_expect_eq(status.code, GB_INTERNAL);
    gb_device_close(device);
}

Test(vk_runtime, local_size_from_spirv)
{
    const gb_shader_binary *shader = gb_shader_find("test_axpy");
    uint32_t size[3] = {0}, spec[] = {48};
    cr_assert(vk_spirv_local_size(shader->words, shader->word_count, spec, 1, size));
    cr_assert(size[0] == 48 && size[1] == 1 && size[2] == 1);
    cr_assert(vk_spirv_local_size(shader->words, shader->word_count, NULL, 0, size));
    cr_assert_eq(size[0], 1);
    cr_assert_not(vk_spirv_local_size(shader->words, 20, NULL, 0, size));
}

static vk_subgroup_use subgroup_use(const char *name)
{
    const gb_shader_binary *shader = gb_shader_find(name);
    return shader ? vk_spirv_subgroup_use(shader->words, shader->word_count)
                  : VK_SUBGROUPS_OF_MATRICES; /* what only newer compilers build */
}

Test(vk_runtime, subgroup_use_from_spirv)
{
    cr_expect_eq(subgroup_use("matmul_scalar"), VK_SUBGROUPS_UNSEEN);
    cr_expect_eq(subgroup_use("matmul_cpu"), VK_SUBGROUPS_SEEN);
    cr_expect_eq(subgroup_use("attention_forward_texel"), VK_SUBGROUPS_SEEN);
    cr_expect_eq(subgroup_use("matmul_matrix"), VK_SUBGROUPS_OF_MATRICES);
    cr_expect_eq(subgroup_use("matmul_matrix_khr"), VK_SUBGROUPS_OF_MATRICES);
    cr_expect_eq(subgroup_use("attention_forward_matrix"), VK_SUBGROUPS_OF_MATRICES);
}

Test(vk_runtime, pipelines_are_shared_and_specialised)
{
    gb_status status = {0};
    gb_device *device = open_device(false);
    uint32_t a[] = {32, 0}, b[] = {64, 0};
    gb_pipeline *first = gb_pipeline_get(device, "test_axpy", a, 2, &status);
    CHECK(first);
    cr_assert_eq(gb_pipeline_get(device, "test_axpy", a, 2, &status), first);
    cr_assert_neq(gb_pipeline_get(device, "test_axpy", b, 2, &status), first);
    cr_assert_null(gb_pipeline_get(device, "no_such_shader", a, 2, &status));
    cr_assert_eq(status.code, GB_INTERNAL);
    close_device(device);
}

Test(vk_runtime, damaged_pipeline_cache_is_replaced)
{
    char folder[] = "/tmp/gabbro-cache-XXXXXX";
    gb_status status = {0};
    size_t length = 0;
    cr_assert(mkdtemp(folder));
    setenv("XDG_CACHE_HOME", folder, 1);
    gb_device *device = open_device(false);
    run_job(device);
    char *path = gb_strdup(device->cache_path, &status);
    close_device(device);
    char *sound = gb_read_file(path, &length, &status);
    CHECK(sound);
    cr_assert_gt(length, GB_HASH_SIZE);

    sound[length - 1] ^= 1; /* one bit */
    CHECK(gb_write_file(path, sound, length, &status));
    for (int round = 0; round < 2; round++) {
        device = open_device(false);
        run_job(device);
        close_device(device);
        char *again = gb_read_file(path, &length, &status), hex[GB_HASH_SIZE];
        CHECK(again);
        gb_hash_bytes(again + GB_HASH_SIZE, length - GB_HASH_SIZE, hex);
        cr_assert_eq(memcmp(hex, again, 64), 0);
        free(again);
        CHECK(gb_write_file(path, "short", 5, &status));
    }
    free(sound);
    free(path);
    CHECK(gb_remove_tree(folder, &status));
}

/* ---- profile ---- */

Test(vk_runtime, profile_counts_and_prints)
{
    gb_device *device = open_device(false);
    char *text = NULL;
    size_t length = 0;
    run_job(device);
    gb_device_set_timing(device, true);
    run_job(device);
    FILE *out = open_memstream(&text, &length);
    gb_timing_print(device, out);
    fclose(out);
    if (gb_device_get_caps(device)->timestamp_bits) {
        unsigned long long calls = 0;
        const char *row = strstr(text, "test_axpy axpy");
        cr_assert(row, "%s", text);
        cr_assert_eq(sscanf(row + strlen("test_axpy axpy"), "%llu", &calls), 1);
        cr_assert_eq(calls, 6); /* two dispatches, three runs */
        cr_assert_gt(gb_timing_total_ms(device), 0);
        gb_timing_reset(device);
        cr_assert_eq(gb_timing_total_ms(device), 0);
    } else {
        cr_assert(strstr(text, "no timestamps"), "%s", text);
    }
    free(text);
    close_device(device);
}

/* ---- failures ---- */

/* Every Vulkan call and allocation of a whole job fails once: always a clear error, never a crash
 * or a leak. */
Test(vk_runtime, every_call_may_fail)
{
    bool done = false;
    int n = 1;
    expect_messages();
    setenv("GABBRO_LIMITS", "min", 1); /* staging has more calls */
    for (; !done && n < 2000; n++) {
        gb_status status = {0};
        test_job job = {0};
        float results[N];
        gb_fault_arm((uint64_t)n);
        gb_device_params params = params_now();
        params.profile = true;
        gb_device *device = gb_device_open(&params, &status);
        if (!device && n == 1 && status.code == GB_DEVICE)
            cr_skip_test("skipped: %s", status.what);
        bool ok = device && job_create(&job, device, &status) &&
                  job_run(&job, device, 2, results, &status);
        if (ok) /* some failures are survived: another kind of memory is tried */
            check_results(results);
        else
            cr_assert(status.code == GB_MEMORY && status.what[0], "call %d: code %d", n,
                      status.code);
        done = gb_fault_left() > 0;
        gb_fault_arm(0);
        cr_assert(ok || !done);
        job_destroy(&job);
        gb_device_close(device);
    }
    cr_assert_gt(n, 40);
    cr_assert(done);
}

/* ---- rounding to bfloat16 ---- */

/* The nearest, of two as near the even one; by arithmetic, where the shader works on bits. */
static uint32_t nearest_bfloat16(float value)
{
    uint32_t bits, down, up;
    memcpy(&bits, &value, 4);
    down = bits & 0xffff0000;
    up = down + 0x10000; /* away from zero; infinity behind the largest */
    float low, high;
    memcpy(&low, &down, 4);
    memcpy(&high, &up, 4);
    /* What lies behind the largest bfloat16 is as far away as a bfloat16 would be. */
    double to_high = isinf(high) ? copysign(0x1p128, (double)value) - value : (double)high - value;
    double to_low = (double)value - low;
    if (isinf(value) || fabs(to_low) < fabs(to_high))
        return down >> 16;
    return fabs(to_high) < fabs(to_low) || (down >> 16 & 1) ? up >> 16 : down >> 16;
}

enum { ROUNDED = 1 << 14 }; /* floats that are rounded, four a lane */

Test(vk_runtime, floats_are_rounded_to_bfloat16)
{
    static const uint32_t special[] = {0,          0x80000000, 1,          0x8000,     0x8001,
                                       0x18000,    0x7f7fffff, 0x7f7f7fff, 0x7f7f8000, 0x7f800000,
                                       0xff800000, 0x7f800001, 0x7fffffff, 0xffffffff, 0x3f808000,
                                       0x3f818000, 0x3f80ffff, 0x3f7fffff, 0xbf808001, 0x007fffff};
    static float from[ROUNDED];
    static uint16_t to[ROUNDED];
    gb_status status = {0};
    gb_rng rng = gb_rng_make(7, GB_RNG_TEST, 0, 0);
    for (size_t i = 0; i < ROUNDED; i++) {
        uint32_t bits = i < sizeof special / 4 ? special[i] : gb_rng_u32(&rng);
        if (i % 4 == 3 && i >= sizeof special / 4)
            bits = (bits & 0xffff0000) | 0x8000; /* halfway */
        memcpy(&from[i], &bits, 4);
    }
    gb_device *device = open_device(false);
    gb_buffer *buffer = gb_buffer_create(device, GB_BUFFER_DEVICE, 6 * ROUNDED, "test", &status);
    CHECK(buffer);
    gb_item item = {.kind = GB_ITEM_DISPATCH,
                    .label = "round",
                    .bind = {{buffer, 0, 4 * ROUNDED}, {buffer, 4 * ROUNDED, 2 * ROUNDED}},
                    .push_bytes = 4,
                    .grid = {ROUNDED / 4 / 64, 1, 1}};
    memcpy(item.push, &(uint32_t){ROUNDED / 4}, 4);
    CHECK(item.pipeline = gb_pipeline_get(device, "test_rounding", NULL, 0, &status));
    gb_program *program = gb_program_create(device, &item, 1, &status);
    CHECK(program);
    CHECK(gb_upload(device, buffer, 0, from, sizeof from, &status));
    CHECK(gb_program_submit(program, &status) != 0);
    CHECK(gb_download(device, buffer, 4 * ROUNDED, to, sizeof to, &status));
    for (size_t i = 0; i < ROUNDED; i++) {
        uint32_t bits;
        memcpy(&bits, &from[i], 4);
        if (isnan(from[i])) {
            cr_expect((to[i] & 0x7f80) == 0x7f80 && (to[i] & 0x7f), "%08x is no number", bits);
            cr_expect_eq(to[i] >> 15, bits >> 31);
        } else {
            cr_expect_eq(to[i], nearest_bfloat16(from[i]), "%08x becomes %04x", bits, to[i]);
        }
    }
    gb_program_destroy(program);
    gb_buffer_destroy(buffer);
    close_device(device);
}
