/* The noise of a table: by hand, and blind to names. */
#include "gabbro/report.h"
#include "scratch.h"

#include <math.h>

/* Two trained rows of three seeds, BM25, the same with RM3, a quoted row; a measure, and a loss,
 * which has no ceiling.
 */
static const char table[] =
    "{\"columns\": [{\"column\": \"dev:MRR@10\", \"scale\": 100, \"chance\": 0.01},\n"
    "  {\"column\": \"dev:MLM-loss\", \"scale\": 1}],\n"
    " \"rows\": [\n"
    "  {\"row\": \"a\", \"role\": \"trained\", \"converged\": {\"1\": true, \"2\": true, \"3\": "
    "false},\n"
    "   \"cells\": {\"dev:MRR@10\": {\"here\": {\"1\": 0.1, \"2\": 0.2, \"3\": 0.03}},\n"
    "    \"dev:MLM-loss\": {\"here\": {\"1\": 3}}}},\n"
    "  {\"row\": \"b\", \"role\": \"trained\", \"converged\": {},\n"
    "   \"cells\": {\"dev:MRR@10\": {\"here\": {\"1\": 0.5, \"2\": 0.999, \"3\": 0.7}}}},\n"
    "  {\"row\": \"bm25\", \"role\": \"baseline\", \"converged\": {},\n"
    "   \"cells\": {\"dev:MRR@10\": {\"here\": {\"1\": 0.9}}}},\n"
    "  {\"row\": \"bm25-rm3\", \"role\": \"extra\", \"converged\": {},\n"
    "   \"cells\": {\"dev:MRR@10\": {\"here\": {\"1\": 0.8}}}},\n"
    "  {\"row\": \"\", \"role\": \"quoted\", \"converged\": {}, \"cells\": {}}]}\n";

Test(noise, of_trained_rows_alone)
{
    scratch s = scratch_enter();
    scratch_write("table.json", table);
    gb_status status = {0};
    static gb_noise noise;
    cr_assert(gb_noise_read(".", &noise, &status), "%s", status.what);
    cr_expect_eq(noise.rows, 2);
    cr_expect(noise.runs == 3 && noise.converged == 2);
    cr_assert_eq(noise.column_count, 1);
    const gb_noise_column *c = &noise.columns[0];
    cr_expect_eq(c->values, 6);
    cr_expect_float_eq(c->least, .11, 1e-12);
    cr_expect_float_eq(c->greatest, .733, 1e-12);
    /* Squared distances: .0001 + .0081 + .0064, and .054289 + .070756 + .001089; 4 degrees. */
    cr_expect_float_eq(c->sd, sqrt((.0146 + .126134) / 4), 1e-9);
    cr_expect_eq(c->at_ceiling, 1);
    cr_expect_eq(c->at_floor, 1, "chance and two points");
    scratch_leave(&s);
}

Test(noise, no_table)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    static gb_noise noise;
    cr_expect_not(gb_noise_read(".", &noise, &status));
    cr_expect_eq(status.code, GB_DATA);
    scratch_write("table.json", "{\"name\": \"of something else\"}");
    status = (gb_status){0};
    cr_expect_not(gb_noise_read(".", &noise, &status), "no rows, no table");
    cr_expect_eq(status.code, GB_DATA);
    scratch_leave(&s);
}
