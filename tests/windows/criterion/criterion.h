/* What the tests use of Criterion, for systems that have no Criterion. Each test runs in a process
 * of its own, as there; run.c is the program around them. */
#ifndef GABBRO_TESTS_CRITERION_H
#define GABBRO_TESTS_CRITERION_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cr_options {
    void (*init)(void), (*fini)(void);
} cr_options;

typedef struct cr_test {
    const char *suite, *name; /* name NULL: the options of a suite */
    void (*run)(void);
    cr_options options;
    struct cr_test *next;
} cr_test;

void cr_add(cr_test *test);
/* Says that a check failed, and ends the test if it is fatal. */
void cr_failed(bool fatal, const char *file, int line, const char *what, const char *format, ...);
_Noreturn void cr_skip_test(const char *format, ...);

#define CR_ADD(suite_, name_, text_, run_, ...)                                                    \
    static __attribute__((constructor)) void suite_##_##name_##_add(void)                          \
    {                                                                                              \
        static cr_test test = {#suite_, text_, run_, {__VA_ARGS__}, NULL};                         \
        cr_add(&test);                                                                             \
    }
#define Test(suite_, name_, ...)                                                                   \
    static void suite_##_##name_##_test(void);                                                     \
    CR_ADD(suite_, name_, #name_, suite_##_##name_##_test, __VA_ARGS__)                            \
    static void suite_##_##name_##_test(void)
#define TestSuite(suite_, ...)                                                                     \
    CR_ADD(suite_, of_all, NULL, NULL, __VA_ARGS__)                                                \
    struct cr_test

#define CR_CHECK(fatal, good, what, ...)                                                           \
    ((good) ? (void)0 : cr_failed(fatal, __FILE__, __LINE__, what, "" __VA_ARGS__))
#define CR_COMPARE(fatal, a, sign, b, ...)                                                         \
    CR_CHECK(fatal, (a)sign(b), #a " " #sign " " #b, __VA_ARGS__)
#define CR_TEXTS(fatal, a, sign, b, ...)                                                           \
    CR_CHECK(fatal, strcmp((a), (b)) sign 0, #a " " #sign " " #b, __VA_ARGS__)
#define CR_BYTES(fatal, a, sign, b, size, ...)                                                     \
    CR_CHECK(fatal, memcmp((a), (b), (size)) sign 0, #a " " #sign " " #b, __VA_ARGS__)
#define CR_NEAR(fatal, a, b, most, ...)                                                            \
    CR_CHECK(fatal, fabs((double)(a) - (double)(b)) <= (double)(most), #a " is near " #b,          \
             __VA_ARGS__)

#define cr_assert(a, ...)                CR_CHECK(true, a, #a, __VA_ARGS__)
#define cr_assert_not(a, ...)            CR_CHECK(true, !(a), "not " #a, __VA_ARGS__)
#define cr_assert_null(a, ...)           CR_CHECK(true, !(a), "no " #a, __VA_ARGS__)
#define cr_assert_not_null(a, ...)       CR_CHECK(true, (a) != NULL, #a, __VA_ARGS__)
#define cr_assert_fail(...)              CR_CHECK(true, false, "this is not reached", __VA_ARGS__)
#define cr_assert_eq(a, b, ...)          CR_COMPARE(true, a, ==, b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...)         CR_COMPARE(true, a, !=, b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...)          CR_COMPARE(true, a, <, b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...)         CR_COMPARE(true, a, <=, b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...)          CR_COMPARE(true, a, >, b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...)         CR_COMPARE(true, a, >=, b, __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...)      CR_TEXTS(true, a, ==, b, __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...)     CR_TEXTS(true, a, !=, b, __VA_ARGS__)
#define cr_assert_arr_eq(a, b, n, ...)   CR_BYTES(true, a, ==, b, n, __VA_ARGS__)
#define cr_assert_float_eq(a, b, e, ...) CR_NEAR(true, a, b, e, __VA_ARGS__)

#define cr_expect(a, ...)                CR_CHECK(false, a, #a, __VA_ARGS__)
#define cr_expect_not(a, ...)            CR_CHECK(false, !(a), "not " #a, __VA_ARGS__)
#define cr_expect_null(a, ...)           CR_CHECK(false, !(a), "no " #a, __VA_ARGS__)
#define cr_expect_not_null(a, ...)       CR_CHECK(false, (a) != NULL, #a, __VA_ARGS__)
#define cr_expect_fail(...)              CR_CHECK(false, false, "this is not reached", __VA_ARGS__)
#define cr_expect_eq(a, b, ...)          CR_COMPARE(false, a, ==, b, __VA_ARGS__)
#define cr_expect_neq(a, b, ...)         CR_COMPARE(false, a, !=, b, __VA_ARGS__)
#define cr_expect_lt(a, b, ...)          CR_COMPARE(false, a, <, b, __VA_ARGS__)
#define cr_expect_leq(a, b, ...)         CR_COMPARE(false, a, <=, b, __VA_ARGS__)
#define cr_expect_gt(a, b, ...)          CR_COMPARE(false, a, >, b, __VA_ARGS__)
#define cr_expect_geq(a, b, ...)         CR_COMPARE(false, a, >=, b, __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...)      CR_TEXTS(false, a, ==, b, __VA_ARGS__)
#define cr_expect_str_neq(a, b, ...)     CR_TEXTS(false, a, !=, b, __VA_ARGS__)
#define cr_expect_str_empty(a, ...)      CR_CHECK(false, !*(a), #a " is empty", __VA_ARGS__)
#define cr_expect_str_not_empty(a, ...)  CR_CHECK(false, *(a), #a " is not empty", __VA_ARGS__)
#define cr_expect_arr_eq(a, b, n, ...)   CR_BYTES(false, a, ==, b, n, __VA_ARGS__)
#define cr_expect_arr_neq(a, b, n, ...)  CR_BYTES(false, a, !=, b, n, __VA_ARGS__)
#define cr_expect_float_eq(a, b, e, ...) CR_NEAR(false, a, b, e, __VA_ARGS__)

#define cr_log_info(...) (printf(__VA_ARGS__), puts(""))

/* What mingw-w64 has not of what the tests take from POSIX. */
#ifdef _WIN32
#define setenv(name, value, replace) ((void)(replace), _putenv_s(name, value))
#define unsetenv(name)               _putenv_s(name, "")
char *mkdtemp(char *path);
#endif

#endif
