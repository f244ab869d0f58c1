// What the attention kernels for GPUs share: a workgroup makes the gradients or outputs of TILE own rows of one
// (sequence, head), queries or keys, and walks the other side TILE rows at a time. The products of a tile are made as
// matmul_scalar makes them: both sides pass through shared memory CHUNK4 vec4s of the head at a time. Lane (r, c) has
// own rows 4r + i as the components of a vec4, the other side's rows c * COLUMNS + t, and vec4s c + C * u of the head; so
// what it knows of its own rows serves scores and sums alike, and neighbours in a row share what dropout draws. No scores reach memory, and all sums are made in a fixed
// order. With -DGQA rows are those of attention_gqa.glsl, else of attention.glsl.
#include "attention_lists.glsl"
layout(constant_id = 4) const uint LANES = 64; // the same value as id 0

const uint TILE = 32;
const uint CHUNK4 = 4;
const uint C = LANES / 8;             // lanes of a row
const uint COLUMNS = TILE / C;        // of the other side, of a lane
const uint UNITS = (HEAD4 + C - 1) / C; // vec4s of the head, of a lane
const uint LINE = CHUNK4 + 1;         // odd, so that the eight rows lie in different banks
const uint OTHERS = TILE * LINE;      // where the other side is staged
const uint SCRATCH = TILE * 8;        // of rows; in front of it lie the weights of a tile, [other row][r]

shared vec4 staged[SCRATCH + LANES]; // at least 2 * OTHERS, as LANES is 64 or more

uint r = gl_LocalInvocationID.x % 8, c = gl_LocalInvocationID.x / 8;

// Rows of a lane, in a tile. In shared memory row 4r + i lies at r + 8i, and the other side's c * COLUMNS + t at c + C * t,
// so that lanes read different banks.
uint own_row(uint i)
{
    return 4 * r + i;
}

uint other_row(uint t)
{
    return COLUMNS * c + t;
}

#include "attention_rows.glsl"

// The products of a chunk, added.
void multiply(inout vec4 sums[COLUMNS])
{
    [[unroll]] for (uint d = 0; d < CHUNK4; d++) {
        mat4 own;
        [[unroll]] for (uint i = 0; i < 4; i++)
            own[i] = staged[(r + 8 * i) * LINE + d];
        own = transpose(own);
        [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
            const vec4 other = staged[OTHERS + (c + C * t) * LINE + d];
            [[unroll]] for (uint k = 0; k < 4; k++)
                sums[t] += other[k] * own[k];
        }
    }
}

// sums[t] = own rows from own0 on times other rows from other0 on; own_part, other_part: functions of row and vec4.
#define PRODUCTS(sums, own_part, own0, other_part, other0)                                        \
    [[unroll]] for (uint t = 0; t < COLUMNS; t++)                                                 \
        sums[t] = vec4(0.0);                                                                      \
    for (uint d0 = 0; d0 < HEAD4; d0 += CHUNK4) {                                                 \
        barrier();                                                                                \
        [[unroll]] for (uint x = gl_LocalInvocationID.x; x < TILE * CHUNK4; x += LANES) {         \
            const uint line = x / CHUNK4, d = d0 + x % CHUNK4, at = x % CHUNK4;                   \
            const vec4 own = own_part((own0) + line, min(d, HEAD4 - 1));                          \
            const vec4 other = other_part((other0) + line, min(d, HEAD4 - 1));                    \
            staged[(line % 4 * 8 + line / 4) * LINE + at] = d < HEAD4 ? own : vec4(0.0);          \
            staged[OTHERS + (line % COLUMNS * C + line / COLUMNS) * LINE + at] =                  \
                d < HEAD4 ? other : vec4(0.0);                                                    \
        }                                                                                         \
        barrier();                                                                                \
        multiply(sums);                                                                           \
    }                                                                                             \
    barrier();

// acc[4 * u + i] += sum over `count` other rows from other0 on of the weight of own row 4r + i times the row.
#define ACCUMULATE(acc, other_part, other0, count)                                                \
    for (uint j = 0; j < (count); j++) {                                                          \
        const vec4 weight = staged[j * 8 + r];                                                    \
        [[unroll]] for (uint u = 0; u < UNITS; u++) {                                             \
            const vec4 part = other_part((other0) + j, min(c + C * u, HEAD4 - 1));                \
            [[unroll]] for (uint i = 0; i < 4; i++)                                               \
                acc[4 * u + i] += weight[i] * part;                                               \
        }                                                                                         \
    }

// Of own rows, over the lanes of each, in a fixed order. There must be a barrier behind the last use of shared memory.
vec4 of_rows(vec4 v, bool greatest)
{
    staged[SCRATCH + gl_LocalInvocationID.x] = v;
    barrier();
    v = staged[SCRATCH + r];
    for (uint k = 1; k < C; k++) {
        const vec4 next = staged[SCRATCH + k * 8 + r];
        v = greatest ? max(v, next) : v + next;
    }
    return v;
}
