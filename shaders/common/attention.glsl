// What the three attention kernels share. The keys of a sequence lie one behind the other, and so do its
// queries: in rows key_start(s)..key_start(s + 1) of the keys and query_start(s).. of the queries. A
// workgroup serves one (sequence, head) and walks its rows in strips of one row a lane; the rows of the
// other side are the same for all lanes, so they are read once.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint HEAD4 = 4;    // head dimension / 4
layout(constant_id = 2) const uint MASK = 0;     // 0 all, 1 causal, 2 causal window, 3 by bits
layout(constant_id = 3) const bool DROPOUT = false;

#include "grid.glsl"
#include "philox.glsl"
#include "purpose.h"
#include "push.h"

// The host's list of sequences: seed low, seed high, step, first row, then starts[sequences + 1] of the keys, and of the
// queries where they are not all rows. First row: where row 0 stands in the whole batch, whose draws are made again.
layout(set = 0, binding = 0) readonly buffer Sequences { uint sequence_words[]; };

layout(push_constant) uniform Push { ATTENTION_PUSH };

uint key_start(uint s)
{
    return sequence_words[4 + s];
}

uint query_start(uint s)
{
    return sequence_words[queries_at + s];
}

// Row of the batch, which masks and draws go by, of the query at `place`.
uint query_row(uint place)
{
    return rows_at == 0 ? place : sequence_words[rows_at + place];
}

// Which keys each query sees, words of bits.
layout(set = 0, binding = 3) readonly buffer Bits { uint bits[]; };

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
