/* Cooperative matrices of SPV_NV_cooperative_matrix, which older compilers write, as those of
 * SPV_KHR_cooperative_matrix, which more devices have. The instructions correspond one to one;
 * KHR's types also say whether a matrix is A, B or C of a product, which is read off the products,
 * and its loads and stores name the layout by a number instead of a bool. Matrices of half floats
 * become matrices of bfloat16 (SPV_KHR_bfloat16) where those are wanted: their memory holds words
 * of bits in our kernel, so that nothing else of it knows the type. */
#include "vk/private.h"

#include <stdlib.h>
#include <string.h>

enum {
    OP_EXTENSION = 10,
    OP_CAPABILITY = 17,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_CONSTANT_TRUE = 41,
    OP_CONSTANT_FALSE = 42,
    OP_CONSTANT = 43,
    OP_LOAD = 61,
    OP_COPY = 83,
    OP_PHI = 245,
    NV_TYPE = 5358, /* five instructions, in the same order in both extensions */
    NV_LOAD = 5359,
    NV_STORE = 5360,
    NV_MULTIPLY_ADD = 5361,
    NV_LENGTH = 5362,
    KHR_TYPE = 4456,
    CAPABILITY_FLOAT16 = 9,
    CAPABILITY_BFLOAT16 = 5116,
    CAPABILITY_BFLOAT16_MATRIX = 5118,
    ENCODING_BFLOAT16 = 0, /* of a type of 16 bits */
    CAPABILITY_NV = 5357,
    CAPABILITY_KHR = 6022,
    HEADER_WORDS = 5,
    BOUND = 3, /* word of the header: all ids are smaller */
};

static const char nv_name[28] = "SPV_NV_cooperative_matrix";
static const char khr_name[28] = "SPV_KHR_cooperative_matrix"; /* as many words */
static const char bfloat16_name[20] = "SPV_KHR_bfloat16";
#define BFLOAT16_WORDS (1 + 2 + 1 + sizeof bfloat16_name / 4) /* that a module grows by */

enum { USE_A = 1, USE_B, USE_C, USES = USE_C }; /* of a matrix in a product, KHR's numbers + 1 */
enum { ROWS, COLUMNS, UNKNOWN };                /* layouts */

/* What is known of an id. */
typedef struct known {
    uint32_t type;   /* of a value that may be a matrix */
    uint32_t use;    /* of a type of matrices: USE_..., 0: none yet */
    uint32_t layout; /* that a constant bool stands for */
} known;

typedef struct rewriting {
    known *ids;          /* by id */
    uint32_t bound;      /* ids of the given module */
    uint32_t uint_type;  /* id of uint */
    uint32_t half_type;  /* id of half floats */
    bool bfloat16;       /* make them bfloat16 */
    bool capable, named; /* the capabilities of that are in the new module, the extension is */
    uint32_t *out;       /* new module */
    size_t used;         /* words of it */
    bool placed;         /* the new constants 0, 1, 2 are in it, ids bound.. */
    const char *wrong;   /* why it cannot be done */
} rewriting;

static known *at_id(rewriting *r, uint32_t id)
{
    if (id < r->bound)
        return &r->ids[id];
    r->wrong = "an id is out of bounds";
    return &r->ids[0];
}

static void set_use(rewriting *r, uint32_t type, uint32_t use)
{
    known *k = at_id(r, type);
    if (k->use && k->use != use)
        r->wrong = "a type of matrices has two uses";
    k->use = use;
}

/* Note what an instruction says about ids. */
static void learn(rewriting *r, const uint32_t *w, uint32_t opcode, uint32_t length)
{
    bool typed = opcode == OP_LOAD || opcode == OP_COPY || opcode == OP_PHI || opcode == NV_LOAD ||
                 opcode == NV_MULTIPLY_ADD;
    if (opcode == OP_TYPE_INT && length == 4 && w[2] == 32 && !w[3])
        r->uint_type = w[1];
    else if (opcode == OP_TYPE_FLOAT && length == 3 && w[2] == 16)
        r->half_type = w[1];
    else if (opcode == OP_CONSTANT && r->bfloat16 && w[1] == r->half_type)
        r->wrong = "there are constants of half floats";
    else if ((opcode == OP_CONSTANT_TRUE || opcode == OP_CONSTANT_FALSE) && length == 3)
        at_id(r, w[2])->layout = opcode == OP_CONSTANT_TRUE ? COLUMNS : ROWS;
    else if (typed && length > 3)
        at_id(r, w[2])->type = w[1];
}

/* Uses follow from the products; operands may be known only after them (loops). */
static void learn_use(rewriting *r, const uint32_t *w, uint32_t opcode, uint32_t length)
{
    if (opcode != NV_MULTIPLY_ADD || length != 6)
        return;
    set_use(r, at_id(r, w[3])->type, USE_A);
    set_use(r, at_id(r, w[4])->type, USE_B);
    set_use(r, w[1], USE_C);
}

static void put(rewriting *r, uint32_t word)
{
    r->out[r->used++] = word;
}

static void rewrite_type(rewriting *r, const uint32_t *w)
{
    uint32_t use = at_id(r, w[1])->use;
    if (!use || !r->uint_type)
        r->wrong = "a type of matrices is in no product";
    for (uint32_t value = 0; !r->placed && value < USES; value++) {
        put(r, 4u << 16 | OP_CONSTANT);
        put(r, r->uint_type);
        put(r, r->bound + value);
        put(r, value);
    }
    r->placed = true;
    put(r, 7u << 16 | KHR_TYPE);
    for (int i = 1; i <= 5; i++)
        put(r, w[i]);
    put(r, r->bound + use - 1);
}

/* NV: pointer, [object,] stride, columns, ...; KHR: pointer, [object,] layout, stride, ... */
static void rewrite_access(rewriting *r, uint32_t *w, uint32_t stride_at)
{
    uint32_t layout = at_id(r, w[stride_at + 1])->layout;
    if (layout == UNKNOWN)
        r->wrong = "a layout is no literal";
    w[stride_at + 1] = w[stride_at];
    w[stride_at] = r->bound + layout;
}

/* What bfloat16 asks for goes where half floats asked for theirs; the name before other names. */
static void add_bfloat16(rewriting *r, const uint32_t *w, uint32_t opcode)
{
    if (opcode == OP_CAPABILITY && w[1] == CAPABILITY_FLOAT16) {
        put(r, 2u << 16 | OP_CAPABILITY);
        put(r, CAPABILITY_BFLOAT16_MATRIX);
        r->capable = true;
    } else if (opcode == OP_EXTENSION && !r->named) {
        put(r, (uint32_t)(1 + sizeof bfloat16_name / 4) << 16 | OP_EXTENSION);
        memcpy(r->out + r->used, bfloat16_name, sizeof bfloat16_name);
        r->used += sizeof bfloat16_name / 4;
        r->named = true;
    }
}

static void rewrite(rewriting *r, const uint32_t *w, uint32_t opcode, uint32_t length)
{
    if (opcode == NV_TYPE && length == 6) {
        rewrite_type(r, w);
        return;
    }
    if (r->bfloat16)
        add_bfloat16(r, w, opcode);
    uint32_t *own = r->out + r->used;
    memcpy(own, w, length * sizeof *w);
    r->used += length;
    if (opcode >= NV_TYPE && opcode <= NV_LENGTH)
        own[0] = length << 16 | (opcode - NV_TYPE + KHR_TYPE);
    if (opcode == NV_LOAD && length > 5)
        rewrite_access(r, own, 4);
    else if (opcode == NV_STORE && length > 4)
        rewrite_access(r, own, 3);
    else if (opcode == OP_CAPABILITY && w[1] == CAPABILITY_NV)
        own[1] = CAPABILITY_KHR;
    else if (r->bfloat16 && opcode == OP_CAPABILITY && w[1] == CAPABILITY_FLOAT16)
        own[1] = CAPABILITY_BFLOAT16;
    else if (r->bfloat16 && opcode == OP_TYPE_FLOAT && w[1] == r->half_type) {
        own[0] = 4u << 16 | OP_TYPE_FLOAT;
        put(r, ENCODING_BFLOAT16);
    } else if (opcode == OP_EXTENSION && length == 8 && !memcmp(w + 1, nv_name, sizeof nv_name - 2))
        memcpy(own + 1, khr_name, sizeof khr_name);
}

/* Every instruction of a module to `visit`; false where its lengths do not add up. */
static bool each(rewriting *r, const uint32_t *words, size_t count,
                 void (*visit)(rewriting *, const uint32_t *, uint32_t, uint32_t))
{
    for (size_t at = HEADER_WORDS; at < count && !r->wrong;) {
        uint32_t length = words[at] >> 16;
        if (!length || length > count - at)
            return false;
        visit(r, words + at, words[at] & 0xffff, length);
        at += length;
    }
    return !r->wrong;
}

bool vk_spirv_has_nv_matrices(const uint32_t *words, size_t count)
{
    for (size_t at = HEADER_WORDS; at + 1 < count && words[at] >> 16; at += words[at] >> 16)
        if (words[at] == (2u << 16 | OP_CAPABILITY) && words[at + 1] == CAPABILITY_NV)
            return true;
    return false;
}

uint32_t *vk_spirv_khr_matrices(const uint32_t *words, size_t count, bool bfloat16,
                                size_t *out_count, gb_status *status)
{
    rewriting r = {.bound = count > HEADER_WORDS ? words[BOUND] : 0, .bfloat16 = bfloat16};
    /* A type grows by a word, the constants are 12. */
    r.ids = gb_alloc((size_t)r.bound + 1, sizeof *r.ids, status);
    r.out = r.ids ? gb_alloc(count + count / 6 + 4 * USES + BFLOAT16_WORDS, sizeof *r.out, status)
                  : NULL;
    if (!r.out) {
        free(r.ids);
        return NULL;
    }
    for (uint32_t i = 0; i < r.bound; i++)
        r.ids[i].layout = UNKNOWN;
    memcpy(r.out, words, HEADER_WORDS * sizeof *words);
    r.used = HEADER_WORDS;
    r.out[BOUND] += USES;
    bool ok = r.bound && each(&r, words, count, learn) && each(&r, words, count, learn_use) &&
              each(&r, words, count, rewrite);
    free(r.ids);
    if (ok && bfloat16 && !(r.capable && r.named && r.half_type)) {
        r.wrong = "there are no half floats";
        ok = false;
    }
    if (ok) {
        *out_count = r.used;
        return r.out;
    }
    free(r.out);
    gb_fail(status, GB_INTERNAL, "cooperative matrices", NULL, "cannot be rewritten: %s",
            r.wrong ? r.wrong : "the module is damaged");
    return NULL;
}
