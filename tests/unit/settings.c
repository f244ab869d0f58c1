/* Files of settings, and settings by --set. */
#include "reproduce/settings.h"
#include "scratch.h"

static const char scale[] = "# a scale\n"
                            "mlm_steps = 1000\n"
                            "\n"
                            "few_queries = 125 250   # of 3,000\n"
                            "  rate=0.003\t# no blanks needed\n"
                            "own_mlm_steps = 300\n"
                            "own_only = 1\n";

static repro_settings read_scale(void)
{
    repro_settings settings = {0};
    gb_status status = {0};
    scratch_write("scale", scale);
    cr_assert(repro_settings_read(&settings, "scale", NULL, &status), "%s", status.what);
    return settings;
}

Test(settings, values_are_words_up_to_a_comment)
{
    scratch s = scratch_enter();
    repro_settings settings = read_scale();
    cr_expect_eq(settings.count, 5);
    cr_expect_str_eq(repro_settings_get(&settings, "mlm_steps"), "1000");
    cr_expect_str_eq(repro_settings_get(&settings, "few_queries"), "125 250");
    cr_expect_str_eq(repro_settings_get(&settings, "rate"), "0.003");
    cr_expect_null(repro_settings_get(&settings, "mlm"));
    repro_settings_free(&settings);
    scratch_leave(&s);
}

/* Reads a user's file, which must be refused, and says where. */
static void refuse(const char *text, const char *where, const char *what)
{
    repro_settings settings = read_scale(), known = {0};
    gb_status status = {0};
    cr_assert(repro_settings_copy(&settings, &known, &status));
    scratch_write("user", text);
    cr_expect_not(repro_settings_read(&settings, "user", &known, &status), "%s", text);
    cr_expect_eq(status.code, strstr(status.what, "there is no setting") ? GB_USAGE : GB_DATA, "%s",
                 text);
    cr_expect_str_eq(status.where, where);
    cr_expect(strstr(status.what, what) || strstr(status.hint, what), "%s (%s)", status.what,
              status.hint);
    repro_settings_free(&settings);
    repro_settings_free(&known);
}

Test(settings, errors_name_the_line)
{
    scratch s = scratch_enter();
    refuse("mlm_steps = 5\nmlm_stesp = 5\n", "user:2", "did you mean mlm_steps?");
    refuse("rate\n", "user:1", "gives no setting a value");
    refuse("# a\nrate =\n", "user:2", "cannot have the value");
    refuse("rate = $(id)\n", "user:1", "cannot have the value");
    refuse("rate = \"1\"\n", "user:1", "cannot have the value");
    refuse("Rate = 1\n", "user:1", "no name");
    refuse("rate = 1\n\nrate = 2\n", "user:3", "from user:1");
    refuse("rate = 1\n\xff\n", "user:2", "UTF-8");
    scratch_leave(&s);
}

Test(settings, later_ones_come_over_earlier_ones)
{
    scratch s = scratch_enter();
    repro_settings settings = read_scale(), known = {0};
    gb_status status = {0};
    cr_assert(repro_settings_copy(&settings, &known, &status));
    scratch_write("one", "rate = 1\nmlm_steps = 7\n");
    scratch_write("two", "rate = 2\n");
    cr_assert(repro_settings_read(&settings, "one", &known, &status), "%s", status.what);
    cr_assert(repro_settings_read(&settings, "two", &known, &status), "%s", status.what);
    cr_expect_str_eq(repro_settings_get(&settings, "rate"), "2");
    cr_assert(repro_settings_choose(&settings, "rate=3", &known, &status), "%s", status.what);
    cr_expect_str_eq(repro_settings_get(&settings, "rate"), "3");
    cr_expect_str_eq(repro_settings_get(&settings, "mlm_steps"), "7");
    cr_expect_not(repro_settings_choose(&settings, "rat=3", &known, &status));
    cr_expect_eq(status.code, GB_USAGE);
    cr_expect(strstr(status.hint, "rate"), "%s", status.hint);
    cr_expect(repro_settings_choose(&settings, "paper_mine_rate=4", &known, &status));
    cr_expect(repro_settings_choose(&settings, "paper_mine_cotmae_rate=5", &known, &status));
    cr_expect_not(repro_settings_choose(&settings, "paper_mine_rat=4", &known, &status));
    cr_expect_not(repro_settings_choose(&settings, "paper_rate=4", &known, &status), "whose?");
    cr_expect_not(repro_settings_choose(&settings, "rate", &known, &status), "no value");
    cr_expect_not(repro_settings_choose(&settings, "rate=a'b", &known, &status));
    repro_settings_free(&settings);
    repro_settings_free(&known);
    scratch_leave(&s);
}

Test(settings, a_prefix_stands_for_the_name_unless_that_was_chosen)
{
    scratch s = scratch_enter();
    repro_settings settings = read_scale(), chosen = {0};
    gb_status status = {0};
    cr_assert(repro_settings_copy(&settings, &chosen, &status));
    cr_assert(repro_settings_apply_prefix(&settings, "own", &status));
    cr_expect_str_eq(repro_settings_get(&settings, "mlm_steps"), "300");
    cr_expect_str_eq(repro_settings_get(&settings, "only"), "1");
    json_t *object = repro_settings_json(&settings);
    char *json = json_dumps(object, 0);
    cr_expect_str_eq(json,
                     "{\"mlm_steps\": \"300\", \"few_queries\": \"125 250\", \"rate\": \"0.003\", "
                     "\"own_mlm_steps\": \"300\", \"own_only\": \"1\"}",
                     "what a prefix made is not listed");
    cr_assert(repro_settings_choose(&chosen, "mlm_steps=5", NULL, &status));
    cr_assert(repro_settings_apply_prefix(&chosen, "own", &status));
    cr_expect_str_eq(repro_settings_get(&chosen, "mlm_steps"), "5");
    free(json);
    json_decref(object);
    repro_settings_free(&settings);
    repro_settings_free(&chosen);
    scratch_leave(&s);
}

Test(settings, recipes_change_only_what_there_is)
{
    scratch s = scratch_enter();
    repro_settings settings = read_scale();
    gb_status status = {0};
    cr_expect(repro_settings_put(&settings, "rate", "9", &status));
    cr_expect_str_eq(repro_settings_get(&settings, "rate"), "9");
    cr_expect_not(repro_settings_put(&settings, "speed", "9", &status));
    repro_settings_free(&settings);
    scratch_leave(&s);
}
