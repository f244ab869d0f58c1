/* Base module: cutting, finding, patterns, lines, sorting, names in folders. */
#include "gabbro/base.h"

#include <criterion/criterion.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Test(words, fields_are_cut_off)
{
    char line[] = "a\t\tb c\t";
    const char *const right[] = {"a", "", "b c", ""};
    char *rest = line, *part;
    size_t count = 0;
    while ((part = gb_take_field(&rest, "\t")))
        cr_assert(count < 4 && !strcmp(part, right[count++]));
    cr_expect_eq(count, 4);
    char empty[] = "";
    rest = empty;
    cr_expect_str_empty(gb_take_field(&rest, ";,"));
    cr_expect_null(gb_take_field(&rest, ";,"));
}

/* Draws texts of few different bytes, so that much repeats. */
static size_t draw(gb_rng *rng, const char *bytes, uint32_t most, char *text)
{
    size_t length = gb_rng_below(rng, most + 1);
    for (size_t i = 0; i < length; i++)
        text[i] = bytes[gb_rng_below(rng, (uint32_t)strlen(bytes))];
    text[length] = '\0';
    return length;
}

Test(words, bytes_are_found_where_memmem_finds_them)
{
    gb_rng rng = gb_rng_make(3, GB_RNG_TEST, 0, 0);
    int found = 0;
    for (int i = 0; i < 20000; i++) {
        char in[24], bytes[5];
        size_t length = draw(&rng, "ab", 20, in), size = draw(&rng, "ab", 4, bytes);
        const char *at = gb_find_bytes(in, length, bytes, size);
        cr_assert_eq(at, memmem(in, length, bytes, size), "\"%s\" in \"%s\"", bytes, in);
        found += at != NULL;
    }
    cr_expect(found > 1000 && found < 19000);
}

Test(words, patterns_mean_what_fnmatch_says)
{
    gb_rng rng = gb_rng_make(4, GB_RNG_TEST, 0, 0);
    int fitting = 0;
    for (int i = 0; i < 200000; i++) {
        char pattern[12], text[8];
        draw(&rng, "ab*?[]-!\\/", 9, pattern);
        draw(&rng, "ab-]/", 6, text);
        size_t length = strlen(pattern);
        if ((length && pattern[length - 1] == '\\') ||
            (strchr(pattern, '[') && strpbrk(pattern, "\\/-")))
            continue; /* not said by POSIX, or of a set */
        bool fits = gb_matches(pattern, text);
        cr_assert_eq(fits, fnmatch(pattern, text, 0) == 0, "\"%s\" and \"%s\"", pattern, text);
        fitting += fits;
    }
    cr_expect(fitting > 1000);
    cr_expect(gb_matches("[a-c]x", "bx") && !gb_matches("[a-c]x", "dx"));
    cr_expect(gb_matches("[!a-c]x", "dx") && !gb_matches("[!a-c]x", "bx"));
    cr_expect(gb_matches("beir-*:nDCG@10", "beir-fiqa:nDCG@10"));
}

Test(words, a_word_is_contained_in_any_case)
{
    cr_expect(gb_contains_word("NVIDIA GeForce", "geforce"));
    cr_expect(gb_contains_word("x", ""));
    cr_expect(!gb_contains_word("Geforc", "geforce"));
    cr_expect(gb_contains_word("aaab", "AAB"));
}

Test(words, lines_are_read_with_their_ends)
{
    FILE *file = tmpfile();
    char *line = NULL;
    size_t space = 0;
    fwrite("one\n\na\0b\nlast", 1, 13, file);
    rewind(file);
    cr_expect(gb_read_line(file, &line, &space) == 4 && !strcmp(line, "one\n"));
    cr_expect(gb_read_line(file, &line, &space) == 1 && !strcmp(line, "\n"));
    cr_expect(gb_read_line(file, &line, &space) == 4 && !memcmp(line, "a\0b\n", 5));
    cr_expect(gb_read_line(file, &line, &space) == 4 && !strcmp(line, "last"));
    cr_expect_eq(gb_read_line(file, &line, &space), -1);
    free(line);
    fclose(file);
}

typedef struct item {
    uint32_t key;  /* sorted by */
    char rest[71]; /* moves with it */
} item;

static int by_key(const void *a, const void *b, void *sign)
{
    uint32_t x = ((const item *)a)->key, y = ((const item *)b)->key;
    return *(int *)sign * ((x > y) - (x < y));
}

Test(words, items_are_sorted)
{
    enum { MOST = 300 };
    static item items[MOST];
    uint32_t order[MOST];
    gb_rng rng = gb_rng_make(5, GB_RNG_TEST, 0, 0);
    for (uint32_t count = 0; count < MOST; count++) {
        int sign = count % 2 ? 1 : -1;
        gb_rng_order(&rng, order, count);
        for (uint32_t i = 0; i < count; i++) {
            items[i].key = order[i];
            snprintf(items[i].rest, sizeof items[i].rest, "%70u", order[i]);
        }
        gb_sort(items, count, sizeof *items, by_key, &sign);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t right = sign > 0 ? i : count - 1 - i;
            cr_assert(items[i].key == right && (uint32_t)atoi(items[i].rest) == right);
        }
    }
}

Test(words, names_in_a_folder_are_listed_in_order)
{
    gb_config config = {0};
    gb_status status = {0};
    char *folder = gb_temporary_folder(&config, "names", &status);
    char *other = gb_temporary_folder(&config, "names", &status);
    cr_assert(folder && other && strcmp(folder, other) != 0);
    const char *const names[] = {"b.json", "a.json", "B.json", ".json", "c.txt"};
    gb_text text = {0};
    for (size_t i = 0; i < 5; i++)
        cr_assert(gb_text_write_in(&text, folder, names[i], &status));
    gb_entries found;
    cr_assert(gb_entries_read(folder, "*.json", &found, &status));
    cr_expect(found.count == 3 && !strcmp(found.names[0], "B.json") &&
              !strcmp(found.names[1], "a.json") && !strcmp(found.names[2], "b.json"));
    gb_entries_free(&found);
    gb_temporary_remove(folder);
    cr_expect(!gb_entries_read(other, "*", &found, &status) == false && found.count == 0);
    cr_assert(rmdir(other) == 0 && !gb_entries_read(other, "*", &found, &status));
    cr_expect_eq(status.code, GB_DATA);
    free(other);
}
