/* One line a check against a program or a formulation that shares nothing with ours, to be
 * collected into a table: trust:<TAB>what<TAB>against what<TAB>worst difference<TAB>bound */
#ifndef TESTS_PARITY_TRUST_H
#define TESTS_PARITY_TRUST_H

#include <criterion/criterion.h>
#include <stdio.h>

static inline void trust(const char *what, const char *against, double worst, double bound)
{
    printf("trust:\t%s\t%s\t%.2g\t%.2g\n", what, against, worst, bound);
    fflush(stdout);
    cr_expect_leq(worst, bound, "%s differs from %s by %g, more than %g", what, against, worst,
                  bound);
}

#endif
