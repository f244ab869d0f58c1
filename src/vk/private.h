/* What the files of the Vulkan module share. */
#ifndef GABBRO_VK_PRIVATE_H
#define GABBRO_VK_PRIVATE_H

#include <stdatomic.h>
#include <vulkan/vulkan.h>
#include "gabbro/vk.h"

/* ---- results of Vulkan calls (instance.c) ---- */

/* True for VK_SUCCESS; otherwise fills status with `doing` and the result's meaning. */
bool vk_check(VkResult result, const char *doing, gb_status *status);
const char *vk_result_name(VkResult result);

/* Every VkResult goes through here: VK_TRY(vkFoo(...), "doing foo", status). */
#define VK_TRY(call, doing, status)                                                                \
    vk_check(gb_fault(GB_FAULT_VULKAN) ? VK_ERROR_OUT_OF_DEVICE_MEMORY : (call), (doing), (status))

/* ---- shaders (shaders.c) ---- */

/* The shader that is used at a place of gb_shader_binaries, which may come from source. */
const gb_shader_binary *vk_shader_at(size_t index);
/* Use a table of gb_shader_binary_count shaders instead, or the built-in one (NULL). Takes over the
 * table, and the words in it that are not the built-in ones. */
void vk_shader_table_set(gb_shader_binary *table);
void vk_shader_table_free(gb_shader_binary *table);

/* PCI vendors, gb_device_caps.vendor_id. */
#define VENDOR_AMD      0x1002
#define VENDOR_NVIDIA   0x10de
#define VENDOR_ARM      0x13b5
#define VENDOR_QUALCOMM 0x5143
#define VENDOR_INTEL    0x8086

/* ---- cooperative matrices (matrix.c, spirv_matrix.c) ---- */

#ifndef VK_KHR_cooperative_matrix /* what headers older than 1.3.255 lack */
#define VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME "VK_KHR_cooperative_matrix"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR                          \
    ((VkStructureType)1000506000)
#define VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR ((VkStructureType)1000506001)
typedef struct VkPhysicalDeviceCooperativeMatrixFeaturesKHR {
    VkStructureType sType;                        /* ..._FEATURES_KHR */
    void *pNext;                                  /* chain */
    VkBool32 cooperativeMatrix;                   /* there are matrices */
    VkBool32 cooperativeMatrixRobustBufferAccess; /* with bounds checks */
} VkPhysicalDeviceCooperativeMatrixFeaturesKHR;
typedef struct VkCooperativeMatrixPropertiesKHR {
    VkStructureType sType;                             /* ..._PROPERTIES_KHR */
    void *pNext;                                       /* chain */
    uint32_t MSize, NSize, KSize;                      /* sizes */
    VkComponentTypeNV AType, BType, CType, ResultType; /* numbers of NV's and KHR's are the same */
    VkBool32 saturatingAccumulation;                   /* of integers */
    VkScopeNV scope;                                   /* who holds a matrix */
} VkCooperativeMatrixPropertiesKHR;
typedef VkResult(VKAPI_PTR *PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)(
    VkPhysicalDevice, uint32_t *, VkCooperativeMatrixPropertiesKHR *);
#endif

#ifndef VK_KHR_shader_bfloat16 /* what headers older than 1.4.311 lack */
#define VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME                          "VK_KHR_shader_bfloat16"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR ((VkStructureType)1000141000)
#define VK_COMPONENT_TYPE_BFLOAT16_KHR                                 ((VkComponentTypeNV)1000141000)
typedef struct VkPhysicalDeviceShaderBfloat16FeaturesKHR {
    VkStructureType sType;                    /* ..._FEATURES_KHR */
    void *pNext;                              /* chain */
    VkBool32 shaderBFloat16Type;              /* there is the type */
    VkBool32 shaderBFloat16DotProduct;        /* dot products of it */
    VkBool32 shaderBFloat16CooperativeMatrix; /* matrices of it */
} VkPhysicalDeviceShaderBfloat16FeaturesKHR;
#endif

typedef struct gb_adapter gb_adapter;
typedef struct gb_instance gb_instance;
/* The size of matrices that products use on an adapter, from those that it lists, into its caps. */
bool vk_matrix_find(const gb_instance *instance, gb_adapter *adapter, gb_status *status);
/* Whether a module has matrices of SPV_NV_cooperative_matrix, and the same module with those of
 * SPV_KHR_cooperative_matrix, its half floats as bfloat16 if wanted; caller frees. */
bool vk_spirv_has_nv_matrices(const uint32_t *words, size_t count);
uint32_t *vk_spirv_khr_matrices(const uint32_t *words, size_t count, bool bfloat16,
                                size_t *out_count, gb_status *status);

/* ---- instance (instance.c) ---- */

struct gb_instance {
    VkInstance handle;                  /* the Vulkan instance */
    VkDebugUtilsMessengerEXT messenger; /* validation messages, or VK_NULL_HANDLE */
    PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger; /* extension entry point */
    atomic_uint messages;                                  /* validation messages counted so far */
    bool validating;                                       /* the layer is on */
    uint32_t api_version;                                  /* of Vulkan, that it was made for */
    uint32_t layer_version;                                /* of Vulkan, that the layer is of */
    bool survey;                                           /* devices run nothing */
    const gb_config *config;                               /* never NULL */
    const gb_kernel_rules *rules;                          /* never NULL */
};

/* Of params (may be NULL) config, rules and validation count. */
gb_instance *vk_instance_create(const gb_device_params *params, gb_status *status);
void vk_instance_destroy(gb_instance *instance);

/* ---- adapters: physical devices and their capabilities (caps.c) ---- */

/* The feature structures asked of a device and, trimmed, enabled on it. */
typedef struct gb_features {
    VkPhysicalDeviceFeatures2 core;                          /* head of the chain */
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline;      /* needed */
    VkPhysicalDeviceShaderFloat16Int8Features float16;       /* 16-bit arithmetic */
    VkPhysicalDeviceSubgroupSizeControlFeatures subgroup;    /* choice of subgroup size */
    VkPhysicalDeviceCooperativeMatrixFeaturesNV matrix_nv;   /* older tensor-core interface */
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix_khr; /* the one of all vendors */
    VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16;      /* matrices of bfloat16 */
    VkPhysicalDeviceVulkanMemoryModelFeatures memory_model;  /* what all of them stand on */
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables; /* for surveys */
} gb_features;

#define GB_MAX_EXTENSIONS 12

struct gb_adapter {
    VkPhysicalDevice handle;                   /* the physical device */
    gb_device_caps caps;                       /* what the rest of the program sees */
    gb_features features;                      /* to enable; chained again by vk_features_chain */
    const char *extensions[GB_MAX_EXTENSIONS]; /* to enable; string constants */
    uint32_t extension_count;                  /* of them */
    uint32_t queue_family;                     /* compute, without graphics if there is one */
    uint32_t version;                          /* of Vulkan: the driver's, or the instance's */
    bool core12;                               /* Vulkan 1.2 or later: timeline is core */
    bool core13;                               /* Vulkan 1.3 or later: subgroup control is core */
    bool memory_budget;                        /* VK_EXT_memory_budget */
};

/* Physical devices of an instance with their capabilities; *adapters owned by the caller. */
bool vk_adapters_list(gb_instance *instance, gb_adapter **adapters, uint32_t *count,
                      gb_status *status);
/* Links the structures that the adapter's version and extensions know. */
void vk_features_chain(gb_adapter *adapter);
/* Changes what config's limits say: the smallest limits, or those of a made-up card (limits.c). */
bool vk_limits_apply(const gb_config *config, gb_device_caps *caps, gb_status *status);
/* Index of the largest device-local heap; of an integrated GPU, which works in the host's memory,
 * the largest of all: some drivers call only what the firmware set apart device-local. */
uint32_t vk_main_heap(const VkPhysicalDeviceMemoryProperties *memory, gb_device_type type);
/* Whether the host sees the main heap, and the device sees nothing better. */
bool vk_memory_unified(const VkPhysicalDeviceMemoryProperties *memory, gb_device_type type);
/* Bytes left in the main heap, 0 if the driver does not say. */
uint64_t vk_adapter_free_bytes(const gb_adapter *adapter);
/* The adapter that `select` names (NULL: what config says, else the best). */
const gb_adapter *vk_adapter_select(const gb_instance *instance, const gb_adapter *adapters,
                                    uint32_t count, const char *select, gb_status *status);
/* Quirks of a device, with those of config applied (quirks.c); and why it has one. */
bool vk_quirks_find(const gb_instance *instance, const gb_device_caps *caps, uint32_t *quirks,
                    gb_status *status);
const char *vk_quirk_reason(const gb_instance *instance, const gb_device_caps *caps, uint32_t bit);

/* ---- device ---- */

/* A submission the host may still have to wait for; lets a device loss be located. */
typedef struct gb_pending {
    uint64_t value; /* timeline value it signals */
    char first[64]; /* label of its first item */
    char last[64];  /* label of its last item */
} gb_pending;
#define GB_PENDING 64

/* One row of the profile. */
typedef struct gb_timing_row {
    char name[128]; /* "shader label" */
    uint64_t calls; /* dispatches */
    double ms;      /* device time */
    double flops;   /* as the items said */
    double bytes;   /* as the items said */
} gb_timing_row;

/* Staging memory of gb_upload and gb_download: two halves, so that the host copies into one while
 * the device reads the other. */
#define GB_STAGING_BYTES ((uint64_t)8 << 20)
typedef struct gb_staging {
    gb_buffer *buffer[2];       /* made at first use */
    VkCommandBuffer command[2]; /* one for each half */
    uint64_t value[2];          /* submission that last used it */
} gb_staging;

typedef struct vk_survey vk_survey;

struct gb_device {
    gb_instance *instance;                        /* owned */
    gb_adapter adapter;                           /* what was chosen */
    VkDevice handle;                              /* logical device */
    VkQueue queue;                                /* the only queue */
    VkSemaphore timeline;                         /* counts submissions */
    PFN_vkWaitSemaphores wait_semaphores;         /* core 1.2 or KHR */
    PFN_vkGetSemaphoreCounterValue counter_value; /* core 1.2 or KHR */
    uint64_t submitted;                           /* last timeline value handed out */
    gb_pending pending[GB_PENDING];               /* ring by value */
    VkPhysicalDeviceMemoryProperties memory;      /* heaps and types */
    gb_buffer *buffers;                           /* all living buffers, newest first */
    gb_buffer *dummy;                             /* stands in unused bindings */
    VkBufferView dummy_view;                      /* the same for texels */
    VkDescriptorSetLayout set_layout;             /* the one layout */
    VkPipelineLayout pipeline_layout;             /* the one layout */
    VkPipelineCache pipeline_cache;               /* or VK_NULL_HANDLE before the first pipeline */
    char *cache_path;                             /* its file, or NULL */
    bool cache_dirty;                             /* a pipeline was built since it was loaded */
    gb_map *pipeline_index;                       /* (shader, constants) -> index */
    gb_pipeline **pipelines;                      /* owned */
    size_t pipeline_count;                        /* of them */
    size_t pipeline_capacity;                     /* allocated */
    VkCommandPool transfer_pool;                  /* for staging */
    gb_staging up;                                /* host to device */
    gb_staging down;                              /* device to host */
    uint32_t users;                               /* only kernels for these run (GB_USER_ bits) */
    double submit_ms;       /* most estimated milliseconds of one submission */
    bool full_barriers;     /* GABBRO_BARRIERS=full */
    bool profiling;         /* time every dispatch */
    gb_map *timing_index;   /* name -> row */
    gb_timing_row *profile; /* rows */
    size_t timing_count;    /* of them */
    size_t timing_capacity; /* allocated */
    vk_survey *survey;      /* of a device that runs nothing, or NULL */
};

/* Submit command buffers in order, each signalling its own timeline value; returns the last value
 * or 0. The labels go to the ring of pending submissions (device.c). */
typedef struct gb_submission {
    VkCommandBuffer command; /* recorded */
    const char *first;       /* label of its first item */
    const char *last;        /* label of its last item */
} gb_submission;
uint64_t vk_device_submit(gb_device *device, const gb_submission *list, uint32_t count,
                          gb_status *status);

struct gb_buffer {
    gb_device *device;     /* not owned */
    VkBuffer handle;       /* usage: storage, copy source and destination */
    VkDeviceMemory memory; /* bound whole */
    uint64_t bytes;        /* as asked */
    void *map;             /* host address, or NULL */
    bool cached;           /* reading through the map is fast */
    gb_buffer_kind kind;   /* as asked */
    char name[48];         /* for messages */
    gb_buffer *next;       /* in the device's list */
};
/* The types of memory to try for a buffer, best first, those of heaps that could hold it; returns
 * how many (memory.c). */
int vk_memory_types(const VkPhysicalDeviceMemoryProperties *memory,
                    const VkMemoryRequirements *needs, gb_buffer_kind kind, bool unified,
                    uint32_t types[4]);
/* Table of living buffers to the log (memory.c). */
void vk_buffers_log(const gb_device *device);

struct gb_pipeline {
    VkPipeline handle;      /* compute pipeline */
    const char *shader;     /* name, in the table of shaders */
    uint32_t local_size[3]; /* workgroup */
    gb_compiled compiled;   /* what it is; what its compiler says only in a survey */
};
bool vk_pipelines_init(gb_device *device, gb_status *status);
void vk_pipelines_free(gb_device *device);
/* The cache file (pipeline_cache.c). Failing to read or write it is never an error. */
bool vk_pipeline_cache_load(gb_device *device, gb_status *status);
void vk_pipeline_cache_store(gb_device *device);

/* Workgroup size of a SPIR-V module under specialisation; false if it cannot be told (spirv.c). */
bool vk_spirv_local_size(const uint32_t *words, size_t count, const uint32_t *spec,
                         uint32_t spec_count, uint32_t size[3]);
/* Whether what a SPIR-V module computes can depend on the size of its subgroups. */
typedef enum vk_subgroup_use {
    VK_SUBGROUPS_UNSEEN,      /* it cannot */
    VK_SUBGROUPS_SEEN,        /* it shuffles, or asks who is who */
    VK_SUBGROUPS_OF_MATRICES, /* its subgroups hold cooperative matrices */
} vk_subgroup_use;
vk_subgroup_use vk_spirv_subgroup_use(const uint32_t *words, size_t count);

/* compute|transfer -> compute|transfer memory barrier, with the host as a reader if to_host. */
void vk_record_barrier(VkCommandBuffer command, bool to_host);

/* ---- surveys (survey.c) ---- */

/* One dispatch of a program. */
typedef struct vk_survey_use {
    uint32_t row;        /* of the survey */
    uint64_t workgroups; /* of its grid */
    double flops, bytes; /* as the item says */
} vk_survey_use;
bool vk_survey_init(gb_device *device, gb_status *status);
void vk_survey_free(gb_device *device);
/* A pipeline that is to be made; what its compiler says, once it is; its failure, taken out of
 * status unless that is one of the program. */
void vk_survey_describe(gb_pipeline *pipeline, const uint32_t *spec, uint32_t spec_count);
void vk_survey_compiled(gb_device *device, gb_pipeline *pipeline);
bool vk_survey_failed(gb_pipeline *pipeline, gb_status *status);
bool vk_survey_use_of(gb_device *device, const gb_item *item, vk_survey_use *use,
                      gb_status *status);
/* Counts a submission; returns its number. */
uint64_t vk_survey_submit(gb_device *device, const vk_survey_use *uses, uint32_t count);

/* Free the staging memory (transfer.c). */
void vk_transfer_free(gb_device *device);

/* Add one dispatch's time to its row (timing.c). */
bool vk_timing_add(gb_device *device, const char *shader, const char *label, double ms,
                   double flops, double bytes, gb_status *status);
void vk_profile_free(gb_device *device);

#endif
