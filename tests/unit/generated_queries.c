/* Data module: generated queries beside a collection. */
#include "gabbro/synth.h"
#include "scratch.h"

#include <jansson.h>

static gb_collection *open_world(uint64_t seed, const char *folder)
{
    gb_status status = {0};
    cr_assert(gb_synth_generate(seed, "main", folder, &status), "%s", status.what);
    gb_collection *collection = gb_collection_open(folder, &status);
    cr_assert_not_null(collection, "%s", status.what);
    return collection;
}

static void make(const gb_collection *collection, gb_queries_params params, const char *dir)
{
    gb_status status = {0};
    gb_synth *world = NULL;
    cr_assert(gb_synth_of_collection(collection, &world, &status), "%s", status.what);
    gb_query_oracle oracle = gb_synth_oracle(world);
    params.oracle = world ? &oracle : NULL;
    cr_assert(gb_make_dirs(dir, &status));
    cr_assert(gb_queries_make(collection, &params, dir, &status), "%s: %s", status.where,
              status.what);
    gb_synth_destroy(world);
}

static double number(const char *path, const char *key)
{
    json_t *json = json_load_file(path, 0, NULL);
    cr_assert(json_is_number(json_object_get(json, key)), "%s has no %s", path, key);
    double value = json_number_value(json_object_get(json, key));
    json_decref(json);
    return value;
}

static void expect_same(const char *a, const char *b)
{
    char first[GB_HASH_SIZE], second[GB_HASH_SIZE];
    cr_assert(gb_hash_file(a, first, NULL) && gb_hash_file(b, second, NULL));
    cr_expect_str_eq(first, second, "%s and %s differ", a, b);
}

Test(generated_queries, t5_gives_the_collections_own)
{
    scratch s = scratch_enter();
    gb_collection *c = open_world(1, "a");
    make(c, (gb_queries_params){.generator = "world-t5"}, "q");
    expect_same("q/generated.gbt", "a/generated.gbt");
    cr_expect_float_eq(number("q/queries.json", "about_their_passage"), 0.565, 0.005);
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(generated_queries, larger_models_are_more_often_about_their_passage)
{
    scratch s = scratch_enter();
    gb_collection *c = open_world(2, "a");
    static const struct {
        const char *name; /* generator */
        double about;     /* share that its rates ask for */
    } generators[] = {{"world-3b", 0.79}, {"world-7b", 0.84}, {"world-13b", 0.87}};
    for (size_t i = 0; i < 3; i++) {
        make(c, (gb_queries_params){.generator = generators[i].name, .per_passage = 5}, "q");
        cr_expect_float_eq(number("q/queries.json", "about_their_passage"), generators[i].about,
                           0.01, "%s", generators[i].name);
        cr_expect_eq(number("q/queries.json", "queries"), 5.0 * c->passages);
    }
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(generated_queries, do_not_depend_on_how_many_are_asked_for)
{
    scratch s = scratch_enter();
    gb_collection *c = open_world(1, "a");
    make(c, (gb_queries_params){.generator = "world-7b", .per_passage = 3}, "three");
    make(c, (gb_queries_params){.generator = "world-7b", .per_passage = 8}, "eight");
    make(c, (gb_queries_params){.generator = "world-7b", .per_passage = 3}, "again");
    expect_same("three/generated.gbt", "again/generated.gbt");
    gb_row_file *three = gb_row_file_open("three/generated.gbt", 1, NULL);
    gb_row_file *eight = gb_row_file_open("eight/generated.gbt", 1, NULL);
    for (uint32_t p = 0; p < c->passages; p++) {
        size_t few, many;
        const char *a = gb_row_file_row(three, p, &few), *b = gb_row_file_row(eight, p, &many);
        cr_assert(few < many && memcmp(a, b, few) == 0, "passage %u", p);
    }
    gb_row_file_close(three);
    gb_row_file_close(eight);
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(generated_queries, more_chosen_passages_hold_fewer)
{
    scratch s = scratch_enter();
    gb_collection *c = open_world(1, "a");
    gb_queries_params params = {.generator = "world-13b", .passages = 100, .seed = 7};
    make(c, params, "few");
    params.passages = 400;
    make(c, params, "many");
    gb_row_file *few = gb_row_file_open("few/generated.gbt", 1, NULL);
    gb_row_file *many = gb_row_file_open("many/generated.gbt", 1, NULL);
    uint32_t with_few = 0, with_many = 0;
    for (uint32_t p = 0; p < c->passages; p++) {
        size_t a, b;
        const char *x = gb_row_file_row(few, p, &a), *y = gb_row_file_row(many, p, &b);
        with_few += a > 0;
        with_many += b > 0;
        cr_assert(a == 0 || (a == b && memcmp(x, y, a) == 0));
    }
    cr_expect_eq(with_few, 100);
    cr_expect_eq(with_many, 400);
    gb_row_file_close(few);
    gb_row_file_close(many);
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(generated_queries, take_the_place_of_the_own_ones)
{
    scratch s = scratch_enter();
    gb_collection *c = open_world(1, "a"), *other = open_world(2, "b");
    scratch_write("mine.jsonl", "{\"id\": \"0-1\", \"queries\": [\"a\", \"b\", \"c\"]}\n"
                                "{\"id\": \"0-0\", \"query\": \"d\"}\n");
    make(c, (gb_queries_params){.from = "mine.jsonl", .per_passage = 2}, "q");
    gb_status status = {0};
    cr_assert(gb_collection_use_queries(c, "q", &status), "%s", status.what);
    cr_expect_str_eq(c->generator, "mine.jsonl");
    size_t length;
    const char *row = gb_row_file_row(c->generated, 1, &length);
    cr_expect(length == 4 && memcmp(row, "a\nb\n", 4) == 0);
    cr_expect_not(gb_collection_use_queries(other, "q", &status));
    cr_expect_eq(status.code, GB_DATA);
    gb_collection_close(c);
    gb_collection_close(other);
    scratch_leave(&s);
}

Test(generated_queries, refuse_what_they_cannot_do)
{
    scratch s = scratch_enter();
    scratch_write("docs.jsonl", "{\"id\": \"x\", \"text\": \"The river Elbe is long.\"}\n"
                                "{\"id\": \"y\", \"text\": \"The castle has a tower.\"}\n");
    gb_import_params import = GB_IMPORT_DEFAULTS;
    import.path = "docs.jsonl";
    import.keep_splits = true;
    gb_status status = {0};
    cr_assert(gb_collection_import(&import, "c", &status), "%s", status.what);
    gb_collection *c = gb_collection_open("c", &status), *w = open_world(1, "a");
    cr_assert(gb_make_dirs("q", NULL));
    gb_queries_params params = {.generator = "world-3b"};
    cr_expect_not(gb_queries_make(c, &params, "q", &status));
    cr_expect_eq(status.code, GB_USAGE);
    params.generator = "extractive";
    cr_expect(gb_queries_make(c, &params, "q", NULL));
    gb_synth *world = NULL;
    cr_assert(gb_synth_of_collection(w, &world, NULL));
    gb_query_oracle oracle = gb_synth_oracle(world);
    params = (gb_queries_params){.generator = "world-99b", .oracle = &oracle};
    cr_expect_not(gb_queries_make(w, &params, "q", &status));
    params = (gb_queries_params){.generator = "world-t5", .per_passage = 21, .oracle = &oracle};
    cr_expect_not(gb_queries_make(w, &params, "q", &status));
    params = (gb_queries_params){
        .generator = "world-t5", .passages = w->passages + 1, .oracle = &oracle};
    cr_expect_not(gb_queries_make(w, &params, "q", &status));
    cr_expect_eq(status.code, GB_USAGE);
    gb_synth_destroy(world);
    gb_collection_close(c);
    gb_collection_close(w);
    scratch_leave(&s);
}
