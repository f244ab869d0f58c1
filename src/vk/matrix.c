/* Which of the cooperative matrices that a device lists products use. */
#include "vk/private.h"
#include <stdlib.h>

/* Largest matrices that are used: with them a workgroup's tiles stay within 16 KiB. */
#define MOST_AREA  256
#define MOST_DEPTH 32

/* What a device lists, in either extension's words. */
typedef struct offer {
    uint32_t m, n, k; /* sizes */
    bool fits;        /* half floats, sums of floats, of a subgroup */
} offer;

/* The largest that fits; the first of equals. */
static void take(gb_matrix *matrix, const offer *o)
{
    bool usable = o->fits && o->m * o->n <= MOST_AREA && o->k <= MOST_DEPTH &&
                  !((o->m | o->n | o->k) % 4) && !(64 % o->m) && !(64 % o->n) && !(32 % o->k);
    if (usable && o->m * o->n * o->k > matrix->m * matrix->n * matrix->k) {
        matrix->m = o->m;
        matrix->n = o->n;
        matrix->k = o->k;
    }
}

static bool fits(VkComponentTypeNV a, VkComponentTypeNV b, VkComponentTypeNV c,
                 VkComponentTypeNV result, VkScopeNV scope)
{
    return a == VK_COMPONENT_TYPE_FLOAT16_NV && b == a && c == VK_COMPONENT_TYPE_FLOAT32_NV &&
           result == c && scope == VK_SCOPE_SUBGROUP_NV;
}

static bool read_khr(const gb_instance *instance, VkPhysicalDevice handle, gb_matrix *matrix,
                     gb_status *status)
{
    static const char doing[] = "listing cooperative matrices";
    uint32_t count = 0;
    PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR list =
        (PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)(void *)vkGetInstanceProcAddr(
            instance->handle, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    if (!list)
        return true;
    if (!VK_TRY(list(handle, &count, NULL), doing, status))
        return false;
    VkCooperativeMatrixPropertiesKHR *all = gb_alloc(count, sizeof *all, status);
    if (!all)
        return false;
    for (uint32_t i = 0; i < count; i++)
        all[i].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
    bool ok = VK_TRY(list(handle, &count, all), doing, status);
    for (uint32_t i = 0; ok && i < count; i++) {
        const VkCooperativeMatrixPropertiesKHR *p = &all[i];
        offer o = {p->MSize, p->NSize, p->KSize,
                   fits((VkComponentTypeNV)p->AType, (VkComponentTypeNV)p->BType,
                        (VkComponentTypeNV)p->CType, (VkComponentTypeNV)p->ResultType,
                        (VkScopeNV)p->scope)};
        take(matrix, &o);
    }
    free(all);
    return ok;
}

static bool read_nv(const gb_instance *instance, VkPhysicalDevice handle, gb_matrix *matrix,
                    gb_status *status)
{
    static const char doing[] = "listing cooperative matrices";
    uint32_t count = 0;
    PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesNV list =
        (PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesNV)(void *)vkGetInstanceProcAddr(
            instance->handle, "vkGetPhysicalDeviceCooperativeMatrixPropertiesNV");
    if (!list)
        return true;
    if (!VK_TRY(list(handle, &count, NULL), doing, status))
        return false;
    VkCooperativeMatrixPropertiesNV *all = gb_alloc(count, sizeof *all, status);
    if (!all)
        return false;
    for (uint32_t i = 0; i < count; i++)
        all[i].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_NV;
    bool ok = VK_TRY(list(handle, &count, all), doing, status);
    for (uint32_t i = 0; ok && i < count; i++) {
        const VkCooperativeMatrixPropertiesNV *p = &all[i];
        offer o = {p->MSize, p->NSize, p->KSize,
                   fits(p->AType, p->BType, p->CType, p->DType, p->scope)};
        take(matrix, &o);
    }
    free(all);
    return ok;
}

void gb_device_use_precision(gb_device *device, gb_precision precision)
{
    device->adapter.caps.precision = precision;
}

bool gb_matrix_find(const gb_instance *instance, gb_adapter *adapter, gb_status *status)
{
    gb_device_caps *caps = &adapter->caps;
    gb_matrix found = {0};
    bool same_lanes = caps->subgroup_control || caps->subgroup_min == caps->subgroup_max;
    bool possible = caps->fp16 && same_lanes && adapter->features.memory_model.vulkanMemoryModel &&
                    caps->subgroup_size <= caps->max_workgroup;
    caps->matrix = found;
    if (!possible)
        return true;
    if (caps->matrix_khr && !read_khr(instance, adapter->handle, &found, status))
        return false;
    found.khr = found.m;
    found.khr_source = found.khr && gb_shader_find("matmul_matrix_khr");
    if (!found.khr && caps->matrix_nv && !read_nv(instance, adapter->handle, &found, status))
        return false;
    found.lanes = caps->subgroup_size;
    if (found.m && (found.khr_source || gb_shader_find("matmul_matrix")))
        caps->matrix = found;
    return true;
}
