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

static bool is_stored(const gb_folder *folder, const gb_param *param, const gb_file_part *part)
{
    return param->file == GB_FILE_REQUIRED || gb_folder_has(folder, part->name);
}

bool gb_model_load(const gb_folder *folder, const gb_params *params, float *values,
                   gb_status *status)
{
    for (uint32_t i = 0; i < gb_params_count(params); i++) {
        const gb_param *param = gb_params_at(params, i);
        for (uint32_t k = 0; k < gb_param_part_count(param); k++) {
            gb_file_part part;
            gb_param_part(param, k, &part);
            if (is_stored(folder, param, &part) && !load_part(folder, param, part, values, status))
                return false;
        }
    }
    return true;
}

/* Whether gb_model_load writes all of a parameter. */
static bool is_whole(const gb_folder *folder, const gb_param *param)
{
    uint32_t parts = gb_param_part_count(param);
    for (uint32_t k = 0; k < parts; k++) {
        gb_file_part part;
        gb_param_part(param, k, &part);
        if (!is_stored(folder, param, &part) || rows_in(folder, &part) < part.rows)
            return false;
    }
    return parts > 0;
}

bool gb_model_start(const gb_folder *folder, const gb_params *params, uint64_t seed, float *values,
                    gb_status *status)
{
    memset(values, 0, gb_params_floats(params) * sizeof *values);
    for (uint32_t i = 0; i < gb_params_count(params); i++) {
        const gb_param *param = gb_params_at(params, i);
        if (!folder || !is_whole(folder, param))
            gb_param_init(param, seed, values);
    }
    return !folder || gb_model_load(folder, params, values, status);
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
