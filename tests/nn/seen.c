#include "seen.h"

#include <math.h>

seen_batch batch_of(const pass *p, uint32_t n, uint32_t count)
{
    return (seen_batch){
        gb_reference_u(p->reference, pass_input(p, "ids", n)),
        gb_reference_u(p->reference, pass_input(p, "sequences", n)) + GB_SEQUENCES_HEADER, count};
}

const uint32_t *ids_of(const seen_batch *b, uint32_t s, uint32_t *length)
{
    *length = b->starts[s + 1] - b->starts[s];
    return b->ids + b->starts[s];
}

double mean_token_loss(const model *m, const pass *p, const seen_batch *b, const naive *streams,
                       uint32_t n)
{
    gb_tensor list = pass_input(p, "selected rows", n);
    const uint32_t *rows = gb_reference_u(p->reference, list);
    const uint32_t *labels = gb_reference_u(p->reference, pass_input(p, "labels", 0));
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < gb_tape_tensor(p->tape, list)->cols; i++) {
        if (rows[i] == GB_NO_ROW)
            continue;
        uint32_t s = 0;
        while (b->starts[s + 1] <= rows[i])
            s++;
        cr_assert(s < b->count);
        sum += naive_token_loss(
            m, streams[s].x + (size_t)(rows[i] - b->starts[s]) * streams[s].hidden, labels[i]);
        count++;
    }
    cr_assert(count > 0, "no row with a label");
    return sum / count;
}

void encode_batch(const model *m, const seen_batch *b, naive *states, uint32_t middle_layer,
                  naive *middle)
{
    for (uint32_t s = 0; s < b->count; s++) {
        uint32_t length;
        const uint32_t *ids = ids_of(b, s, &length);
        states[s] = naive_encode(m, ids, length, middle_layer, middle ? &middle[s] : NULL);
    }
}

void free_batch(naive *states, uint32_t count)
{
    for (uint32_t s = 0; s < count; s++)
        free(states[s].x);
}

void expect_loss(double got, double wanted, const char *name)
{
    cr_expect_float_eq(got, wanted, 3e-6 * fabs(wanted), "%s: %.9g, not %.9g", name, got, wanted);
}
