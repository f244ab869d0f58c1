/* What a test says on standard error, to be compared. */
#ifndef GABBRO_TESTS_REDIRECT_H
#define GABBRO_TESTS_REDIRECT_H

#include <criterion/criterion.h>

void cr_redirect_stderr(void);
bool cr_stderr_is(const char *text);
#define cr_assert_stderr_eq_str(text, ...)                                                         \
    CR_CHECK(true, cr_stderr_is(text), "standard error is " #text, __VA_ARGS__)

#endif
