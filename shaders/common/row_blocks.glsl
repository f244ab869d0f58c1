// Blocks of rows whose sums are made apart: of equal size, or (SELECTED) as a list gives their ends, where
// the rows are some of a batch and the sums must be those of all.
#ifdef SELECTED
layout(set = 0, binding = BLOCKS_BINDING) readonly buffer Blocks { uint block_starts[]; };
#define BLOCK_START(block) block_starts[block]
#define BLOCK_END(block)   block_starts[(block) + 1]
#else
#define BLOCK_START(block) (block) * rows_per_block
#define BLOCK_END(block)   min(rows, ((block) + 1) * rows_per_block)
#endif
