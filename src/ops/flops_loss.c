/* The FLOPS regulariser of sparse vectors (B. Paria et al., "Minimizing FLOPs to learn efficient
 * sparse representations", 2020): the expected number of products of a search, smoothed. */
#include "ops.h"

gb_tensor gb_flops_loss(gb_tape *tape, gb_tensor weights, gb_tensor shares, gb_tensor factor)
{
    gb_tensor means = gb_matmul(tape, GB_NN, shares, weights); /* of every column */
    return gb_scale_by(tape, gb_matmul(tape, GB_NT, means, means), factor);
}
