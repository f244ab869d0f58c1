/* Tokenising tables; the part that tests call with a given number of threads. */
#ifndef GABBRO_DATA_TOKENS_H
#define GABBRO_DATA_TOKENS_H

#include <gabbro/data.h>

/* gb_collection_tokenize with `threads` workers. */
bool data_collection_tokenize_with(const gb_collection *collection, const gb_tokenizer *tokenizer,
                                   const gb_vocab *vocab, const gb_tokenize_params *params,
                                   const char *out_dir, unsigned threads, gb_status *status);

#endif
