/* BERT models to and from Hugging Face folders. */
#include <gabbro/nn.h>

#include <stdlib.h>
#include <string.h>

/* Rows of a part that a folder has: word embeddings may have grown. */
static uint32_t rows_in(const gb_folder *folder, const gb_file_part *part)
{
    uint32_t words = gb_folder_config(folder)->vocab_size;
    return words < part->rows && !strcmp(part->name, "bert.embeddings.word_embeddings.weight")
               ? words
               : part->rows;
}

static bool load_part(const gb_folder *folder, const gb_param *param, gb_file_part part,
                      float *values, gb_status *status)
{
    part.rows = rows_in(folder, &part);
    uint64_t rows = part.vector ? part.cols : part.rows, cols = part.vector ? 0 : part.cols;
    float *to = values + param->offset + part.at;
    if (part.rows == 1 || part.cols == param->ld)
        return gb_folder_read(folder, part.name, rows, cols, to, status);
    float *dense = gb_alloc((size_t)part.rows * part.cols, sizeof *dense, status);
    bool ok = dense && gb_folder_read(folder, part.name, rows, cols, dense, status);
    for (uint32_t r = 0; ok && r < part.rows; r++)
        memcpy(to + (uint64_t)r * param->ld, dense + (size_t)r * part.cols,
               sizeof *dense * part.cols);
    free(dense);
    return ok;
}

bool gb_model_load(const gb_folder *folder, const gb_params *params, float *values,
                   gb_status *status)
{
    for (uint32_t i = 0; i < gb_params_count(params); i++) {
        const gb_param *param = gb_params_at(params, i);
        for (uint32_t k = 0; k < gb_param_part_count(param); k++) {
            gb_file_part part;
            gb_param_part(param, k, &part);
            if ((param->file == GB_FILE_REQUIRED || gb_folder_has(folder, part.name)) &&
                !load_part(folder, param, part, values, status))
                return false;
        }
    }
    return true;
}

bool gb_model_save(const char *path, const gb_bert_config *config, const gb_params *params,
                   const float *values, const gb_vocab *vocab, gb_tokenizer_params tokenizer,
                   const gb_sentence_settings *how, const gb_model_card *card, gb_status *status)
{
    gb_file_tensors list;
    bool ok = gb_file_tensors_make(&list, params, values, status);
    gb_folder_params folder = {.config = config,
                               .weights = list.model,
                               .weight_count = list.model_count,
                               .extra = list.aside,
                               .extra_count = list.aside_count,
                               .vocab = vocab,
                               .tokenizer = tokenizer,
                               .sentence = *how,
                               .card = card,
                               .replace = true};
    ok = ok && gb_folder_write(path, &folder, status);
    gb_file_tensors_free(&list);
    return ok;
}
