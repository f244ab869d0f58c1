/* Parameters to and from Hugging Face folders. Query, key and value (in some decoders key and
 * value) lie together in our parameters and apart in the folders; everything else has the same name
 * on both sides. */
#include <gabbro/nn.h>

#include <stdlib.h>
#include <string.h>

/* A stored tensor and where it lies in a parameter. */
typedef struct piece {
    char name[GB_WEIGHT_NAME]; /* in the folder */
    uint32_t row0, rows;       /* rows of the parameter, when it is a matrix */
    uint32_t col0, cols;       /* columns of the parameter */
    bool vector;               /* stored as a vector */
} piece;

/* Biases and layer norms; a matrix may have one row too. */
static bool is_vector(const gb_param *param)
{
    return !strstr(param->name, ".weight") || strstr(param->name, "LayerNorm");
}

/* The one to three stored tensors of a parameter. */
static uint32_t pieces_of(const gb_param *param, piece pieces[3])
{
    static const char *const parts[] = {"query", "key", "value"};
    static const struct {
        const char *name;      /* in our names */
        uint32_t first, count; /* of parts */
    } joined[] = {{".qkv.", 0, 3}, {".kv.", 1, 2}};
    bool vector = is_vector(param);
    for (uint32_t j = 0; j < 2; j++) {
        const char *at = strstr(param->name, joined[j].name);
        uint32_t count = joined[j].count;
        for (uint32_t i = 0; at && i < count; i++) {
            uint32_t rows = vector ? 1 : param->rows / count;
            uint32_t cols = vector ? param->cols / count : param->cols;
            pieces[i] = (piece){.row0 = vector ? 0 : i * rows,
                                .rows = rows,
                                .col0 = vector ? i * cols : 0,
                                .cols = cols,
                                .vector = vector};
            snprintf(pieces[i].name, sizeof pieces[i].name, "%.*s.%s.%s", (int)(at - param->name),
                     param->name, parts[joined[j].first + i], at + strlen(joined[j].name));
        }
        if (at)
            return count;
    }
    pieces[0] = (piece){.rows = param->rows, .cols = param->cols, .vector = vector};
    snprintf(pieces[0].name, sizeof pieces[0].name, "%s", param->name);
    return 1;
}

static bool load_piece(const gb_folder *folder, const gb_param *param, const piece *part,
                       float *values, gb_status *status)
{
    float *dense = gb_alloc((size_t)part->rows * part->cols, sizeof *dense, status);
    if (!dense)
        return false;
    bool ok = gb_folder_read(folder, part->name, part->vector ? part->cols : part->rows,
                             part->vector ? 0 : part->cols, dense, status);
    for (uint32_t r = 0; ok && r < part->rows; r++)
        memcpy(values + param->offset + (uint64_t)(part->row0 + r) * param->ld + part->col0,
               dense + (size_t)r * part->cols, sizeof *dense * part->cols);
    free(dense);
    return ok;
}

bool gb_model_load(const gb_folder *folder, const gb_params *params, float *values,
                   gb_status *status)
{
    for (uint32_t i = 0; i < gb_params_count(params); i++) {
        const gb_param *param = gb_params_at(params, i);
        if (is_vector(param) && param->rows > 1)
            continue; /* a queue of keys: stored by its first, it begins anew */
        piece pieces[3];
        uint32_t count = pieces_of(param, pieces);
        bool encoder = !strncmp(param->name, "bert.", 5);
        for (uint32_t k = 0; k < count; k++)
            if ((encoder || gb_folder_has(folder, pieces[k].name)) &&
                !load_piece(folder, param, &pieces[k], values, status))
                return false;
    }
    return true;
}

/* Dense copies of all parameters as stored tensors, canonical ones first in `weights`. */
typedef struct stored_list {
    gb_weight *weights, *extra;       /* tensors of the two files */
    size_t weight_count, extra_count; /* how many */
    gb_arena *arena;                  /* keeps the values alive */
} stored_list;

static bool store_param(stored_list *list, const gb_param *param, const float *values,
                        gb_status *status)
{
    piece pieces[3];
    uint32_t count = pieces_of(param, pieces);
    bool canonical = !strncmp(param->name, "bert.", 5) || !strncmp(param->name, "cls.", 4);
    for (uint32_t k = 0; k < count; k++) {
        const piece *part = &pieces[k];
        float *dense = gb_arena_alloc(list->arena, sizeof(float) * part->rows * part->cols, status);
        char *name = gb_arena_strdup(list->arena, part->name, strlen(part->name), status);
        if (!dense || !name)
            return false;
        for (uint32_t r = 0; r < part->rows; r++)
            memcpy(dense + (size_t)r * part->cols,
                   values + param->offset + (uint64_t)(part->row0 + r) * param->ld + part->col0,
                   sizeof *dense * part->cols);
        gb_weight weight = {name, part->vector ? part->cols : part->rows,
                            part->vector ? 0 : part->cols, dense};
        if (canonical)
            list->weights[list->weight_count++] = weight;
        else
            list->extra[list->extra_count++] = weight;
    }
    return true;
}

bool gb_model_save(const char *path, const gb_bert_config *config, const gb_params *params,
                   const float *values, const gb_vocab *vocab, gb_tokenizer_params tokenizer,
                   const gb_sentence_settings *how, const gb_model_card *card, gb_status *status)
{
    size_t most = (size_t)gb_params_count(params) * 3;
    stored_list list = {.weights = gb_alloc(most, sizeof(gb_weight), status),
                        .extra = gb_alloc(most, sizeof(gb_weight), status),
                        .arena = gb_arena_create(1 << 20, status)};
    bool ok = list.weights && list.extra && list.arena;
    for (uint32_t i = 0; ok && i < gb_params_count(params); i++)
        ok = store_param(&list, gb_params_at(params, i), values, status);
    gb_folder_params folder = {.config = config,
                               .weights = list.weights,
                               .weight_count = list.weight_count,
                               .extra = list.extra,
                               .extra_count = list.extra_count,
                               .vocab = vocab,
                               .tokenizer = tokenizer,
                               .sentence = *how,
                               .card = card,
                               .replace = true};
    ok = ok && gb_folder_write(path, &folder, status);
    gb_arena_destroy(list.arena);
    free(list.weights);
    free(list.extra);
    return ok;
}
