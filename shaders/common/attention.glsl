// What the three attention kernels share. Sequences lie one behind the other in rows
// offsets[s]..offsets[s+1]; a workgroup serves one (sequence, head) and walks its rows in strips of
// one row a lane; the rows of the other side are the same for all lanes, so they are read once.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint HEAD4 = 4;    // head dimension / 4
layout(constant_id = 2) const uint MASK = 0;     // 0 all, 1 causal, 2 causal window, 3 by bits
layout(constant_id = 3) const bool DROPOUT = false;

#include "grid.glsl"
#include "philox.glsl"

// The host's list of sequences: seed low, seed high, step, first row, then offsets[sequences + 1].
// First row: PARTS and PICKED alone read it, where row 0 stands in the whole batch whose draws are made again.
layout(set = 0, binding = 0) readonly buffer Sequences { uint sequence_words[]; };

layout(push_constant) uniform Push {
    uint sequences, heads;
    uint strips;          // workgroups that share the rows of one (sequence, head)
    uint q_ld4, q_col4;   // query matrix: row stride and first column, in vec4s
    uint kv_ld4, k_col4, v_col4;
    uint out_ld4;         // attention output
    uint lse_ld;          // [rows, 2 * heads]: log-sum-exp, then delta
    uint window, mask_ld; // MASK 2: keys i-window+1..i and key 0; MASK 3: words a row of bits
    float scale;          // 1 / sqrt(head dimension)
    uint site, threshold; // DROPOUT: stream and threshold of the keep draw
    float keep_scale;     // 1 / (1 - p)
    uint dq_ld4, dq_col4, dkv_ld4, dk_col4, dv_col4;
#ifdef PICKED
    uint places; // of the batch
#endif
};

uint sequence_start(uint s)
{
    return sequence_words[4 + s];
}

// Places of the queries: with PICKED only some rows are queries, and output, log-sum-exp and their
// gradients have a row for each of them. Otherwise place and row are the same.
#ifdef PICKED
// starts[sequences + 1] of each one's places, row[place], place[row] or ~0.
layout(set = 0, binding = 3) readonly buffer Picked { uint bits[]; };
#define FIND_QUERIES uint own = bits[s], queries = bits[s + 1] - own;
#define FIND_ROW(i) uint place = own + min(i, queries - 1), row = row_of(place);
uint row_of(uint place) { return bits[sequences + 1 + place]; }
uint place_of(uint row) { return bits[sequences + 1 + places + row]; }
#else
#define FIND_QUERIES
#define FIND_ROW(i) uint row = start + min(i, length - 1);
#define own start
#define queries length
#define place row
#define row_of(at) (at)
#endif

// Query i may look at key j (row numbers inside the sequence).
bool visible(uint i, uint j)
{
    if (MASK == 1)
        return j <= i;
    if (MASK == 2)
        return j == 0 || (j <= i && j + window > i);
    return true;
}

// Factor of the attention probability: 1/(1-p) or 0.
float keep(uint row, uint j, uint head)
{
#if defined(PARTS) || defined(PICKED)
    row += sequence_words[3];
#endif
    uvec4 bits = philox(uvec4(row, (head << 16) | (j >> 2), sequence_words[2], (site << 4) | 7u),
                        uvec2(sequence_words[0], sequence_words[1]));
    return bits[j & 3u] >= threshold ? keep_scale : 0.0;
}
