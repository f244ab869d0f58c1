/* Base room: random numbers, files, lines, map, text. */
#include "gabbro/base.h"

#include <criterion/criterion.h>

Test(rng, philox_matches_published_vectors)
{
    static const uint32_t cases[3][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    for (int i = 0; i < 3; i++) {
        uint32_t out[4];
        gb_philox(cases[i], cases[i] + 4, out);
        for (int j = 0; j < 4; j++)
            cr_expect_eq(out[j], cases[i][6 + j], "case %d word %d: %08x", i, j, out[j]);
    }
}
