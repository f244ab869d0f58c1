/* A LLaMA in the place of an encoder, of texts of one's own and of a collection. */
#include "private.h"

gb_lm_encoder *retrieve_language_encoder(const gb_language_input *model, gb_device *device,
                                         const gb_sentence_settings *sentence, uint32_t dims,
                                         bool one_size, gb_status *status)
{
    gb_coder_ids ids = gb_coder_special_ids(model->coder);
    const gb_lm_encoder_params how = {.device = device,
                                      .folder = model->folder,
                                      .config = &model->config,
                                      .sentence = *sentence,
                                      .before = ids.before,
                                      .behind = ids.behind,
                                      .dims = dims,
                                      .one_size = one_size};
    return gb_lm_encoder_create(&how, status);
}
