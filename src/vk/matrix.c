/* Chooses the cooperative matrices that matmuls use, of those that a device lists. */
#include "vk/private.h"
#include <stdlib.h>

/* Largest matrices that are used: with them a workgroup's tiles stay within 16 KiB. */
#define MOST_AREA  256
#define MOST_DEPTH 32

/* What a device lists, in either extension's words. */
typedef struct offer {
    uint32_t m, n, k; /* sizes */
    bool fits;        /* operands as wished, sums of floats, of a subgroup */
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
                 VkComponentTypeNV result, VkScopeNV scope, bool bfloat16)
{
    VkComponentTypeNV wish =
        bfloat16 ? VK_COMPONENT_TYPE_BFLOAT16_KHR : VK_COMPONENT_TYPE_FLOAT16_NV;
    return a == wish && b == a && c == VK_COMPONENT_TYPE_FLOAT32_NV && result == c &&
           scope == VK_SCOPE_SUBGROUP_NV;
}

/* The best of half floats, or of bfloat16. */
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
                        (VkScopeNV)p->scope, matrix->bfloat16)};
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
                   fits(p->AType, p->BType, p->CType, p->DType, p->scope, false)};
        take(matrix, &o);
    }
    free(all);
    return ok;
}

gb_matrix gb_matrix_of(const gb_device_caps *caps, gb_precision precision)
{
    return precision == GB_FP16   ? caps->matrix
           : precision == GB_BF16 ? caps->matrix_bf16
                                  : (gb_matrix){0};
}

/* Lanes that hold a matrix together. Intel's registers are divided among the lanes, and matrices
 * fit the smallest subgroups best. */
static uint32_t lanes_of(const gb_device_caps *caps)
{
    bool few = caps->vendor_id == VENDOR_INTEL && caps->subgroup_control;
    return few ? caps->subgroup_min : caps->subgroup_size;
}

/* Halves by either extension, bfloat16 by KHR's alone: NV's does not know it. */
bool vk_matrix_find(const gb_instance *instance, gb_adapter *adapter, gb_status *status)
{
    gb_device_caps *caps = &adapter->caps;
    gb_matrix found = {0}, bfloat = {.bfloat16 = true};
    bool same_lanes = caps->subgroup_control || caps->subgroup_min == caps->subgroup_max;
    bool possible = same_lanes && adapter->features.memory_model.vulkanMemoryModel &&
                    caps->subgroup_size <= caps->max_workgroup;
    bool bfloat_possible = possible && caps->matrix_khr && !(caps->quirks & GB_QUIRK_NO_BFLOAT16) &&
                           adapter->features.bfloat16.shaderBFloat16Type &&
                           adapter->features.bfloat16.shaderBFloat16CooperativeMatrix;
    caps->matrix = caps->matrix_bf16 = (gb_matrix){0};
    if (bfloat_possible && gb_shader_find("matmul_matrix_bfloat16")) {
        if (!read_khr(instance, adapter->handle, &bfloat, status))
            return false;
        bfloat.khr = true;
        bfloat.lanes = lanes_of(caps);
        if (bfloat.m)
            caps->matrix_bf16 = bfloat;
    }
    if (!possible || !caps->fp16)
        return true;
    if (caps->matrix_khr && !read_khr(instance, adapter->handle, &found, status))
        return false;
    found.khr = found.m;
    found.khr_source = found.khr && gb_shader_find("matmul_matrix_khr");
    if (!found.khr && caps->matrix_nv && !read_nv(instance, adapter->handle, &found, status))
        return false;
    found.lanes = lanes_of(caps);
    if (found.m && (found.khr_source || gb_shader_find("matmul_matrix")))
        caps->matrix = found;
    return true;
}
