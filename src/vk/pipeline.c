/* Pipelines by shader and specialisation constants, all with one layout. */
#include "vk/private.h"
#include <stdlib.h>
#include <string.h>

static bool create_layouts(gb_device *device, gb_status *status)
{
    VkDescriptorSetLayoutBinding bindings[2 * GB_BINDINGS];
    for (uint32_t i = 0; i < 2 * GB_BINDINGS; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){
            .binding = i,
            .descriptorType = i < GB_BINDINGS ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
                                              : VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    VkDescriptorSetLayoutCreateInfo set = {.sType =
                                               VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .bindingCount = 2 * GB_BINDINGS,
                                           .pBindings = bindings};
    VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = GB_PUSH_BYTES};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &device->set_layout,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &push};
    return VK_TRY(vkCreateDescriptorSetLayout(device->handle, &set, NULL, &device->set_layout),
                  "creating the descriptor layout", status) &&
           VK_TRY(vkCreatePipelineLayout(device->handle, &layout, NULL, &device->pipeline_layout),
                  "creating the pipeline layout", status);
}

bool vk_pipelines_init(gb_device *device, gb_status *status)
{
    device->pipeline_index = gb_map_create(status);
    return device->pipeline_index && create_layouts(device, status);
}

void vk_pipelines_free(gb_device *device)
{
    vk_pipeline_cache_store(device);
    for (size_t i = 0; i < device->pipeline_count; i++) {
        vkDestroyPipeline(device->handle, device->pipelines[i]->handle, NULL);
        free(device->pipelines[i]);
    }
    free(device->pipelines);
    gb_map_destroy(device->pipeline_index);
    vkDestroyPipelineCache(device->handle, device->pipeline_cache, NULL);
    vkDestroyPipelineLayout(device->handle, device->pipeline_layout, NULL);
    vkDestroyDescriptorSetLayout(device->handle, device->set_layout, NULL);
    free(device->cache_path);
}

/* ---- making one ---- */

static bool workgroup_fits(const gb_device *device, const gb_pipeline *pipeline, gb_status *status)
{
    const gb_device_caps *caps = &device->adapter.caps;
    const uint32_t *size = pipeline->local_size;
    uint64_t all = (uint64_t)size[0] * size[1] * size[2];
    bool ok = all > 0 && all <= caps->max_workgroup;
    for (int i = 0; i < 3; i++)
        ok = ok && size[i] <= caps->max_workgroup_xyz[i];
    return ok || gb_fail(status, GB_DEVICE, pipeline->shader, "choose a smaller variant",
                         "a workgroup of %u x %u x %u exceeds the %u invocations of %s", size[0],
                         size[1], size[2], caps->max_workgroup, caps->name);
}

/* Lanes of the subgroups that a shader must have on a device that chooses between sizes, so that
 * results do not depend on the driver's mood; 0: whatever the driver finds best, as the shader does
 * not see its subgroups. Some sizes leave a lane few registers: on Intel 32 lanes have 32 each. */
static uint32_t subgroup_wanted(const gb_device_caps *caps, const gb_shader_binary *shader)
{
    if (!caps->subgroup_control || caps->subgroup_min == caps->subgroup_max)
        return 0;
    switch (vk_spirv_subgroup_use(shader->words, shader->word_count)) {
    case VK_SUBGROUPS_OF_MATRICES:
        return shader->users & GB_USER_BF16 ? caps->matrix_bf16.lanes : caps->matrix.lanes;
    case VK_SUBGROUPS_SEEN:
        return caps->subgroup_size;
    default:
        return 0;
    }
}

/* Ask for those, and for whole subgroups where the workgroup allows it. */
static void set_subgroup(const gb_device *device, const gb_shader_binary *shader,
                         const gb_pipeline *pipeline, VkPipelineShaderStageCreateInfo *stage,
                         VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *required)
{
    uint32_t lanes = subgroup_wanted(&device->adapter.caps, shader);
    if (!lanes)
        return;
    *required = (VkPipelineShaderStageRequiredSubgroupSizeCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
        .requiredSubgroupSize = lanes};
    stage->pNext = required;
    if (device->adapter.features.subgroup.computeFullSubgroups &&
        pipeline->local_size[0] % lanes == 0)
        stage->flags |= VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
}

/* The module of a shader, with its cooperative matrices in the form that the device has. */
static bool create_module(gb_device *device, const gb_shader_binary *shader, const char *doing,
                          VkShaderModule *module, gb_status *status)
{
    uint32_t *rewritten = NULL;
    size_t count = shader->word_count;
    const gb_device_caps *caps = &device->adapter.caps;
    bool bfloat16 = shader->users & GB_USER_BF16;
    if ((bfloat16 ? caps->matrix_bf16.khr : caps->matrix.khr) &&
        vk_spirv_has_nv_matrices(shader->words, shader->word_count) &&
        !(rewritten =
              vk_spirv_khr_matrices(shader->words, shader->word_count, bfloat16, &count, status)))
        return false;
    VkShaderModuleCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                     .codeSize = 4 * count,
                                     .pCode = rewritten ? rewritten : shader->words};
    bool ok = VK_TRY(vkCreateShaderModule(device->handle, &info, NULL, module), doing, status);
    free(rewritten);
    return ok;
}

static bool build(gb_device *device, gb_pipeline *pipeline, const gb_shader_binary *shader,
                  const uint32_t *spec, uint32_t spec_count, gb_status *status)
{
    VkSpecializationMapEntry entries[GB_MAX_SPEC];
    for (uint32_t i = 0; i < spec_count; i++)
        entries[i] = (VkSpecializationMapEntry){i, 4 * i, 4};
    VkSpecializationInfo constants = {spec_count, entries, 4 * (size_t)spec_count, spec};
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo required;
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .pName = "main",
                  .pSpecializationInfo = spec_count ? &constants : NULL},
        .layout = device->pipeline_layout,
        .flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT}; /* long dispatches go in parts */
    char doing[96];
    snprintf(doing, sizeof doing, "building the pipeline of %s", shader->name);
    if (!create_module(device, shader, doing, &info.stage.module, status))
        return false;
    set_subgroup(device, shader, pipeline, &info.stage, &required);
    if (device->survey && gb_survey_told(device))
        info.flags |= VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
    VkPipelineCache cache = device->survey ? VK_NULL_HANDLE : device->pipeline_cache;
    bool ok =
        VK_TRY(vkCreateComputePipelines(device->handle, cache, 1, &info, NULL, &pipeline->handle),
               doing, status);
    if (ok && device->survey)
        vk_survey_compiled(device, pipeline);
    vkDestroyShaderModule(device->handle, info.stage.module, NULL);
    return ok;
}

static gb_pipeline *create(gb_device *device, const char *name, const uint32_t *spec,
                           uint32_t spec_count, gb_status *status)
{
    const gb_shader_binary *shader = gb_shader_find(name);
    if (!shader) {
        gb_fail(status, GB_INTERNAL, name, "is it in shaders/manifest?", "there is no such shader");
        return NULL;
    }
    if (!(shader->users & device->users)) {
        gb_fail(status, GB_INTERNAL, name, "add them to its users in shaders/manifest",
                "who runs it is not among its users, so the key does not cover it");
        return NULL;
    }
    if (!device->survey && !vk_pipeline_cache_load(device, status))
        return NULL;
    gb_pipeline *pipeline = gb_alloc(1, sizeof *pipeline, status);
    if (!pipeline)
        return NULL;
    pipeline->shader = shader->name;
    if (!vk_spirv_local_size(shader->words, shader->word_count, spec, spec_count,
                             pipeline->local_size)) {
        gb_fail(status, GB_INTERNAL, name, NULL, "its workgroup size cannot be told");
        free(pipeline);
        return NULL;
    }
    vk_survey_describe(pipeline, spec, spec_count);
    if (workgroup_fits(device, pipeline, status) &&
        build(device, pipeline, shader, spec, spec_count, status)) {
        device->cache_dirty = true;
        return pipeline;
    }
    if (device->survey && vk_survey_failed(pipeline, status))
        return pipeline;
    free(pipeline);
    return NULL;
}

/* ---- the device's table ---- */

static bool store(gb_device *device, const char *key, size_t key_length, gb_pipeline *pipeline,
                  gb_status *status)
{
    if (!gb_grow(&device->pipelines, &device->pipeline_capacity, device->pipeline_count + 1,
                 sizeof *device->pipelines, status) ||
        !gb_map_set(device->pipeline_index, key, key_length, (uint32_t)device->pipeline_count,
                    status))
        return false;
    device->pipelines[device->pipeline_count++] = pipeline;
    return true;
}

gb_pipeline *gb_pipeline_get(gb_device *device, const char *shader, const uint32_t *spec,
                             uint32_t spec_count, gb_status *status)
{
    char key[64 + 4 * GB_MAX_SPEC];
    size_t length = strlen(shader) + 1;
    if (length > 64 || spec_count > GB_MAX_SPEC) {
        gb_fail(status, GB_INTERNAL, shader, NULL, "its name or constants exceed the fixed bounds");
        return NULL;
    }
    memcpy(key, shader, length);
    if (spec_count)
        memcpy(key + length, spec, 4 * (size_t)spec_count);
    length += 4 * (size_t)spec_count;
    uint32_t index = gb_map_get(device->pipeline_index, key, length);
    if (index != GB_MAP_NONE)
        return device->pipelines[index];
    gb_pipeline *pipeline = create(device, shader, spec, spec_count, status);
    if (pipeline && !store(device, key, length, pipeline, status)) {
        vkDestroyPipeline(device->handle, pipeline->handle, NULL);
        free(pipeline);
        return NULL;
    }
    return pipeline;
}
