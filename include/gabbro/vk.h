/* Vulkan module: device choice, capabilities, memory, pipelines, recorded programs, transfers and
 * profiling. Stands on base only; knows nothing of operations or tensors.
 *
 * One thread at a time may use a device and whatever was made from it. Everything made from a
 * device is destroyed before it. All destroy functions accept NULL.
 */
#ifndef GABBRO_VK_H
#define GABBRO_VK_H

#include "gabbro/base.h"

/* ---- shaders in the binary ---- */

/* Who may run a kernel, bits of gb_shader_binary.users; shaders/manifest says what they mean. */
enum {
    GB_USER_ENCODE = 1,
    GB_USER_SEARCH = 2,
    GB_USER_TRAIN = 4,
    GB_USER_GENERATE = 8,
    GB_USER_TRAIN_LM = 16,
    GB_USER_FP16 = 32,
    GB_USER_BF16 = 64,
    GB_USER_TEST = 128,
    GB_USER_LATE = 256,
    GB_USER_SPARSE = 512,
    GB_USER_RANK = 1024,
};
#define GB_USER_ALL 2047u

/* One compiled shader: a line of shaders/manifest. */
typedef struct gb_shader_binary {
    const char *name;      /* e.g. "matmul_cpu_texel" */
    const uint32_t *words; /* SPIR-V */
    size_t word_count;     /* 32-bit words of it */
    uint32_t users;        /* GB_USER_ bits */
    const char *source;    /* file in shaders/, e.g. "matmul_cpu.comp" */
    const char *defines;   /* that it is compiled with, e.g. "-DTEXELS -DSCALED" */
} gb_shader_binary;
extern const gb_shader_binary gb_shader_binaries[]; /* sorted by name */
extern const size_t gb_shader_binary_count;
const gb_shader_binary *gb_shader_find(const char *name); /* NULL if there is none */
/* SHA-256 over the names and words of the shaders that some of these users may run: part of the
 * identity of every result. */
void gb_shaders_hash(uint32_t users, char hex[GB_HASH_SIZE]);

/* Compiles the kernels of a folder, as the build compiles shaders/, and uses them in the whole
 * process instead of the built-in ones: NAME.comp replaces the shader NAME and its variants.
 * Shaders that the folder lacks stay as built. gb_shaders_hash changes with them, so that no result
 * of an edited kernel is taken for one of the built-in kernels. To be called on one thread, before
 * any device is opened; a NULL folder goes back to the built-in ones. *count (may be NULL) gets the
 * number of shaders that now differ from the built-in ones. Needs glslc, or what config names:
 * GB_USAGE without it or without any shader in the folder, GB_DATA with file:line for source that
 * does not compile. On failure nothing changes. */
bool gb_shaders_use(const gb_config *config, const char *folder, uint32_t *count,
                    gb_status *status);

/* ---- what a device can do ---- */

/* Types of devices, in ascending order of preference. */
typedef enum gb_device_type {
    GB_DEVICE_OTHER,
    GB_DEVICE_CPU,
    GB_DEVICE_VIRTUAL,
    GB_DEVICE_INTEGRATED,
    GB_DEVICE_DISCRETE,
} gb_device_type;
const char *gb_device_type_name(gb_device_type type);

/* The family of kernels that a device runs. */
typedef enum gb_kernel_profile {
    GB_PROFILE_CPU,    /* registers and vec4 loads, no shared memory, no barrier (lavapipe) */
    GB_PROFILE_SCALAR, /* shared-memory tiles, any GPU */
    GB_PROFILE_MATRIX, /* cooperative matrices */
} gb_kernel_profile;
const char *gb_kernel_profile_name(gb_kernel_profile profile);

/* Types of the operands of matmuls. Sums, and all that is stored, are float32 with each of them. */
typedef enum gb_precision {
    GB_FP32, /* floats, as they are stored */
    GB_FP16, /* rounded to half floats on their way into cooperative matrices */
    GB_BF16, /* the same to bfloat16: the range of floats, 8 bits of precision */
} gb_precision;

/* "fp32", "fp16", "bf16"; static. */
const char *gb_precision_name(gb_precision precision);

/* Cooperative matrices of 16-bit floats with sums of floats: A [m,k], B [k,n], C [m,n]. */
typedef struct gb_matrix {
    uint32_t m, n, k; /* sizes; 0: there are none */
    uint32_t lanes;   /* of the subgroup that holds them together */
    bool khr;         /* of VK_KHR_cooperative_matrix, else of NV's extension */
    bool khr_source;  /* there is a kernel compiled for KHR's */
    bool bfloat16;    /* of bfloat16, else of half floats */
} gb_matrix;

/* Subgroup operations usable in compute shaders (bits of gb_device_caps.subgroup_ops). */
enum {
    GB_SUBGROUP_BASIC = 1,
    GB_SUBGROUP_SHUFFLE = 8,
};

/* Known bugs to work around (bits of gb_device_caps.quirks); reasons in src/vk/quirks.c. */
enum {
    GB_QUIRK_NO_SUBGROUPS = 1,      /* subgroup operations give wrong numbers */
    GB_QUIRK_NO_MATRIX = 2,         /* cooperative matrices are wrong or slower than scalar */
    GB_QUIRK_NO_FP16 = 4,           /* 16-bit arithmetic is wrong or very slow */
    GB_QUIRK_NO_PIPELINE_CACHE = 8, /* stored pipelines crash the driver */
    GB_QUIRK_SMALL_SUBMITS = 16,    /* the watchdog bites early: 50 ms a submission */
    GB_QUIRK_NO_TEXELS = 32,        /* operands are not read as texels, but from storage buffers */
    GB_QUIRK_NO_BFLOAT16 = 64,      /* cooperative matrices of bfloat16 are wrong */
    GB_QUIRK_FEW_REGISTERS = 128,   /* large tiles do not fit the registers of a lane */
    GB_QUIRK_MORE_LANES = 256,      /* attention spills unless more lanes share a tile */
    GB_QUIRK_MOST_LANES = 512,      /* so it does in its gradient unless twice as many do */
    GB_QUIRK_AS_STORED = 1024,      /* matrices are loaded along either side, and need many sums */
    GB_QUIRK_OF_KERNELS = 2048,     /* from this bit on: of single kernels, see gb_kernel_rules */
};

/* What a device is and can do, after what gb_config says of limits, quirks and profile. */
typedef struct gb_device_caps {
    uint32_t index;              /* place in the loader's list */
    char name[256];              /* as the driver gives it */
    char driver[512];            /* driver's name and version, as it gives them */
    char uuid[33];               /* device UUID, 32 hex digits */
    gb_device_type type;         /* CPU, integrated, ... */
    gb_kernel_profile profile;   /* kernels chosen for it */
    uint32_t vendor_id;          /* PCI vendor or Khronos id */
    uint32_t driver_id;          /* VkDriverId, 0 if unknown */
    uint32_t driver_version;     /* in the driver's own packing */
    uint32_t api_version;        /* Vulkan version it offers, VK_MAKE_API_VERSION */
    uint64_t max_binding_bytes;  /* largest range one storage-buffer binding can see */
    uint64_t max_buffer_bytes;   /* largest buffer: limits of buffer and allocation together */
    uint64_t memory_bytes;       /* size of its largest heap, which may be the host's too */
    uint64_t memory_limit_bytes; /* buffers together may not take more, see gb_config.limits; 0: as
                                    much as there is */
    uint32_t binding_alignment;  /* offsets of bindings are multiples of it (256 always does) */
    uint32_t max_shared_bytes;   /* shared memory of a workgroup */
    uint32_t max_workgroup;      /* invocations of a workgroup */
    uint32_t max_workgroup_xyz[3]; /* the same by dimension */
    uint32_t max_grid[3];          /* workgroups of a dispatch by dimension */
    uint32_t subgroup_size;        /* what pipelines get */
    uint32_t subgroup_min;         /* smallest a driver may choose */
    uint32_t subgroup_max;         /* largest a driver may choose */
    uint32_t subgroup_ops;         /* GB_SUBGROUP_ bits */
    uint32_t quirks;               /* GB_QUIRK_ bits */
    uint32_t timestamp_bits;       /* valid bits of a timestamp, 0 = no timing */
    double timestamp_ns;           /* nanoseconds of one timestamp tick */
    bool unified_memory;           /* the device's memory can be mapped by the host */
    uint64_t max_texel_bytes;      /* largest vec4 texel view of a buffer */
    bool fp16;                     /* 16-bit float arithmetic */
    bool matrix_khr;               /* VK_KHR_cooperative_matrix is there */
    bool matrix_nv;                /* VK_NV_cooperative_matrix is there */
    gb_matrix matrix;              /* cooperative matrices of half floats for matmuls */
    gb_matrix matrix_bf16;         /* cooperative matrices of bfloat16 for matmuls */
    gb_precision precision;        /* of the operands of matmuls: GB_FP32 unless asked for */
    uint32_t tiles;                /* tiles that were chosen, see gb_kernel_rules; 0: none */
    bool subgroup_control;         /* pipelines can ask for a subgroup size */
    bool usable;                   /* has everything this program needs */
    char reason[200];              /* why it is not usable, or empty */
} gb_device_caps;

/* Gives the cooperative matrices that matmuls use for a precision; m is 0 if there are none. */
gb_matrix gb_matrix_of(const gb_device_caps *caps, gb_precision precision);

/* What the module of the kernels says about a device. This module knows no kernel: it calls these
 * functions, and keeps their results in the device's caps. */
typedef struct gb_kernel_rules {
    /* Names of the quirks of single kernels [name_count], as in gb_config.quirks. */
    const struct gb_quirk_name {
        uint32_t bit;     /* GB_QUIRK_OF_KERNELS or above */
        const char *name; /* e.g. "no_lane_rows" */
    } * names;
    size_t name_count;
    /* Gives the quirks, of all modules, that a test of this driver has found before. */
    uint32_t (*found)(const gb_config *config, const gb_device_caps *caps);
    /* Gives the quirks of kernels that cannot run on a device with these quirks. */
    uint32_t (*unfit)(const gb_config *config, const gb_device_caps *caps, uint32_t quirks);
    const char *unfit_reason; /* why they cannot, in one sentence */
    /* False and GB_DEVICE if the device must not be used. */
    bool (*allow)(const gb_config *config, const gb_device_caps *caps, gb_status *status);
    /* Gives the choice of tiles that becomes caps->tiles. */
    uint32_t (*tiles)(const gb_config *config, const gb_device_caps *caps);
} gb_kernel_rules;

/* Writes quirks as text ("no_matrix,small_submits" or "none") into buffer. */
void gb_quirks_text(const gb_kernel_rules *rules, uint32_t quirks, char *buffer, size_t size);
/* Sets or clears in *quirks what a list "no_matrix,-small_submits" names. GB_USAGE for an unknown
 * name. */
bool gb_quirks_apply(const gb_kernel_rules *rules, const char *list, uint32_t *quirks,
                     gb_status *status);

/* ---- device ---- */

typedef struct gb_device gb_device;

/* How to open a device; all zero is a good default for a device without kernels. */
typedef struct gb_device_params {
    const gb_config *config;      /* borrowed as long as the device is open; NULL: nothing is set */
    const gb_kernel_rules *rules; /* rules of the kernels that will run on it; NULL: none */
    const char *select; /* index, part of the name, UUID or "cpu"; NULL: what config says, else the
                           best: discrete, integrated, virtual, CPU */
    bool validation;    /* run under the validation layer, also if config says so */
    bool profile;       /* time every dispatch; see gb_timing_print */
    bool quiet;         /* log the choice at debug level only */
    bool survey;        /* it runs nothing; see gb_survey_begin */
    uint32_t users;     /* only kernels for these run on it (GB_USER_ bits), else there is no
                           pipeline; 0: all kernels */
} gb_device_params;

/* Lists all devices with what they can do, whatever params (may be NULL) selects. The caller frees
 * *caps. GB_DEVICE only if Vulkan itself is missing; without any device *count is 0. */
bool gb_device_list(const gb_device_params *params, gb_device_caps **caps, size_t *count,
                    gb_status *status);

/* Says what the device that `params` (may be NULL) would open is and can do, without creating a
 * logical device. */
bool gb_device_find(const gb_device_params *params, gb_device_caps *caps, gb_status *status);
/* Makes the device identity for keys: name, driver version, profile and forced settings of the
 * device that `params` would open, without creating a logical device. The caller frees it. NULL on
 * failure. */
char *gb_device_identity(const gb_device_params *params, gb_status *status);

/* Chooses and opens a device (params may be NULL). NULL and GB_DEVICE if there is none. */
gb_device *gb_device_open(const gb_device_params *params, gb_status *status);
/* Waits for the device's work, stores the pipeline cache, and frees. */
void gb_device_close(gb_device *device);
/* What the device is and can do; it belongs to the device. */
const gb_device_caps *gb_device_get_caps(const gb_device *device);
/* Sets whether programs that are created from now on time their dispatches. */
void gb_device_set_timing(gb_device *device, bool profile);
/* Set quirks, choice of tiles, and precision of the programs that are created from now on, for the
 * self-test and for measuring. The device must have matrices for the precision. */
void gb_device_use_quirks(gb_device *device, uint32_t quirks);
void gb_device_use_tiles(gb_device *device, uint32_t tiles);
void gb_device_use_precision(gb_device *device, gb_precision precision);
/* The config that the device was opened with; never NULL. */
const gb_config *gb_device_config(const gb_device *device);
/* Says in one sentence why a device has a quirk; static. */
const char *gb_device_quirk_reason(const gb_device *device, uint32_t bit);
/* Number of messages that the validation layer has sent so far (0 if it is off). */
uint32_t gb_device_validation_count(const gb_device *device);
/* Says whether the validation layer is really on (asked for and installed). */
bool gb_device_validating(const gb_device *device);
/* Blocks until the submission numbered `value`, and all before it, have finished. GB_DEVICE if the
 * device was lost, with the last dispatch that is known to have finished. */
bool gb_device_wait(gb_device *device, uint64_t value, gb_status *status);
/* Number of the last submission; 0 before the first. */
uint64_t gb_device_submitted(const gb_device *device);

/* ---- files for a device and driver ---- */

/* Makes the path of a file of some kind for a device and driver in the user's cache,
 * "KIND-<device>-<driver>.SUFFIX". The caller frees it. NULL if there is no cache. */
char *gb_device_cache(const gb_config *config, const gb_device_caps *caps, const char *kind,
                      const char *suffix);
/* Begins to write such a file, and makes its folder. */
gb_out *gb_device_cache_open(const char *path, gb_status *status);

/* ---- memory ---- */

/* A Vulkan buffer with memory of its own. There are few and large ones, in which the planner places
 * tensors. */
typedef struct gb_buffer gb_buffer;
typedef enum gb_buffer_kind {
    GB_BUFFER_DEVICE,   /* lives in the device's memory; mapped only where memory is unified */
    GB_BUFFER_UPLOAD,   /* host memory the device reads; always mapped */
    GB_BUFFER_DOWNLOAD, /* host memory the device writes; always mapped, cached if possible */
} gb_buffer_kind;

/* Tensors inside a buffer start at multiples of this; satisfies binding_alignment everywhere. */
#define GB_ALIGNMENT 256

/* Makes a buffer with undefined contents. `name` says in messages what it is for. GB_MEMORY if it
 * is larger than the device allows or does not fit; the log then lists the buffers in use. */
gb_buffer *gb_buffer_create(gb_device *device, gb_buffer_kind kind, uint64_t bytes,
                            const char *name, gb_status *status);
void gb_buffer_destroy(gb_buffer *buffer); /* waits for all submitted work */
/* Host address of the first byte, or NULL if the buffer cannot be mapped. The device sees what the
 * host wrote before a submission; the host sees what the device wrote after gb_device_wait. */
void *gb_buffer_map(gb_buffer *buffer);

/* Copy bytes in or out, after waiting for all submitted work. They are for set-up and training
 * states; the inputs of a step go through GB_BUFFER_UPLOAD buffers and copy items of a program. */
bool gb_upload(gb_device *device, gb_buffer *buffer, uint64_t offset, const void *bytes,
               uint64_t size, gb_status *status);
bool gb_download(gb_device *device, const gb_buffer *buffer, uint64_t offset, void *bytes,
                 uint64_t size, gb_status *status);

/* ---- pipelines ---- */

/* All pipelines share one layout: set 0 with GB_BINDINGS storage buffers (bindings 0..7), read-only
 * vec4 views of the same ranges as uniform texel buffers (bindings 8..15, if an item asks for
 * them), and GB_PUSH_BYTES of push constants. CPU drivers read texels several times faster than
 * storage buffers. */
#define GB_BINDINGS   8
#define GB_PUSH_BYTES 128
#define GB_MAX_SPEC   32 /* specialisation constants of a pipeline at most */

typedef struct gb_pipeline gb_pipeline;
/* Gives the pipeline of a shader with specialisation constants 0..spec_count-1 set to `spec`
 * (32-bit each; ids that the shader lacks are ignored). The device owns it: the same arguments give
 * the same pipeline. GB_INTERNAL for an unknown shader, GB_DEVICE if its workgroup exceeds the
 * limits. */
gb_pipeline *gb_pipeline_get(gb_device *device, const char *shader, const uint32_t *spec,
                             uint32_t spec_count, gb_status *status);

/* ---- programs ---- */

/* A range of a buffer, which a dispatch binds, and which copies and fills work on. */
typedef struct gb_binding {
    const gb_buffer *buffer; /* NULL: unused binding */
    uint64_t offset; /* bytes; multiple of binding_alignment in a dispatch, of 4 in a fill */
    uint64_t size;   /* bytes, above 0 and at most max_binding_bytes in a dispatch */
} gb_binding;

typedef enum gb_item_kind {
    GB_ITEM_DISPATCH, /* run `pipeline` over `grid` workgroups */
    GB_ITEM_COPY,     /* bind[0] to bind[1], equal sizes, not overlapping */
    GB_ITEM_FILL,     /* bind[0] with the 32-bit `fill`; size a multiple of 4 */
} gb_item_kind;

/* One item of a program. Everything is copied by gb_program_create. */
typedef struct gb_item {
    gb_item_kind kind;            /* dispatch, copy or fill */
    bool barrier_before;          /* it reads or overwrites what earlier items wrote */
    const char *label;            /* for profiles and messages, e.g. "layer 3 query"; may be NULL */
    gb_binding bind[GB_BINDINGS]; /* operands */
    const gb_pipeline *pipeline;  /* dispatch: from gb_pipeline_get */
    uint8_t push[GB_PUSH_BYTES];  /* dispatch: push constants */
    uint32_t push_bytes;          /* dispatch: number of bytes, a multiple of 4 */
    uint32_t texels;              /* dispatch: bit i: binding 8 + i is a texel view of bind[i] */
    uint32_t grid[3];             /* dispatch: workgroups in x, y, z, each at least 1 */
    uint32_t fill;                /* fill: the value */
    double flops;                 /* floating-point operations, for profiles and splitting */
    double bytes;                 /* bytes read and written, for the same */
} gb_item;

/* A list of items that is recorded once and submitted many times. Each submission starts with a
 * full barrier, so that programs submitted one after the other see each other's writes, and ends
 * with a barrier towards the host. A program may be submitted again before its last submission has
 * finished. The host must then not rewrite an upload buffer that a pending submission still reads;
 * keep several upload buffers in turn, each with its own program that only copies. */
typedef struct gb_program gb_program;
gb_program *gb_program_create(gb_device *device, const gb_item *items, size_t count,
                              gb_status *status);
void gb_program_destroy(gb_program *program); /* waits for its last submission */
/* Submits a program. Returns the number of the submission for gb_device_wait, 0 on failure. With
 * profiling it also waits. */
uint64_t gb_program_submit(gb_program *program, gb_status *status);
size_t gb_program_submissions(const gb_program *program); /* its command buffers */

/* ---- surveys ---- */

/* A device opened with gb_device_params.survey makes every pipeline that programs ask for, afresh,
 * and runs nothing. It has no memory: what is read back is zeros. Submissions are counted. A
 * pipeline that the driver does not make is noted, and its program goes on without it. */

/* A pipeline and what the driver's compiler says of it (VK_KHR_pipeline_executable_properties),
 * each in the compiler's own terms; below 0: it does not say. */
typedef struct gb_compiled {
    const char *shader;         /* its name in the table of shaders */
    uint32_t spec[GB_MAX_SPEC]; /* specialisation constants */
    uint32_t spec_count;        /* number of them */
    char failure[200];          /* why there is no pipeline; empty: there is one */
    uint32_t invocations;       /* of a workgroup */
    uint32_t lanes;             /* of a subgroup; 0: unknown */
    double registers;           /* of a lane */
    double spills;              /* registers, or stores of them, that went to memory */
    double shared_bytes;        /* shared memory of a workgroup */
    double occupancy; /* AMD: subgroups of a SIMD; NVIDIA: of a multiprocessor; Adreno: of a
                         core; Apple: threads of a core; Intel: lanes of a thread */
    double cycles;    /* of a subgroup, as the compiler estimates them: loops run as often as
                         it guesses, memory takes no time */
} gb_compiled;

/* What the programs of one name have a kernel do. */
typedef struct gb_survey_row {
    const char *program;       /* as given to gb_survey_begin */
    const gb_compiled *kernel; /* belongs to the device */
    uint64_t dispatches;       /* in all submissions */
    uint64_t workgroups;       /* of all dispatches */
    double flops;              /* floating-point operations, by the kernels' own count */
    double bytes;              /* bytes read and written, likewise */
} gb_survey_row;

bool gb_device_surveys(const gb_device *device);
/* Gives programs that are made from now on a name. */
bool gb_survey_begin(gb_device *device, const char *program, gb_status *status);
/* Whether the driver tells more of pipelines than that they compiled. */
bool gb_survey_told(const gb_device *device);
/* Rows by first use; they belong to the device, and are valid until the next program. */
size_t gb_survey_count(const gb_device *device);
const gb_survey_row *gb_survey_at(const gb_device *device, size_t i);

/* ---- profile ---- */

/* Prints the device time of every (shader, label) since the device was opened or reset: calls, ms,
 * GFLOP/s, GB/s, share of the total. Says so if nothing was timed. */
void gb_timing_print(const gb_device *device, FILE *out);
void gb_timing_reset(gb_device *device);
double gb_timing_total_ms(const gb_device *device); /* sum over all rows */
/* The sum of all rows of a profile. */
typedef struct gb_timing_sum {
    uint64_t calls; /* dispatches */
    double ms;      /* device time */
    double flops;   /* floating-point operations, by the kernels' own count */
    double bytes;   /* bytes read and written, likewise */
} gb_timing_sum;
gb_timing_sum gb_timing_total(const gb_device *device);
const char *gb_timing_name(const gb_device *device, size_t row); /* NULL behind the last */

#endif
