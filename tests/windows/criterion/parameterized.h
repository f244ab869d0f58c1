/* Tests that run once for each of an array. */
#ifndef GABBRO_TESTS_PARAMETERIZED_H
#define GABBRO_TESTS_PARAMETERIZED_H

#include <criterion/criterion.h>

struct cr_parameters {
    void *all;
    size_t size, count;
};

#define cr_make_param_array(type, array, count)                                                    \
    (struct cr_parameters)                                                                         \
    {                                                                                              \
        array, sizeof(type), count                                                                 \
    }
#define ParameterizedTestParameters(suite_, name_)                                                 \
    static struct cr_parameters suite_##_##name_##_parameters(void)
#define ParameterizedTest(type, suite_, name_, ...)                                                \
    static void suite_##_##name_##_one(type);                                                      \
    Test(suite_, name_, __VA_ARGS__)                                                               \
    {                                                                                              \
        struct cr_parameters p = suite_##_##name_##_parameters();                                  \
        for (size_t i = 0; i < p.count; i++)                                                       \
            suite_##_##name_##_one((void *)((char *)p.all + i * p.size));                          \
    }                                                                                              \
    static void suite_##_##name_##_one(type)

#endif
