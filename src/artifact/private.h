/* What a model asks of tokens, of encoders and of language models. Private to the module. */
#ifndef ARTIFACT_PRIVATE_H
#define ARTIFACT_PRIVATE_H

#include <gabbro/artifact.h>

/* The tokens are of the vocabulary with this hash, and no longer than the model's positions. */
bool artifact_check_tokens(const char *hash, uint32_t positions, const char *path,
                           const gb_tokens *tokens, gb_status *status);
/* They have the prompts that the folder wants, or say that they have others. */
bool artifact_check_prompts(const char *folder, const gb_text_prompts *wanted,
                            const gb_tokens *tokens, gb_status *status);

#endif
