/* Base module: random numbers, memory, map, text, messages, configuration. */
#include "gabbro/base.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- random numbers ---- */

Test(rng, philox_matches_published_vectors)
{
    /* Random123's known answers: counter, key, output. */
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

Test(rng, stream_is_philox_of_block_step_row_purpose)
{
    gb_rng rng = gb_rng_make(0x0123456789abcdef, GB_RNG_MASK, 7, 9);
    const uint32_t key[2] = {0x89abcdef, 0x01234567};
    for (uint32_t block = 0; block < 3; block++) {
        uint32_t counter[4] = {block, 7, 9, GB_RNG_MASK}, out[4];
        gb_philox(counter, key, out);
        for (int i = 0; i < 4; i++)
            cr_expect_eq(gb_rng_u32(&rng), out[i]);
    }
}

Test(rng, below_is_unbiased)
{
    /* With a bound of 3 * 2^30 a plain modulo would give the lowest third half of all draws. */
    gb_rng rng = gb_rng_make(1, GB_RNG_TEST, 0, 0);
    const uint32_t third = 1u << 30;
    int count[3] = {0};
    for (int i = 0; i < 30000; i++) {
        uint32_t draw = gb_rng_below(&rng, 3 * third);
        cr_assert_lt(draw, 3 * third);
        count[draw / third]++;
    }
    for (int i = 0; i < 3; i++) /* 5 standard deviations */
        cr_expect_lt(abs(count[i] - 10000), 410, "third %d: %d", i, count[i]);
    cr_expect_eq(gb_rng_below(&rng, 1), 0);
}

/* The formula of gb_rng_normal with the C library's functions. */
static double library_normal(gb_rng *rng)
{
    double radius = sqrt(-2.0 * log(1.0 - gb_rng_uniform(rng)));
    return radius * cos(2.0 * acos(-1.0) * gb_rng_uniform(rng));
}

Test(rng, normal_agrees_with_the_library_and_has_its_moments)
{
    gb_rng a = gb_rng_make(3, GB_RNG_TEST, 0, 0), b = a;
    double sum = 0, square = 0, worst = 0;
    const int count = 20000;
    for (int i = 0; i < count; i++) {
        double draw = gb_rng_normal(&a);
        worst = fmax(worst, fabs(draw - library_normal(&b)));
        sum += draw;
        square += draw * draw;
    }
    cr_expect_lt(worst, 1e-14, "%g", worst);
    cr_expect_lt(fabs(sum / count), 0.036);
    cr_expect_lt(fabs(square / count - 1.0), 0.05);
}

Test(rng, shuffle_is_a_permutation_and_repeats)
{
    uint32_t a[100], b[100], fixed = 0;
    bool seen[100] = {false};
    for (uint32_t i = 0; i < 100; i++)
        a[i] = b[i] = i;
    gb_rng one = gb_rng_make(5, GB_RNG_ORDER, 2, 0), two = one;
    gb_rng_shuffle(&one, a, 100);
    gb_rng_shuffle(&two, b, 100);
    cr_expect_arr_eq(a, b, sizeof a);
    for (uint32_t i = 0; i < 100; i++) {
        cr_expect_not(seen[a[i]]);
        seen[a[i]] = true;
        fixed += a[i] == i;
    }
    cr_expect_lt(fixed, 10);
}

/* ---- memory, map, text ---- */

Test(memory, sizes_that_overflow_fail_with_a_message)
{
    gb_status status = {0};
    cr_expect_null(gb_alloc(SIZE_MAX / 2, 4, &status));
    cr_expect_eq(status.code, GB_MEMORY);
    uint32_t *items = NULL;
    size_t capacity = 0;
    cr_assert(gb_grow(&items, &capacity, 3, sizeof *items, NULL));
    items[2] = 17;
    status = (gb_status){0};
    cr_expect_not(gb_grow(&items, &capacity, SIZE_MAX / 2, sizeof *items, &status));
    cr_expect_eq(status.code, GB_MEMORY);
    cr_expect_eq(items[2], 17, "contents stay after a failure");
    cr_assert(gb_grow(&items, &capacity, 1000, sizeof *items, NULL));
    cr_expect_geq(capacity, 1000);
    cr_expect_eq(items[2], 17);
    free(items);
}

Test(memory, arena_gives_aligned_zeroed_separate_pieces)
{
    gb_arena *arena = gb_arena_create(4096, NULL);
    unsigned char *pieces[300];
    for (size_t i = 0; i < 300; i++) {
        size_t size = i % 50 == 49 ? 20000 : i; /* some larger than a block */
        pieces[i] = gb_arena_alloc(arena, size, NULL);
        cr_assert_eq((uintptr_t)pieces[i] % 16, 0);
        for (size_t j = 0; j < size; j++)
            cr_assert_eq(pieces[i][j], 0, "piece %zu overlaps one before", i);
        memset(pieces[i], 0xff, size);
    }
    gb_arena_destroy(arena);
    gb_arena_destroy(NULL);
}

Test(map, keeps_the_last_value_of_each_key)
{
    gb_map *map = gb_map_create(NULL);
    char key[32];
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 5000; i++) {
            int length = snprintf(key, sizeof key, "key %u", i);
            cr_assert(gb_map_set(map, key, (size_t)length, 2 * i + (uint32_t)round, NULL));
        }
    cr_assert(gb_map_set(map, "a\0b", 3, 11, NULL));
    cr_assert(gb_map_set(map, "", 0, 12, NULL));
    cr_expect_eq(gb_map_count(map), 5002);
    for (uint32_t i = 0; i < 5000; i++) {
        int length = snprintf(key, sizeof key, "key %u", i);
        cr_expect_eq(gb_map_get(map, key, (size_t)length), 2 * i + 1);
    }
    cr_expect_eq(gb_map_get(map, "a\0b", 3), 11);
    cr_expect_eq(gb_map_get(map, "a\0c", 3), GB_MAP_NONE);
    cr_expect_eq(gb_map_get(map, "", 0), 12);
    gb_map_destroy(map);
}

Test(text, grows_and_formats)
{
    gb_text text = {0};
    for (int i = 0; i < 1000; i++) {
        gb_text_printf(&text, "%d,", i);
        gb_text_append(&text, ";", 1);
    }
    cr_expect_not(text.failed);
    cr_expect_eq(text.length, strlen(text.data));
    cr_expect_eq(strncmp(text.data, "0,;1,;2,;", 9), 0);
    cr_expect_str_eq(text.data + text.length - 5, "999,;");
    gb_text_append(&text, "x", SIZE_MAX / 2);
    cr_expect(text.failed);
    gb_text_append(&text, "x", 1);
    cr_expect_str_eq(text.data + text.length - 5, "999,;", "nothing is added after a failure");
    gb_text_free(&text);
}

Test(text, words_of_a_list)
{
    const char *list = "a,,bcd,", *word;
    char got[40] = "";
    size_t length;
    while ((word = gb_next_word(&list, ',', &length)))
        snprintf(got + strlen(got), sizeof got - strlen(got), "<%.*s>", (int)length, word);
    cr_expect_str_eq(got, "<a><><bcd>");
    list = "";
    cr_expect_null(gb_next_word(&list, ',', &length));
}

Test(text, utf8_is_strict)
{
    static const char *const good[] = {"", "plain", "\u00e9\u0800\uffff", "\U00010000\U0010ffff",
                                       "\xed\x9f\xbf\xee\x80\x80"};
    static const char *const bad[] = {
        "\x80",         "\xc0\x80",         "\xc1\xbf",         "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xf0\x8f\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80",     "a\xc3",
        "\xe2\x82",     "\xe2\x28\xa1",     "\xf0\x90\x80z",    "\xff",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_expect(gb_utf8_valid(good[i], strlen(good[i])), "good %zu", i);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_not(gb_utf8_valid(bad[i], strlen(bad[i])), "bad %zu", i);
    cr_expect(gb_utf8_valid("a\0b", 3));
}

/* ---- messages ---- */

Test(status, is_printed_as_one_clean_line, .init = cr_redirect_stderr)
{
    gb_status status = {0};
    cr_expect_not(
        gb_fail(&status, GB_DATA, "rows.tsv:3", "write a number", "'%s' is bad", "1\n\033"));
    cr_expect_not(gb_fail(&status, GB_DATA, status.where, status.hint, "row: %s", status.what));
    gb_status_print(&status);
    fflush(stderr);
    cr_assert_stderr_eq_str("gabbro: rows.tsv:3: row: '1?\?' is bad (write a number)\n");
}

Test(status, log_and_progress_keep_to_the_level, .init = cr_redirect_stderr)
{
    gb_progress progress;
    gb_log_set_level(GB_LOG_WARN);
    gb_log(GB_LOG_INFO, "not seen");
    gb_progress_begin(&progress, "work", "steps", 10, 0);
    gb_progress_end(&progress, 10, NULL);
    gb_log(GB_LOG_WARN, "seen %d", 1);
    gb_log_set_level(GB_LOG_INFO);
    gb_log(GB_LOG_INFO, "seen %d", 2);
    gb_progress_update(&progress, 5, "too soon for a log line");
    fflush(stderr);
    cr_assert_stderr_eq_str("gabbro: warning: seen 1\ngabbro: seen 2\n");
}

Test(status, progress_without_a_total_knows_no_time_left, .init = cr_redirect_stderr)
{
    gb_progress progress;
    gb_progress_begin(&progress, "read", "lines", 0, 0);
    progress.start_s -= 100;
    gb_progress_end_long(&progress, 7); /* as if it had been long: shown since its begin */
    progress.start_s = progress.shown_s = gb_now_s();
    gb_progress_end_long(&progress, 7);
    progress.start_s = progress.shown_s -= 100;
    gb_progress_update(&progress, 400, NULL);
    fflush(stderr);
    cr_assert_stderr_eq_str("gabbro: read: 7 lines  0.07 lines/s  in 1m40s\n"
                            "gabbro: read: 400 lines  4 lines/s  left ?\n");
}

Test(status, signals_ask_to_stop)
{
    gb_install_signals();
    cr_expect_not(gb_interrupted());
    kill(getpid(), SIGTERM);
    cr_expect(gb_interrupted());
}

static bool is_set(void *self)
{
    return *(const bool *)self;
}

static void *other_thread(void *self)
{
    (void)self;
    cr_expect(gb_interrupted(), "only one thread has something else to stop it");
    return NULL;
}

Test(status, a_thread_may_be_stopped_by_something_else)
{
    bool over = false;
    pthread_t thread;
    gb_install_signals();
    kill(getpid(), SIGTERM);
    gb_stop_when(is_set, &over);
    cr_expect_not(gb_interrupted());
    cr_assert_eq(pthread_create(&thread, NULL, other_thread, NULL), 0);
    pthread_join(thread, NULL);
    over = true;
    cr_expect(gb_interrupted());
    over = false;
    gb_stop_when(NULL, NULL);
    cr_expect(gb_interrupted());
}

/* ---- configuration ---- */

Test(config, is_what_the_environment_says)
{
    setenv("GABBRO_DEVICE", "cpu", 1);
    setenv("GABBRO_LIMITS", "", 1);
    unsetenv("GABBRO_QUIRKS");
    gb_config config = gb_config_read();
    cr_expect_str_eq(config.device, "cpu");
    cr_expect_null(config.limits, "empty is unset");
    cr_expect_null(config.quirks);
    cr_expect(gb_config_set(&config, "GABBRO_LIMITS", "min"));
    cr_expect_str_eq(config.limits, "min");
    cr_expect(gb_config_set(&config, "GABBRO_LIMITS", NULL));
    cr_expect_null(config.limits);
    cr_expect_not(gb_config_set(&config, "VK_DRIVER_FILES", "x"), "a library's own");
}

Test(config, cache_is_in_the_users_folder)
{
    gb_config config = {.home = "/home/x"};
    char *path = gb_config_cache(&config, "a.txt");
    cr_expect_str_eq(path, "/home/x/.cache/gabbro/a.txt");
    free(path);
    config.cache_home = "/cache";
    path = gb_config_cache(&config, "a.txt");
    cr_expect_str_eq(path, "/cache/gabbro/a.txt");
    free(path);
    cr_expect_null(gb_config_cache(&(gb_config){0}, "a.txt"));
}

Test(config, environment_is_exchanged_and_restored)
{
    gb_status status = {0};
    char *before = NULL, *during = NULL;
    setenv("GABBRO_TEST_WORD", "old", 1);
    cr_assert(gb_environment_exchange("GABBRO_TEST_WORD", NULL, &before, &status));
    cr_expect_null(getenv("GABBRO_TEST_WORD"));
    cr_assert(gb_environment_exchange("GABBRO_TEST_WORD", before, &during, &status));
    cr_expect_str_eq(getenv("GABBRO_TEST_WORD"), "old");
    cr_expect_null(during);
    free(before);
}
