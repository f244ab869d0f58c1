// Philox4x32-10: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011. The same bits as gb_philox() in src/base/rng.c; the stream of gb_rng_make() is
// philox(uvec4(block, step, row, purpose), uvec2(low half of the seed, high half)).
#ifndef GABBRO_PHILOX_GLSL
#define GABBRO_PHILOX_GLSL

uvec4 philox(uvec4 counter, uvec2 key)
{
    for (int i = 0; i < 10; i++) {
        uint high0, low0, high1, low1;
        umulExtended(0xD2511F53u, counter.x, high0, low0);
        umulExtended(0xCD9E8D57u, counter.z, high1, low1);
        counter = uvec4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
        key += uvec2(0x9E3779B9u, 0xBB67AE85u);
    }
    return counter;
}

#endif
