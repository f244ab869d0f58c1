// Rows of the attention kernels for GPUs, of attention_lists.glsl: which a workgroup has, TILE own ones, what they hold, who
// sees whom, and what dropout leaves.

// Of the workgroup: head of the queries and of the keys, first rows and numbers of both.
uint head, kv_head, queries, query_count, keys, key_count;

// Which sequence, head (of `own_heads`) and tile a workgroup has; false: none. Returns the tile's first row in own0.
bool find_tile(uint own_heads, out uint own0)
{
    uint group = group_index(), s = group / strips / own_heads;
    own0 = group % strips * TILE;
    if (s >= sequences)
        return false;
    kv_head = head = (group / strips) % own_heads;
#ifdef GQA
    queries = spans[s].x;
    query_count = spans[s].y;
    keys = spans[s].z;
    key_count = spans[s].w;
#else
    queries = query_start(s);
    query_count = query_start(s + 1) - queries;
    keys = key_start(s);
    key_count = key_start(s + 1) - keys;
#endif
    return true;
}

// Rows of the batch; those behind the last are the last one.
uint query_at(uint i)
{
    return queries + min(i, query_count - 1);
}

uint key_at(uint j)
{
    return keys + min(j, key_count - 1);
}

vec4 query_part(uint i, uint d)
{
    return q(query_at(i) * q_ld4 + q_col4 + head * HEAD4 + d);
}

vec4 key_part(uint j, uint d)
{
    return kv(key_at(j) * kv_ld4 + k_col4 + kv_head * HEAD4 + d);
}

vec4 value_part(uint j, uint d)
{
    return kv(key_at(j) * kv_ld4 + v_col4 + kv_head * HEAD4 + d);
}

#ifdef GQA
uint place; // of the first query among the keys
const bool KEEPS_ALL = true;
#else
const bool KEEPS_ALL = !DROPOUT;
#endif

bool sees(uint i, uint j)
{
    if (i >= query_count || j >= key_count)
        return false;
#ifdef GQA
    return !CAUSAL || j <= place + i;
#else
    if (MASK == 3)
        return ((bits[query_at(i) * mask_ld + j / 32] >> (j & 31)) & 1u) != 0u;
    // As `visible` has it, with one comparison less: each one of a lane takes a pair of scalar registers on AMD.
    if (MASK == 2)
        return j == 0 || query_row(query_at(i)) - keys - j < window;
    return MASK == 0 || visible(query_row(query_at(i)) - keys, j);
#endif
}

float score_of(float product, uint i, uint j)
{
#ifdef GQA
    return product * scale + bias_of(place + i, j, head);
#else
    return product * scale;
#endif
}

// Factors of the probabilities of query i and the keys 4 * j4 to 4 * j4 + 3, which are drawn together (`keep`).
vec4 kept_of(uint i, uint j4)
{
#ifndef GQA
    if (DROPOUT) {
        const uint row = query_row(query_at(i));
        const uvec4 drawn = philox(uvec4(sequence_words[3] + row, (head << 16) | j4, sequence_words[2],
                                         (dropout_index << 4) | PURPOSE_DROPOUT),
                                   uvec2(sequence_words[0], sequence_words[1]));
        return mix(vec4(0.0), vec4(keep_scale), greaterThanEqual(drawn, uvec4(threshold)));
    }
#endif
    return vec4(1.0);
}
