/* One line a check against a program or a formulation that shares nothing with ours, or of a run
 * with another one, to be collected into a table (tests/trust): trust:<TAB>what<TAB>against
 * what<TAB>worst difference<TAB>bound */
#ifndef TESTS_PARITY_TRUST_H
#define TESTS_PARITY_TRUST_H

#include <criterion/criterion.h>
#include <stdio.h>

/* Only the line: whoever calls has compared with the bound. */
static inline void trust_note(const char *what, const char *against, double worst, double bound)
{
    printf("trust:\t%s\t%s\t%.2g\t%.2g\n", what, against, worst, bound);
    fflush(stdout);
}

static inline void trust(const char *what, const char *against, double worst, double bound)
{
    trust_note(what, against, worst, bound);
    cr_expect_leq(worst, bound, "%s differs from %s by %g, more than %g", what, against, worst,
                  bound);
}

#endif
