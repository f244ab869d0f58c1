/* Programs: items recorded once into command buffers and submitted many times. */
#include "vk/private.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one pair of timestamps measures. */
typedef struct timed {
    const char *shader; /* in the shader table */
    const char *label;  /* in the arena, or NULL */
    double flops;       /* as the item says */
    double bytes;       /* as the item says */
} timed;

struct gb_program {
    gb_device *device;         /* not owned */
    VkCommandPool pool;        /* owns the command buffers */
    VkDescriptorPool set_pool; /* owns the descriptor sets */
    VkDescriptorSet *sets;     /* one for each dispatch, in order */
    uint32_t dispatch_count;   /* dispatches in all */
    VkBufferView *views;       /* texel views of operands */
    uint32_t view_count;       /* of them */
    gb_submission *chunks;     /* command buffers in order */
    uint32_t chunk_count;      /* of them */
    gb_arena *labels;          /* copies of labels and of what profiles need */
    VkQueryPool queries;       /* two timestamps a dispatch, or VK_NULL_HANDLE */
    timed *timed;              /* what each pair of timestamps measures */
    uint64_t last_value;       /* last submission */
    vk_survey_use *uses;       /* dispatches, in a survey */
};

/* ---- checks ---- */

static bool bad_item(const gb_item *item, gb_status *status, const char *what)
{
    const char *name = item->label                                        ? item->label
                       : item->kind == GB_ITEM_DISPATCH && item->pipeline ? item->pipeline->shader
                                                                          : "unnamed item";
    return gb_fail(status, GB_INTERNAL, name, NULL, "program item: %s", what);
}

static bool check_range(const gb_item *item, const gb_binding *bind, uint64_t alignment,
                        gb_status *status)
{
    if (!bind->buffer || bind->size == 0)
        return bad_item(item, status, "an operand has no buffer or no bytes");
    if (bind->offset % alignment != 0)
        return bad_item(item, status, "an operand's offset is not aligned");
    if (bind->offset > bind->buffer->bytes || bind->size > bind->buffer->bytes - bind->offset)
        return bad_item(item, status, "an operand reaches beyond its buffer");
    return true;
}

static bool check_dispatch(const gb_device_caps *caps, const gb_item *item, gb_status *status)
{
    if (!item->pipeline)
        return bad_item(item, status, "no pipeline");
    if (item->push_bytes > GB_PUSH_BYTES || item->push_bytes % 4 != 0)
        return bad_item(item, status, "push constants of a wrong size");
    for (int i = 0; i < 3; i++)
        if (item->grid[i] == 0 || item->grid[i] > caps->max_grid[i])
            return bad_item(item, status, "its grid is empty or exceeds the device's");
    for (int i = 0; i < GB_BINDINGS; i++) {
        if (!item->bind[i].buffer)
            continue;
        if (!check_range(item, &item->bind[i], caps->binding_alignment, status))
            return false;
        if (item->bind[i].size > caps->max_binding_bytes)
            return bad_item(item, status, "a binding exceeds maxStorageBufferRange");
        if ((item->texels >> i & 1) && item->bind[i].size > caps->max_texel_bytes)
            return bad_item(item, status, "a view exceeds maxTexelBufferElements");
    }
    return true;
}

static bool check_item(const gb_device_caps *caps, const gb_item *item, gb_status *status)
{
    const gb_binding *a = &item->bind[0], *b = &item->bind[1];
    switch (item->kind) {
    case GB_ITEM_DISPATCH:
        return check_dispatch(caps, item, status);
    case GB_ITEM_COPY:
        if (!check_range(item, a, 1, status) || !check_range(item, b, 1, status))
            return false;
        if (a->size != b->size)
            return bad_item(item, status, "a copy between different sizes");
        if (a->buffer == b->buffer && a->offset < b->offset + b->size &&
            b->offset < a->offset + a->size)
            return bad_item(item, status, "a copy onto itself");
        return true;
    case GB_ITEM_FILL:
        if (a->size % 4 != 0)
            return bad_item(item, status, "a fill of part of a word");
        return check_range(item, a, 4, status);
    }
    return bad_item(item, status, "unknown kind");
}

/* ---- descriptors ---- */

static bool create_sets(gb_program *program, gb_status *status)
{
    gb_device *device = program->device;
    uint32_t count = program->dispatch_count;
    if (count == 0)
        return true;
    VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count * GB_BINDINGS},
                                    {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, count * GB_BINDINGS}};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = count,
                                       .poolSizeCount = 2,
                                       .pPoolSizes = sizes};
    if (!VK_TRY(vkCreateDescriptorPool(device->handle, &pool, NULL, &program->set_pool),
                "creating descriptors", status))
        return false;
    VkDescriptorSetLayout *layouts = gb_alloc(count, sizeof *layouts, status);
    program->sets = gb_alloc(count, sizeof *program->sets, status);
    program->views = gb_alloc((size_t)count * GB_BINDINGS, sizeof *program->views, status);
    bool ok = layouts && program->sets && program->views;
    for (uint32_t i = 0; ok && i < count; i++)
        layouts[i] = device->set_layout;
    VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = program->set_pool,
                                        .descriptorSetCount = count,
                                        .pSetLayouts = layouts};
    ok = ok && VK_TRY(vkAllocateDescriptorSets(device->handle, &info, program->sets),
                      "allocating descriptors", status);
    free(layouts);
    return ok;
}

static void write_set(const gb_program *program, VkDescriptorSet set, const gb_item *item)
{
    const gb_device *device = program->device;
    VkDescriptorBufferInfo infos[GB_BINDINGS];
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = set,
                                  .descriptorCount = GB_BINDINGS,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = infos};
    for (int i = 0; i < GB_BINDINGS; i++) {
        const gb_binding *b = &item->bind[i];
        infos[i] = b->buffer ? (VkDescriptorBufferInfo){b->buffer->handle, b->offset, b->size}
                             : (VkDescriptorBufferInfo){device->dummy->handle, 0, GB_ALIGNMENT};
    }
    /* Eight bindings in a row: a write runs on over consecutive bindings of the same kind. */
    vkUpdateDescriptorSets(device->handle, 1, &write, 0, NULL);
}

/* Texel views of the operands that an item wants as such; the shader's others get the dummy. */
static bool write_views(gb_program *program, VkDescriptorSet set, const gb_item *item,
                        gb_status *status)
{
    gb_device *device = program->device;
    for (uint32_t i = 0; item->texels && i < GB_BINDINGS; i++) {
        const gb_binding *b = &item->bind[i];
        VkBufferView *view = &device->dummy_view;
        if ((item->texels >> i & 1) && b->buffer) {
            VkBufferViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
                                           .buffer = b->buffer->handle,
                                           .format = VK_FORMAT_R32G32B32A32_SFLOAT,
                                           .offset = b->offset,
                                           .range = b->size / 16 * 16};
            view = &program->views[program->view_count];
            if (!VK_TRY(vkCreateBufferView(device->handle, &info, NULL, view),
                        "creating a texel view", status))
                return false;
            program->view_count++;
        }
        VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                      .dstSet = set,
                                      .dstBinding = GB_BINDINGS + i,
                                      .descriptorCount = 1,
                                      .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
                                      .pTexelBufferView = view};
        vkUpdateDescriptorSets(device->handle, 1, &write, 0, NULL);
    }
    return true;
}

/* ---- recording ---- */

void vk_record_barrier(VkCommandBuffer command, bool to_host)
{
    const VkPipelineStageFlags work =
        VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                         VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT |
                         (to_host ? VK_ACCESS_HOST_READ_BIT : 0)};
    vkCmdPipelineBarrier(command, work, work | (to_host ? VK_PIPELINE_STAGE_HOST_BIT : 0), 0, 1,
                         &barrier, 0, NULL, 0, NULL);
}

/* Time an item may take, in ms, on a slow device of its type: for splitting only. */
static double estimate_ms(const gb_device *device, const gb_item *item)
{
    static const struct {
        double gflops; /* arithmetic, 1e9 a second */
        double gbytes; /* memory, 1e9 bytes a second */
    } speed[] = {[GB_DEVICE_OTHER] = {100, 10},
                 [GB_DEVICE_CPU] = {10, 5},
                 [GB_DEVICE_VIRTUAL] = {500, 50},
                 [GB_DEVICE_INTEGRATED] = {100, 10},
                 [GB_DEVICE_DISCRETE] = {1000, 100}};
    gb_device_type type = device->adapter.caps.type;
    return 1e-6 * (item->flops / speed[type].gflops + item->bytes / speed[type].gbytes);
}

/* State while recording. */
typedef struct recorder {
    gb_program *program;     /* being recorded */
    gb_status *status;       /* of gb_program_create */
    VkCommandBuffer command; /* open, or VK_NULL_HANDLE */
    double ms;               /* estimate of what it holds */
    uint32_t dispatch;       /* dispatches recorded so far */
    size_t chunk_capacity;   /* of program->chunks */
    VkPipeline bound;        /* pipeline bound in the open command buffer */
} recorder;

static bool open_chunk(recorder *r)
{
    gb_program *program = r->program;
    gb_device *device = program->device;
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = program->pool,
                                        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                        .commandBufferCount = 1};
    /* A run may be submitted while the one before is still pending. */
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
    if (!gb_grow(&program->chunks, &r->chunk_capacity, program->chunk_count + 1,
                 sizeof *program->chunks, r->status) ||
        !VK_TRY(vkAllocateCommandBuffers(device->handle, &info, &r->command),
                "allocating a command buffer", r->status) ||
        !VK_TRY(vkBeginCommandBuffer(r->command, &begin), "recording a program", r->status))
        return false;
    program->chunks[program->chunk_count++] = (gb_submission){.command = r->command};
    if (program->chunk_count == 1) {
        vk_record_barrier(r->command, false);
        if (program->queries)
            vkCmdResetQueryPool(r->command, program->queries, 0, 2 * program->dispatch_count);
    }
    r->ms = 0;
    r->bound = VK_NULL_HANDLE;
    return true;
}

static bool close_chunk(recorder *r, bool last)
{
    if (last)
        vk_record_barrier(r->command, true);
    bool ok = VK_TRY(vkEndCommandBuffer(r->command), "recording a program", r->status);
    r->command = VK_NULL_HANDLE;
    return ok;
}

/* Room for what may take so many ms: in the open chunk, or in one of its own. */
static bool make_room(recorder *r, double ms)
{
    double most = r->program->device->submit_ms;
    if (r->command && (r->ms + ms > most || most == 0) && !close_chunk(r, false))
        return false;
    if (!r->command && !open_chunk(r))
        return false;
    r->ms += ms;
    return true;
}

static void name_chunk(recorder *r, const char *name)
{
    gb_submission *chunk = &r->program->chunks[r->program->chunk_count - 1];
    chunk->last = name;
    if (!chunk->first)
        chunk->first = name;
}

/* Workgroups [first, first + count) along an axis. */
static void record_groups(recorder *r, const gb_item *item, int axis, uint32_t first,
                          uint32_t count)
{
    gb_device *device = r->program->device;
    VkDescriptorSet set = r->program->sets[r->dispatch];
    if (r->bound != item->pipeline->handle)
        vkCmdBindPipeline(r->command, VK_PIPELINE_BIND_POINT_COMPUTE, item->pipeline->handle);
    r->bound = item->pipeline->handle;
    vkCmdBindDescriptorSets(r->command, VK_PIPELINE_BIND_POINT_COMPUTE, device->pipeline_layout, 0,
                            1, &set, 0, NULL);
    if (item->push_bytes)
        vkCmdPushConstants(r->command, device->pipeline_layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                           item->push_bytes, item->push);
    uint32_t base[3] = {0}, groups[3] = {item->grid[0], item->grid[1], item->grid[2]};
    base[axis] = first;
    groups[axis] = count;
    vkCmdDispatchBase(r->command, base[0], base[1], base[2], groups[0], groups[1], groups[2]);
}

static void write_timestamp(const recorder *r, uint32_t query)
{
    if (r->program->queries)
        vkCmdWriteTimestamp(r->command, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, r->program->queries,
                            query);
}

/* A dispatch that may take longer than a submission should goes into several: a watchdog does not
 * see that it gets on. Cut along y where it has several rows, whose length shaders ask for. */
static bool record_dispatch(recorder *r, const gb_item *item, double ms, const char *label)
{
    gb_program *program = r->program;
    double most = program->device->submit_ms;
    int axis = item->grid[1] > 1;
    uint32_t groups = item->grid[axis], parts = 1;
    if (most > 0 && ms > most)
        parts = ms / most < groups ? (uint32_t)ceil(ms / most) : groups;
    write_set(program, program->sets[r->dispatch], item);
    if (!write_views(program, program->sets[r->dispatch], item, r->status))
        return false;
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t first = (uint32_t)((uint64_t)groups * i / parts);
        uint32_t end = (uint32_t)((uint64_t)groups * (i + 1) / parts);
        if (i && !make_room(r, ms / parts))
            return false;
        name_chunk(r, label ? label : item->pipeline->shader);
        if (i == 0)
            write_timestamp(r, 2 * r->dispatch);
        record_groups(r, item, axis, first, end - first);
    }
    write_timestamp(r, 2 * r->dispatch + 1);
    if (program->queries)
        program->timed[r->dispatch] =
            (timed){item->pipeline->shader, label, item->flops, item->bytes};
    r->dispatch++;
    return true;
}

static bool record_item(recorder *r, const gb_item *item)
{
    gb_program *program = r->program;
    const gb_device *device = program->device;
    const gb_binding *a = &item->bind[0], *b = &item->bind[1];
    double ms = estimate_ms(device, item);
    char *label = NULL;
    if (item->label &&
        !(label = gb_arena_strdup(program->labels, item->label, strlen(item->label), r->status)))
        return false;
    if (!make_room(r, ms))
        return false;
    /* With timestamps the dispatches must not overlap, or the times mean nothing. */
    if (item->barrier_before || device->full_barriers || program->queries)
        vk_record_barrier(r->command, false);
    if (item->kind == GB_ITEM_DISPATCH)
        return record_dispatch(r, item, ms, label);
    name_chunk(r, label ? label : "copy or fill");
    if (item->kind == GB_ITEM_COPY)
        vkCmdCopyBuffer(r->command, a->buffer->handle, b->buffer->handle, 1,
                        &(VkBufferCopy){a->offset, b->offset, a->size});
    else
        vkCmdFillBuffer(r->command, a->buffer->handle, a->offset, a->size, item->fill);
    return true;
}

static bool record(gb_program *program, const gb_item *items, size_t count, gb_status *status)
{
    recorder r = {.program = program, .status = status};
    for (size_t i = 0; i < count; i++)
        if (!record_item(&r, &items[i]))
            return false;
    if (!r.command && !open_chunk(&r))
        return false;
    return close_chunk(&r, true);
}

/* ---- making and freeing ---- */

static bool create_queries(gb_program *program, gb_status *status)
{
    gb_device *device = program->device;
    uint32_t count = program->dispatch_count;
    if (!device->profiling || device->adapter.caps.timestamp_bits == 0 || count == 0)
        return true;
    VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                  .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                  .queryCount = 2 * count};
    program->timed = gb_alloc(count, sizeof *program->timed, status);
    return program->timed &&
           VK_TRY(vkCreateQueryPool(device->handle, &info, NULL, &program->queries),
                  "creating timestamps", status);
}

static bool create_pool(gb_program *program, gb_status *status)
{
    gb_device *device = program->device;
    VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = device->adapter.queue_family};
    return VK_TRY(vkCreateCommandPool(device->handle, &info, NULL, &program->pool),
                  "creating a command pool", status);
}

/* A program that only says what it would run. */
static bool survey(gb_program *program, const gb_item *items, size_t count, gb_status *status)
{
    program->uses = gb_alloc(program->dispatch_count, sizeof *program->uses, status);
    uint32_t used = 0;
    for (size_t i = 0; program->uses && i < count; i++)
        if (items[i].kind == GB_ITEM_DISPATCH &&
            !vk_survey_use_of(program->device, &items[i], &program->uses[used++], status))
            return false;
    return program->uses != NULL;
}

static bool make(gb_program *program, const gb_item *items, size_t count, gb_status *status)
{
    if (program->device->survey)
        return survey(program, items, count, status);
    return (program->labels = gb_arena_create(4096, status)) && create_pool(program, status) &&
           create_sets(program, status) && create_queries(program, status) &&
           record(program, items, count, status);
}

gb_program *gb_program_create(gb_device *device, const gb_item *items, size_t count,
                              gb_status *status)
{
    for (size_t i = 0; i < count; i++)
        if (!check_item(&device->adapter.caps, &items[i], status))
            return NULL;
    gb_program *program = gb_alloc(1, sizeof *program, status);
    if (!program)
        return NULL;
    program->device = device;
    for (size_t i = 0; i < count; i++)
        program->dispatch_count += items[i].kind == GB_ITEM_DISPATCH;
    if (!make(program, items, count, status)) {
        gb_program_destroy(program);
        return NULL;
    }
    return program;
}

void gb_program_destroy(gb_program *program)
{
    if (!program)
        return;
    VkDevice handle = program->device->handle;
    if (program->last_value && !gb_device_wait(program->device, program->last_value, NULL))
        vkDeviceWaitIdle(handle);
    vkDestroyQueryPool(handle, program->queries, NULL);
    vkDestroyDescriptorPool(handle, program->set_pool, NULL);
    for (uint32_t i = 0; i < program->view_count; i++)
        vkDestroyBufferView(handle, program->views[i], NULL);
    free(program->views);
    vkDestroyCommandPool(handle, program->pool, NULL);
    gb_arena_destroy(program->labels);
    free(program->timed);
    free(program->chunks);
    free(program->sets);
    free(program->uses);
    free(program);
}

size_t gb_program_submissions(const gb_program *program)
{
    return program->chunk_count;
}

/* ---- running ---- */

/* Wait for the run and add its timestamps to the profile. */
static bool collect(gb_program *program, gb_status *status)
{
    gb_device *device = program->device;
    const gb_device_caps *caps = &device->adapter.caps;
    uint32_t count = program->dispatch_count;
    uint64_t mask =
        caps->timestamp_bits >= 64 ? UINT64_MAX : (UINT64_C(1) << caps->timestamp_bits) - 1;
    uint64_t *ticks = gb_alloc(2 * (size_t)count, sizeof *ticks, status);
    bool ok = ticks && gb_device_wait(device, program->last_value, status) &&
              VK_TRY(vkGetQueryPoolResults(device->handle, program->queries, 0, 2 * count,
                                           2 * (size_t)count * sizeof *ticks, ticks, sizeof *ticks,
                                           VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
                     "reading timestamps", status);
    for (uint32_t i = 0; ok && i < count; i++) {
        const timed *t = &program->timed[i];
        double ms = (double)((ticks[2 * i + 1] - ticks[2 * i]) & mask) * caps->timestamp_ns * 1e-6;
        ok = vk_timing_add(device, t->shader, t->label, ms, t->flops, t->bytes, status);
    }
    free(ticks);
    return ok;
}

uint64_t gb_program_submit(gb_program *program, gb_status *status)
{
    gb_device *device = program->device;
    uint64_t value = device->survey
                         ? vk_survey_submit(device, program->uses, program->dispatch_count)
                         : vk_device_submit(device, program->chunks, program->chunk_count, status);
    program->last_value = device->submitted; /* also when only a part got through */
    if (value == 0)
        return 0;
    if (program->queries && !collect(program, status))
        return 0;
    return value;
}
