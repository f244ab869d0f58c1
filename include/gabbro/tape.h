/* Tape module: a program of operations over tensors, which is built, planned and recorded once and
 * then replayed. The tape knows no particular operation: an operation is a gb_op (see ops.h).
 *
 * A tensor is a float32 or uint32 matrix [rows, cols], row-major; float rows are padded to a
 * multiple of 4 columns (`ld`), and padding holds unspecified values. */
#ifndef GABBRO_TAPE_H
#define GABBRO_TAPE_H

#include <gabbro/base.h>
#include <gabbro/vk.h>

/* ---- parameters ---- */

/* What a parameter is. Matrices decay when they are trained, vectors do not, as in the released
 * recipes. */
typedef enum gb_param_kind {
    GB_PARAM_MATRIX, /* weights [rows, cols] */
    GB_PARAM_VECTOR, /* a bias or a scale [1, cols] */
    GB_PARAM_STATE,  /* what a program keeps from run to run, e.g. a cache: it is not trained, lies
                        in checkpoints of a training, and model files do not have it */
} gb_param_kind;

typedef enum gb_init { GB_INIT_ZEROS, GB_INIT_ONES, GB_INIT_NORMAL } gb_init;

/* Which file of a model folder has a parameter; none has a state. */
typedef enum gb_param_file {
    GB_FILE_ASIDE,    /* that of parameters which other programs do not know; it may lack it */
    GB_FILE_OPTIONAL, /* that of the model, which may lack it */
    GB_FILE_REQUIRED, /* that of the model */
} gb_param_file;

/* Tensors of a model's file that are one parameter here: equal shares of its rows or, of a vector,
 * of its columns. */
typedef struct gb_param_parts {
    const char *whole;    /* in the parameter's name, e.g. "qkv" */
    const char *names[3]; /* in theirs in its place: "query", "key", "value" */
    uint32_t count;       /* of the tensors */
} gb_param_parts;

/* How a parameter is declared. */
typedef struct gb_param_spec {
    const char *name;    /* unique; files call it the same. With parts it has a star where they
                            differ: "encoder.0.attention.*.weight" */
    gb_param_kind kind;  /* what it is */
    uint32_t rows, cols; /* size; a vector has one row */
    bool untrained;      /* a matrix or vector that is read alone, as of a frozen model */
    gb_init init;        /* how it starts */
    float init_std;      /* for GB_INIT_NORMAL */
    gb_param_file file;  /* where a model folder has it */
    uint32_t file_cols;  /* columns there, if they are packed into fewer here; 0: cols */
    const gb_param_parts *parts; /* what it is there; must outlive the list. NULL: one tensor */
} gb_param_spec;

/* A declared parameter and its place in the parameter arena. */
typedef struct gb_param {
    char name[96];      /* unique, e.g. "encoder.0.attention.qkv.weight" */
    gb_param_kind kind; /* what it is */
    uint32_t rows;      /* rows */
    uint32_t cols;      /* columns */
    uint32_t ld;        /* floats from row to row, multiple of 4 */
    uint64_t offset;    /* first float in the parameter arena; of a trained one also in those of
                           gradients and moments */
    bool trained;       /* it has a gradient and moments */
    bool decays;        /* AdamW's weight decay applies to it */
    gb_init init;       /* how it starts */
    float init_std;     /* for GB_INIT_NORMAL */
    gb_param_file file; /* where a model folder has it */
    uint32_t file_cols; /* columns there */
    const gb_param_parts *parts; /* tensors that it is there, or NULL: one of its name */
    uint32_t parts_at;           /* place of parts->whole in the name, in bytes */
} gb_param;

/* Arrays of all parameters, one behind the other, and of what training keeps of each. */
typedef enum gb_arena_id {
    GB_ARENA_PARAMS,
    GB_ARENA_GRADS,
    GB_ARENA_MOMENT1,
    GB_ARENA_MOMENT2,
    GB_ARENA_COUNT
} gb_arena_id;

/* The list of parameters of a model, shared by every tape of the model. In the arena those that
 * decay come first, then the others that are trained, then those that are not, so that AdamW runs
 * over two windows, and gradients and moments end where training does. */
typedef struct gb_params gb_params;
gb_params *gb_params_create(gb_status *status);
void gb_params_destroy(gb_params *params);
/* Adds a parameter and returns its index, or UINT32_MAX with status. Not after gb_params_freeze. */
uint32_t gb_params_add(gb_params *params, const gb_param_spec *spec, gb_status *status);
/* The same for a trained matrix of N(0, std), a trained vector [1, cols], and a state of N(0, std),
 * which with std 0 begins as zeros. */
uint32_t gb_params_add_matrix(gb_params *params, const char *name, uint32_t rows, uint32_t cols,
                              float std, gb_status *status);
uint32_t gb_params_add_vector(gb_params *params, const char *name, uint32_t cols, gb_init init,
                              gb_status *status);
uint32_t gb_params_add_state(gb_params *params, const char *name, uint32_t rows, uint32_t cols,
                             float std, gb_status *status);
void gb_params_freeze(gb_params *params); /* lays out the arena */
uint32_t gb_params_count(const gb_params *params);
const gb_param *gb_params_at(const gb_params *params, uint32_t index);
uint32_t gb_params_find(const gb_params *params, const char *name); /* UINT32_MAX if absent */
uint64_t gb_params_floats(const gb_params *params); /* size of GB_ARENA_PARAMS in floats */
/* Size of any arena in floats. */
uint64_t gb_params_arena_floats(const gb_params *params, gb_arena_id arena);
uint64_t gb_params_decayed_floats(const gb_params *params); /* of the window that decays */
/* Writes initial values into values[gb_params_floats]: N(0, std) by Philox, keyed by seed and
 * parameter name, so that adding a head does not change the encoder. Padding is zero. */
void gb_params_init(const gb_params *params, uint64_t seed, float *values);
/* The same of one parameter, without its padding. */
void gb_param_init(const gb_param *param, uint64_t seed, float *values);

/* ---- the program ---- */

typedef int32_t gb_tensor; /* id of a tensor of a tape */
#define GB_NO_TENSOR (-1)

typedef enum gb_type { GB_F32, GB_U32 } gb_type;

typedef enum gb_role {
    GB_ROLE_TEMP,   /* activation or scratch: placed by liveness */
    GB_ROLE_INPUT,  /* written by the host before each run */
    GB_ROLE_OUTPUT, /* temp kept to the end and copied back to the host */
    GB_ROLE_PARAM,  /* in the parameter arena */
    GB_ROLE_GRAD,   /* in the gradient arena */
    GB_ROLE_STATE,  /* whole arenas (parameters, gradients, moments), for the optimiser */
    GB_ROLE_VIEW,   /* rows of another tensor */
} gb_role;

typedef struct gb_tensor_info {
    char name[48];        /* for dumps and messages */
    gb_type type;         /* element type, 4 bytes each */
    gb_role role;         /* where it lives */
    uint32_t rows;        /* rows */
    uint32_t cols;        /* columns */
    uint32_t ld;          /* elements from row to row */
    uint32_t param;       /* index of the parameter (PARAM, GRAD) */
    gb_arena_id arena;    /* which arena (STATE) */
    gb_tensor base;       /* tensor that a VIEW is cut from */
    uint32_t row0;        /* first row of the view in its base */
    gb_tensor grad;       /* gradient of the loss with respect to it, or GB_NO_TENSOR */
    bool needs_grad;      /* depends on a parameter */
    double constant;      /* value of every element when is_constant */
    bool is_constant;     /* known when built (gradients of loss weights) */
    int32_t producer;     /* node that writes it first, -1 none */
    uint32_t first, last; /* nodes of first write and last use (plan) */
    uint64_t offset;      /* bytes from the start of the activation arena (TEMP, OUTPUT) or of the
                             input block (INPUT) */
    bool placed;          /* offset is set */
    bool used;            /* a node reads or writes it (plan) */
} gb_tensor_info;

#define GB_NODE_IN   10
#define GB_NODE_OUT  5
#define GB_NODE_ATTR 12

typedef struct gb_tape gb_tape;
typedef struct gb_node gb_node;
typedef struct gb_emitter gb_emitter;
typedef struct gb_reference gb_reference;
typedef struct gb_executable gb_executable;

/* An operation. Each is one file of src/ops. */
typedef struct gb_op {
    const char *name; /* e.g. "matmul" */
    /* Emits the kernels of a node for the emitter's target. */
    bool (*emit)(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status);
    /* Appends the nodes that compute the gradients of the inputs from those of the outputs; NULL if
     * the operation is itself part of a gradient. */
    bool (*backward)(gb_tape *tape, const gb_node *node, gb_status *status);
    /* Computes the same in float64, as simply as possible. */
    void (*reference)(gb_reference *reference, const gb_tape *tape, const gb_node *node);
} gb_op;

struct gb_node {
    const gb_op *op;             /* what to do */
    gb_tensor in[GB_NODE_IN];    /* read (GB_NO_TENSOR where unused) */
    gb_tensor out[GB_NODE_OUT];  /* written; a tensor both in `in` and `out` is updated in place */
    uint32_t attr[GB_NODE_ATTR]; /* settings; floats by gb_float_bits */
};

gb_tape *gb_tape_create(const gb_params *params, const char *name, gb_status *status);
void gb_tape_destroy(gb_tape *tape);
const char *gb_tape_name(const gb_tape *tape);
const gb_params *gb_tape_params(const gb_tape *tape);

/* Functions that make tensors. They return GB_NO_TENSOR after a failure. The tape remembers the
 * first failure and gb_tape_ok reports it, so that model code need not check every call. */
gb_tensor gb_tape_input(gb_tape *tape, const char *name, gb_type type, uint32_t rows,
                        uint32_t cols);
gb_tensor gb_tape_param(gb_tape *tape, uint32_t param);
gb_tensor gb_tape_grad_arena(gb_tape *tape, uint32_t param); /* gradient slot of a trained one */
gb_tensor gb_tape_state(gb_tape *tape, gb_arena_id arena, uint64_t first, uint64_t floats);
gb_tensor gb_tape_temp(gb_tape *tape, const char *name, gb_type type, uint32_t rows, uint32_t cols);
gb_tensor gb_tape_view(gb_tape *tape, gb_tensor base, uint32_t row0, uint32_t rows);
gb_tensor gb_tape_constant(gb_tape *tape, double value); /* [1,1], known when built, never stored */
void gb_tape_output(gb_tape *tape, gb_tensor tensor);    /* keep to the end, copy to the host */
bool gb_tape_fail(gb_tape *tape, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool gb_tape_ok(const gb_tape *tape, gb_status *status);

/* Writes inputs of a program before a run, by gb_executable_input. `record` is a copy of what it
 * was registered with, `step` the run's number, for inputs that change or are drawn with it. */
typedef bool (*gb_fill)(const void *record, gb_executable *exec, uint32_t step, gb_status *status);
/* Registers `fill` for inputs of the tape: gb_executable_fill calls it. The `bytes` of `record` are
 * copied; what they point to must outlive the tape. */
void gb_tape_fill_by(gb_tape *tape, gb_fill fill, const void *record, size_t bytes);

/* Appends a copy of *node, and sets the producers of its outputs. */
void gb_tape_append(gb_tape *tape, const gb_node *node);
uint32_t gb_tape_node_count(const gb_tape *tape);
gb_node *gb_tape_node(gb_tape *tape, uint32_t index);
const gb_node *gb_tape_node_at(const gb_tape *tape, uint32_t index);
uint32_t gb_tape_tensor_count(const gb_tape *tape);
gb_tensor_info *gb_tape_info(gb_tape *tape, gb_tensor tensor);
const gb_tensor_info *gb_tape_tensor(const gb_tape *tape, gb_tensor tensor);
/* Follows a chain of views to its tensor; *row0 gets the first row of `tensor` in it. */
gb_tensor gb_tape_root(const gb_tape *tape, gb_tensor tensor, uint32_t *row0);
/* Marks nodes [first, end of the program) as one layer to be recomputed: its activations are not
 * kept for its gradient, but computed again from its inputs. */
void gb_tape_layer(gb_tape *tape, uint32_t first);
/* Returns the first node of the layer that ends before node `end`, or UINT32_MAX. */
uint32_t gb_tape_layer_before(const gb_tape *tape, uint32_t end);
/* Appends nodes [first, end) once more, with new tensors for their outputs. Gradients that the
 * outputs have by now become those of the new tensors. */
void gb_tape_repeat(gb_tape *tape, uint32_t first, uint32_t end);
/* Keeps the temps that nodes from `first` on, the gradient, read of those before in another form in
 * the meantime: `keep` makes the form, u32 [rows, ld / 2], and `restore` floats of it; both are
 * nodes with nothing bound. */
void gb_tape_keep_between(gb_tape *tape, uint32_t first, const gb_node *keep,
                          const gb_node *restore);
/* Removes all nodes that no output, gradient or state depends on. */
bool gb_tape_prune(gb_tape *tape, gb_status *status);
/* Writes the program as text, one line per node, for tests and for people. */
void gb_tape_dump(const gb_tape *tape, gb_text *out);

/* ---- memory plan ---- */

typedef struct gb_plan {
    uint64_t buffer_bytes;  /* the arena is cut into buffers of so many; the last may be smaller */
    uint64_t arena_bytes;   /* activations and scratch, in all buffers */
    uint64_t input_bytes;   /* the input block */
    uint64_t temp_bytes;    /* what the temps would take without sharing */
    gb_tensor largest;      /* the largest temp or output, or GB_NO_TENSOR */
    uint64_t largest_bytes; /* of it */
    gb_tensor widest;       /* the same of those, and of views of them, that a node uses */
    uint64_t widest_bytes;  /* of it */
} gb_plan;
/* Gives every temp and output a place in one arena by liveness (largest first, lowest free place),
 * and places the inputs one after the other in a block of their own. `align` is a power of two. The
 * arena lies in buffers of at most buffer_bytes (0: in one), and no tensor in two of them; one that
 * is larger than a buffer is left to the caller, who finds it in plan->largest_bytes. */
bool gb_plan_memory(gb_tape *tape, uint32_t align, uint64_t buffer_bytes, gb_plan *plan,
                    gb_status *status);
/* GB_MEMORY if a planned tensor is larger than a buffer, or one that a kernel sees than a binding.
 */
bool gb_plan_fits(const gb_tape *tape, const gb_plan *plan, const gb_device_caps *caps,
                  gb_status *status);
/* Checks a plan by brute force: true if no two tensors that live at the same time share a byte. */
bool gb_plan_check(const gb_tape *tape, gb_status *status);

/* ---- kernels ---- */

typedef enum gb_access { GB_READ = 1, GB_WRITE = 2, GB_READ_WRITE = 3 } gb_access;

#define GB_KERNEL_BINDINGS 8
#define GB_KERNEL_SPECS    24
#define GB_KERNEL_PUSH     32

/* One dispatch. */
typedef struct gb_kernel {
    const char *shader;                   /* name of the shader */
    const char *label;                    /* for profiles; NULL: the shader's name */
    uint32_t spec[GB_KERNEL_SPECS];       /* specialization constants 0.. */
    uint32_t spec_count;                  /* used ones */
    gb_tensor bind[GB_KERNEL_BINDINGS];   /* tensors at bindings 0.. (GB_NO_TENSOR: none) */
    gb_access access[GB_KERNEL_BINDINGS]; /* how each is used */
    uint32_t texels;               /* bit i: bind[i] is read as texels; if any bit is set, the
                                      shader is "<shader>_texel" */
    uint32_t push[GB_KERNEL_PUSH]; /* push constants, words */
    uint32_t push_count;           /* used words */
    uint32_t grid[3];              /* workgroups */
    double flops;                  /* arithmetic of the dispatch */
    double bytes;                  /* memory traffic of the dispatch */
    bool barrier;                  /* set by the hazard pass: wait for earlier kernels */
    uint32_t node;                 /* node it belongs to */
} gb_kernel;

/* What kernels are emitted for. It is pure data, so that emission can be tested without a device.
 */
typedef struct gb_target {
    gb_kernel_profile profile; /* which family of shaders */
    uint32_t max_groups;       /* workgroups in one grid dimension */
    uint32_t max_invocations;  /* lanes in a workgroup */
    uint32_t max_shared_bytes; /* memory that they share */
    uint64_t max_texel_bytes;  /* largest operand that may be read as texels; 0: none */
    uint32_t avoid;            /* variants not to use, GB_QUIRK_ bits */
    uint32_t tiles;            /* gb_device_caps.tiles */
    gb_matrix matrix;          /* cooperative matrices for products; m 0: none */
} gb_target;
gb_target gb_target_of(const gb_device *device);

struct gb_emitter {
    gb_target target;   /* for whom */
    gb_kernel *kernels; /* emitted so far */
    size_t count;       /* kernels */
    size_t capacity;    /* kernels allocated */
    uint32_t node;      /* node being emitted */
};
bool gb_emit(gb_emitter *emitter, const gb_kernel *kernel, gb_status *status);
/* Reads the operands of `mask` as texels if the target gains from it and they are not too big. */
void gb_use_texels(const gb_target *target, const gb_tape *tape, gb_kernel *kernel, uint32_t mask);
/* Splits n workgroups over x and y within the target's limits; shaders combine them again. */
void gb_grid(const gb_target *target, uint32_t n, uint32_t grid[3]);
/* Emits all kernels of a tape, with the fewest barriers that keep every read after its write, every
 * write after earlier reads, and writes in order. `full` sets a barrier before every kernel. */
bool gb_emit_tape(gb_emitter *emitter, const gb_tape *tape, bool full, gb_status *status);
/* Checks the barriers independently: false, and a message that names both kernels, if two kernels
 * without a barrier between them touch the same bytes and one of them writes. */
bool gb_hazard_check(const gb_tape *tape, const gb_kernel *kernels, size_t count,
                     gb_status *status);

/* ---- running on Vulkan ---- */

/* Parameters on the device, and when they are trained their gradients and moments. */
typedef struct gb_state gb_state;
gb_state *gb_state_create(gb_device *device, const gb_params *params, bool training,
                          gb_status *status); /* training false: parameters only */
void gb_state_destroy(gb_state *state);
/* A whole arena, from or to the host. */
bool gb_state_write(gb_state *state, gb_arena_id arena, const float *values, gb_status *status);
bool gb_state_read(gb_state *state, gb_arena_id arena, float *values, gb_status *status);
/* Floats [first, first + count) of the parameters' arena, whose bits are copied as they are: for
 * models that the host does not hold as a whole. */
bool gb_state_write_part(gb_state *state, uint64_t first, uint64_t count, const void *values,
                         gb_status *status);
/* Sets an arena to zeros, after all runs submitted so far; does not wait. */
bool gb_state_clear(gb_state *state, gb_arena_id arena, gb_status *status);

/* A tape recorded for a device: a program. It has two slots of inputs and outputs, so that the host
 * prepares step t+1 while the device runs step t. All programs of a state run one after the other
 * and share the memory of their activations, as much as the largest of them needs; nothing in it
 * outlives a run. Destroy them before their state. For tests, gb_config.poison fills that memory
 * with NaN before every run. */

/* Makes one of a tape and a state that belong to the caller. */
gb_executable *gb_executable_create(gb_state *state, gb_tape *tape, gb_status *status);
void gb_executable_destroy(gb_executable *exec);

/* What a program that owns its tape is built from. */
typedef struct gb_executable_params {
    const char *name; /* for messages */
    /* Where the parameters are. Programs of one model share a state that the caller owns. With NULL
     * the program owns one on `device`, of `params`, with `values` or zeros; without `params` also
     * those are its own: `declare` adds them, and gb_params_init draws their values. */
    gb_state *state;
    gb_device *device;       /* where it runs */
    const gb_params *params; /* must outlive it */
    const float *values;     /* [gb_params_floats], or NULL */
    bool (*declare)(void *self, gb_params *params, gb_status *status);
    bool training; /* the state has gradients and moments */
    /* Appends the operations, inputs and outputs. The tape remembers failures of its functions. */
    bool (*build)(void *self, gb_tape *tape, gb_status *status);
    void *self; /* the first argument of both */
} gb_executable_params;
/* Builds, plans and records a program; NULL with status if any of that fails. */
gb_executable *gb_executable_build(const gb_executable_params *params, gb_status *status);
const gb_tape *gb_executable_tape(const gb_executable *exec);
gb_state *gb_executable_state(const gb_executable *exec);

uint64_t gb_executable_arena_bytes(const gb_executable *exec);
double gb_executable_flops(const gb_executable *exec);
/* Returns where to write an input for the next run: [rows * ld] elements. They are zero at first,
 * and later keep what was last written to this slot. Waits until the slot is free. */
void *gb_executable_input(gb_executable *exec, gb_tensor input, gb_status *status);
/* Writes the inputs that functions were registered for, in the order of their registration. */
bool gb_executable_fill(gb_executable *exec, uint32_t step, gb_status *status);
bool gb_executable_run(gb_executable *exec, uint64_t *ticket,
                       gb_status *status); /* submits, does not wait */
/* Fills the inputs and runs. */
bool gb_executable_submit(gb_executable *exec, uint32_t step, uint64_t *ticket, gb_status *status);
/* Waits for a run and returns an output of it: [rows * ld] elements, valid until two runs later. */
const void *gb_executable_output(gb_executable *exec, uint64_t ticket, gb_tensor output,
                                 gb_status *status);
bool gb_executable_wait(gb_executable *exec, uint64_t ticket, gb_status *status);

/* ---- running the reference ---- */

/* Interprets the same tape in float64. Tensors have the device's layout, [rows, ld]. */
gb_reference *gb_reference_create(const gb_tape *tape, gb_status *status);
void gb_reference_destroy(gb_reference *reference);
double *gb_reference_f(gb_reference *reference, gb_tensor tensor);   /* float tensors */
uint32_t *gb_reference_u(gb_reference *reference, gb_tensor tensor); /* uint tensors */
/* Its gb_params_arena_floats values. */
double *gb_reference_arena(gb_reference *reference, gb_arena_id arena);
void gb_reference_run(gb_reference *reference);
void gb_reference_run_nodes(gb_reference *reference, uint32_t first, uint32_t end);

#endif
