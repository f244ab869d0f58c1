// The k largest of each row of scores [rows, cols] and their columns, by radix selection: four
// passes find the k-th largest value eight bits at a time, four more the last column among equals
// where those do not all fit, one counts each lane's share and one writes it. NaN is below
// everything, -0 equals 0. Results lie lane after lane, each lane's in the order of columns.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/rows.glsl"
#include "common/push.h"

layout(constant_id = 2) const uint ROWS_PER_GROUP = 1;
layout(set = 0, binding = 0) readonly buffer Scores { uvec4 scores[]; }; // bits of floats
layout(set = 0, binding = 1) writeonly buffer Values { uint values[]; };
layout(set = 0, binding = 2) writeonly buffer Columns { uint columns[]; };
layout(push_constant) uniform Push { TOP_K_PUSH };

const uint NO_ROW = 0xffffffffu, MINUS_INFINITY = 0xff800000u;

shared uint bins[ROWS_PER_GROUP * 256];
shared uint shares[gl_WorkGroupSize.x];

// Unsigned numbers in the order of the floats.
uvec4 order_of(uvec4 bits)
{
    uvec4 magnitude = bits & 0x7fffffffu;
    bits = mix(bits, uvec4(0), equal(magnitude, uvec4(0)));
    uvec4 key = mix(bits | 0x80000000u, ~bits, greaterThanEqual(bits, uvec4(0x80000000u)));
    return mix(key, uvec4(0), greaterThan(magnitude, uvec4(0x7f800000u)));
}

// Lanes of one row keep step; a lane with a row of its own needs no one.
void keep_step()
{
    if (LANES_PER_ROW > 1)
        barrier();
}

void count(uint bin)
{
    if (LANES_PER_ROW > 1)
        atomicAdd(bins[bin], 1u);
    else
        bins[bin]++;
}

void main()
{
    uint row = row_index();
    if (row >= rows)
        return; // with more than one lane a row, the whole workgroup
    uint base = row * ld4, first_bin = gl_LocalInvocationID.x / LANES_PER_ROW * 256;
    uint cols4 = (cols + 3) / 4, found = min(k, cols);

    // Keys above `last`, and those equal to it whose inverted column is at least `last_inverse`.
    uint last = 0u, last_inverse = 0u, left = found, equals = 0u;
    for (uint pass = 0; pass < 8 && left != equals; pass++) {
        bool by_column = pass >= 4;
        uint shift = 24 - pass % 4 * 8;
        uint known = ~((256u << shift) - 1u); // bits settled before, none at first
        for (uint i = row_lane(); i < 256; i += LANES_PER_ROW)
            bins[first_bin + i] = 0u;
        keep_step();
        for (uint c4 = row_lane(); c4 < cols4; c4 += LANES_PER_ROW) {
            uvec4 key = order_of(scores[base + c4]);
            [[unroll]] for (uint j = 0; j < 4; j++) {
                uint inverse = ~(c4 * 4 + j);
                bool same = by_column ? key[j] == last && (inverse & known) == last_inverse
                                      : (key[j] & known) == last;
                if (c4 * 4 + j < cols && same)
                    count(first_bin + ((by_column ? inverse : key[j]) >> shift & 255u));
            }
        }
        keep_step();
        uint bin = 255;
        equals = bins[first_bin + bin];
        while (equals < left) { // ends at bin 0 at the latest: `left` such keys exist
            left -= equals;
            equals = bins[first_bin + --bin];
        }
        if (by_column)
            last_inverse |= bin << shift;
        else
            last |= bin << shift;
        keep_step();
    }

    uint share = 0u;
    if (LANES_PER_ROW > 1) {
        for (uint c4 = row_lane(); c4 < cols4; c4 += LANES_PER_ROW) {
            uvec4 key = order_of(scores[base + c4]);
            [[unroll]] for (uint j = 0; j < 4; j++) {
                uint c = c4 * 4 + j;
                if (c < cols && (key[j] > last || key[j] == last && ~c >= last_inverse))
                    share++;
            }
        }
        shares[gl_LocalInvocationID.x] = share;
        barrier();
    }
    uint at = 0u;
    for (uint i = 0; i < row_lane(); i++)
        at += shares[i];
    for (uint c4 = row_lane(); c4 < cols4 && found > 0; c4 += LANES_PER_ROW) {
        uvec4 bits = scores[base + c4], key = order_of(bits);
        [[unroll]] for (uint j = 0; j < 4; j++) {
            uint c = c4 * 4 + j;
            if (c < cols && (key[j] > last || key[j] == last && ~c >= last_inverse)) {
                values[row * values_ld + at] = bits[j];
                columns[row * columns_ld + at] = c;
                at++;
            }
        }
    }
    for (uint i = found + row_lane(); i < k; i += LANES_PER_ROW) {
        values[row * values_ld + i] = MINUS_INFINITY;
        columns[row * columns_ld + i] = NO_ROW;
    }
}
