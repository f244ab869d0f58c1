/* Surveys: what the driver's compiler makes of kernels, and what programs would run, on a device
 * that runs nothing. */
#include "vk/private.h"
#include <stdlib.h>
#include <string.h>

#define MAX_EXECUTABLES 8  /* of a pipeline; compute shaders have one */
#define MAX_STATISTICS  64 /* of an executable */

struct vk_survey {
    gb_arena *names;                                         /* of the programs */
    const char *program;                                     /* that is being made */
    gb_map *index;                                           /* (program, pipeline) -> row */
    gb_survey_row *rows;                                     /* by first use */
    size_t count;                                            /* of them */
    size_t capacity;                                         /* allocated */
    PFN_vkGetPipelineExecutablePropertiesKHR get_properties; /* or NULL, as the next */
    PFN_vkGetPipelineExecutableStatisticsKHR get_statistics; /* extension entry point */
};

/* ---- what compilers say ---- */

/* The columns that drivers have under names of their own. */
enum { REGISTERS, SPILLS, SHARED, OCCUPANCY, CYCLES, COLUMNS };

/* Spills of scalar and vector registers add up; of the others one name is there at most. "Threads"
 * are those of a core, "Max dispatch width" is the lanes that a thread of Intel's runs. */
static const struct {
    const char *name; /* as the driver has it */
    int column;       /* what it is */
} statistics[] = {
    /* RADV */
    {"VGPRs", REGISTERS},
    {"Spilled VGPRs", SPILLS},
    {"Spilled SGPRs", SPILLS},
    {"LDS size", SHARED},
    {"Subgroups per SIMD", OCCUPANCY},
    {"Inverse Throughput", CYCLES},
    /* NVK */
    {"Number of GPRs", REGISTERS},
    {"Spills to memory", SPILLS},
    {"Max warps/SM", OCCUPANCY},
    {"Static cycle count", CYCLES},
    /* ANV, Honeykrisp */
    {"Spills", SPILLS},
    {"Workgroup Memory Size", SHARED},
    {"Max dispatch width", OCCUPANCY},
    {"Cycles", CYCLES},
    {"GPRs", REGISTERS},
    {"Threads", OCCUPANCY},
    {"ALU", CYCLES},
    /* Turnip */
    {"Registers used", REGISTERS},
    {"STP Count", SPILLS},
    {"Max Waves Per Core", OCCUPANCY},
    /* PanVK */
    {"Registers", REGISTERS},
    {"Number of spill instructions", SPILLS},
    /* NVIDIA */
    {"Register Count", REGISTERS},
    {"Shared Memory Size", SHARED},
};

static double value_of(const VkPipelineExecutableStatisticKHR *s)
{
    switch (s->format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR:
        return s->value.f64;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
        return (double)s->value.i64;
    default:
        return (double)s->value.u64;
    }
}

static void take(gb_compiled *compiled, const VkPipelineExecutableStatisticKHR *s)
{
    double *columns[COLUMNS] = {&compiled->registers, &compiled->spills, &compiled->shared_bytes,
                                &compiled->occupancy, &compiled->cycles};
    for (size_t i = 0; i < sizeof statistics / sizeof *statistics; i++)
        if (!strcmp(s->name, statistics[i].name)) {
            double *column = columns[statistics[i].column];
            *column = value_of(s) + (*column > 0 ? *column : 0);
        }
}

void vk_survey_compiled(gb_device *device, gb_pipeline *pipeline)
{
    vk_survey *survey = device->survey;
    gb_compiled *compiled = &pipeline->compiled;
    VkPipelineInfoKHR of = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR,
                            .pipeline = pipeline->handle};
    VkPipelineExecutablePropertiesKHR executables[MAX_EXECUTABLES] = {{0}};
    VkPipelineExecutableStatisticKHR values[MAX_STATISTICS] = {{0}};
    uint32_t count = MAX_EXECUTABLES, value_count = MAX_STATISTICS;
    VkPipelineExecutableInfoKHR first = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
                                         .pipeline = pipeline->handle};
    for (int i = 0; i < MAX_EXECUTABLES; i++)
        executables[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR;
    for (int i = 0; i < MAX_STATISTICS; i++)
        values[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
    if (!survey->get_statistics ||
        survey->get_properties(device->handle, &of, &count, executables) < 0 || !count)
        return;
    compiled->lanes = executables[0].subgroupSize;
    if (survey->get_statistics(device->handle, &first, &value_count, values) < 0)
        return;
    for (uint32_t i = 0; i < value_count; i++)
        take(compiled, &values[i]);
}

void vk_survey_describe(gb_pipeline *pipeline, const uint32_t *spec, uint32_t spec_count)
{
    gb_compiled *compiled = &pipeline->compiled;
    *compiled = (gb_compiled){.shader = pipeline->shader,
                              .invocations = pipeline->local_size[0] * pipeline->local_size[1] *
                                             pipeline->local_size[2],
                              .spec_count = spec_count,
                              .registers = -1,
                              .spills = -1,
                              .shared_bytes = -1,
                              .occupancy = -1,
                              .cycles = -1};
    if (spec_count)
        memcpy(compiled->spec, spec, spec_count * sizeof *spec);
}

bool vk_survey_failed(gb_pipeline *pipeline, gb_status *status)
{
    if (status->code != GB_DEVICE && status->code != GB_MEMORY)
        return false;
    snprintf(pipeline->compiled.failure, sizeof pipeline->compiled.failure, "%.199s", status->what);
    *status = (gb_status){0};
    return true;
}

/* ---- what programs would run ---- */

bool vk_survey_init(gb_device *device, gb_status *status)
{
    vk_survey *survey = device->survey = gb_alloc(1, sizeof *survey, status);
    if (!survey || !(survey->index = gb_map_create(status)) ||
        !(survey->names = gb_arena_create(4096, status)))
        return false;
    survey->program = "";
    device->adapter.caps.memory_bytes = UINT64_MAX / 2; /* nothing is too large */
    device->adapter.caps.max_buffer_bytes = UINT64_MAX / 2;
    device->adapter.caps.max_binding_bytes = UINT64_MAX / 2;
    if (!device->adapter.features.executables.pipelineExecutableInfo)
        return true;
    survey->get_properties = (PFN_vkGetPipelineExecutablePropertiesKHR)(void *)vkGetDeviceProcAddr(
        device->handle, "vkGetPipelineExecutablePropertiesKHR");
    survey->get_statistics = (PFN_vkGetPipelineExecutableStatisticsKHR)(void *)vkGetDeviceProcAddr(
        device->handle, "vkGetPipelineExecutableStatisticsKHR");
    return true;
}

void vk_survey_free(gb_device *device)
{
    vk_survey *survey = device->survey;
    if (!survey)
        return;
    gb_arena_destroy(survey->names);
    gb_map_destroy(survey->index);
    free(survey->rows);
    free(survey);
}

bool gb_survey_begin(gb_device *device, const char *program, gb_status *status)
{
    vk_survey *survey = device->survey;
    survey->program = gb_arena_strdup(survey->names, program, strlen(program), status);
    return survey->program != NULL;
}

bool gb_device_surveys(const gb_device *device)
{
    return device->survey != NULL;
}

bool gb_survey_told(const gb_device *device)
{
    return device->survey->get_statistics != NULL;
}

size_t gb_survey_count(const gb_device *device)
{
    return device->survey->count;
}

const gb_survey_row *gb_survey_at(const gb_device *device, size_t i)
{
    return &device->survey->rows[i];
}

bool vk_survey_use_of(gb_device *device, const gb_item *item, vk_survey_use *use, gb_status *status)
{
    vk_survey *survey = device->survey;
    const void *pair[2] = {survey->program, item->pipeline};
    const char *key = (const char *)pair;
    uint32_t row = gb_map_get(survey->index, key, sizeof pair);
    if (row == GB_MAP_NONE) {
        row = (uint32_t)survey->count;
        if (!gb_grow(&survey->rows, &survey->capacity, survey->count + 1, sizeof *survey->rows,
                     status) ||
            !gb_map_set(survey->index, key, sizeof pair, row, status))
            return false;
        survey->rows[survey->count++] =
            (gb_survey_row){.program = survey->program, .kernel = &item->pipeline->compiled};
    }
    *use = (vk_survey_use){.row = row,
                           .workgroups = (uint64_t)item->grid[0] * item->grid[1] * item->grid[2],
                           .flops = item->flops,
                           .bytes = item->bytes};
    return true;
}

uint64_t vk_survey_submit(gb_device *device, const vk_survey_use *uses, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        gb_survey_row *row = &device->survey->rows[uses[i].row];
        row->dispatches++;
        row->workgroups += uses[i].workgroups;
        row->flops += uses[i].flops;
        row->bytes += uses[i].bytes;
    }
    return ++device->submitted;
}
