/* Failures on demand, for tests. */
#include "gabbro/base.h"

#include <stdatomic.h>

static atomic_ullong left; /* operations up to the one to fail, with it; 0: none shall */
static atomic_int seen;    /* kind of the one that was made to fail */

void gb_fault_arm(uint64_t n)
{
    atomic_store(&seen, GB_FAULT_NONE);
    atomic_store(&left, n);
}

bool gb_fault(gb_fault_kind kind)
{
    if (__builtin_expect(atomic_load_explicit(&left, memory_order_relaxed) == 0, 1))
        return false;
    unsigned long long before = atomic_load(&left);
    while (before && !atomic_compare_exchange_weak(&left, &before, before - 1))
        continue;
    if (before == 1)
        atomic_store(&seen, kind);
    return before == 1;
}

uint64_t gb_fault_left(void)
{
    return atomic_load(&left);
}

gb_fault_kind gb_fault_seen(void)
{
    return (gb_fault_kind)atomic_load(&seen);
}
