// What the three attention kernels share. Sequences lie one behind the other in rows
// offsets[s]..offsets[s+1]; a workgroup serves one (sequence, head) and walks its rows in strips of
// one row a lane; the rows of the other side are the same for all lanes, so they are read once.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint HEAD4 = 4;    // head dimension / 4
layout(constant_id = 2) const uint MASK = 0;     // 0 all, 1 causal, 2 causal window, 3 by bits
layout(constant_id = 3) const bool DROPOUT = false;

#include "grid.glsl"
#include "philox.glsl"
#include "purpose.h"
#include "push.h"

// The host's list of sequences: seed low, seed high, step, first row, then offsets[sequences + 1]. First row: where row
// 0 stands in the whole batch, whose draws are made again.
layout(set = 0, binding = 0) readonly buffer Sequences { uint sequence_words[]; };

layout(push_constant) uniform Push { ATTENTION_PUSH };

uint sequence_start(uint s)
{
    return sequence_words[4 + s];
}

// Which keys each row sees, words of bits; SELECTED: starts[sequences + 1] of each sequence's places,
// row[place], place[row] or ~0.
layout(set = 0, binding = 3) readonly buffer Bits { uint bits[]; };

// Places of the queries of a sequence whose rows are start..start + length: with SELECTED only some rows
// are queries, and output, log-sum-exp and their gradients have a row for each of them. Otherwise
// place and row are the same.
struct Queries {
    uint first, count; // places
};

Queries queries_of(uint s, uint start, uint length)
{
#ifdef SELECTED
    return Queries(bits[s], bits[s + 1] - bits[s]);
#else
    return Queries(start, length);
#endif
}

uint query_row(uint place)
{
#ifdef SELECTED
    return bits[sequences + 1 + place];
#else
    return place;
#endif
}

#ifdef SELECTED
uint query_place(uint row)
{
    return bits[sequences + 1 + slots + row];
}
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
    uvec4 bits = philox(uvec4(sequence_words[3] + row, (head << 16) | (j >> 2), sequence_words[2],
                              (dropout_index << 4) | PURPOSE_DROPOUT),
                        uvec2(sequence_words[0], sequence_words[1]));
    return bits[j & 3u] >= threshold ? keep_scale : 0.0;
}
