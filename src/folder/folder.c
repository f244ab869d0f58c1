/* Reading a model folder: its tensors by canonical names, checked against config.json. */
#include "folder/internal.h"

#include <stdlib.h>
#include <string.h>

#define MODEL_FILE "model.safetensors"
#define SIDE_FILE  "gabbro.safetensors"

typedef struct entry {
    char *name;              /* canonical name */
    const gb_stored *stored; /* where it lies */
    bool expected;           /* the model of config.json has it */
    bool pair;               /* pooler or classifier */
} entry;

struct gb_folder {
    char *path;                        /* the folder */
    char *body;                        /* where config.json and the tensors are: mostly the same */
    gb_bert_config config;             /* of config.json */
    bool head;                         /* cls.predictions.* is there */
    gb_folder_kind kind;               /* by config.json and the tensors */
    char architecture[GB_WEIGHT_NAME]; /* of config.json, or "" */
    gb_safetensors *model;             /* model.safetensors, pytorch_model.bin, or shards of one */
    gb_safetensors *side;              /* gabbro.safetensors, or NULL */
    gb_safetensors *dense;             /* the projection of tokens in a file of its own, or NULL */
    bool late;                         /* tokens are projected, by linear.weight */
    gb_arena *names;                   /* canonical names */
    entry *entries;                    /* in byte order of names */
    size_t count;                      /* entries in use */
    size_t capacity;                   /* entries allocated */
};

void gb_folder_close(gb_folder *folder)
{
    if (!folder)
        return;
    gb_safetensors_close(folder->model);
    gb_safetensors_close(folder->side);
    gb_safetensors_close(folder->dense);
    gb_arena_destroy(folder->names);
    free(folder->entries);
    free(folder->path);
    free(folder->body);
    free(folder);
}

const char *gb_folder_path(const gb_folder *folder)
{
    return folder->path;
}

const char *folder_body(const gb_folder *folder)
{
    return folder->body;
}

const gb_bert_config *gb_folder_config(const gb_folder *folder)
{
    return &folder->config;
}

bool gb_folder_has_head(const gb_folder *folder)
{
    return folder->head;
}

gb_folder_kind gb_folder_kind_of(const gb_folder *folder)
{
    return folder->kind;
}

size_t gb_folder_count(const gb_folder *folder)
{
    size_t count = 0;
    for (size_t i = 0; i < folder->count; i++)
        count += !folder->entries[i].pair;
    return count;
}

/* ---- names ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

static entry *find(const gb_folder *folder, const char *name)
{
    entry key = {.name = (char *)name};
    return folder->count ? bsearch(&key, folder->entries, folder->count, sizeof key, by_name)
                         : NULL;
}

bool gb_folder_has(const gb_folder *folder, const char *name)
{
    return find(folder, name) != NULL;
}

static bool add(gb_folder *folder, const char *name, const gb_stored *stored, bool pair,
                gb_status *status)
{
    if (!gb_grow(&folder->entries, &folder->capacity, folder->count + 1, sizeof(entry), status))
        return false;
    char *copy = gb_arena_strdup(folder->names, name, strlen(name), status);
    if (!copy)
        return false;
    folder->entries[folder->count++] =
        (entry){.name = copy, .stored = stored, .pair = pair, .expected = pair};
    return true;
}

/* Sort what was added; two tensors must not have one name. */
static bool sort_entries(gb_folder *folder, gb_status *status)
{
    if (folder->count)
        qsort(folder->entries, folder->count, sizeof(entry), by_name);
    for (size_t i = 1; i < folder->count; i++) {
        const entry *a = &folder->entries[i - 1], *b = &folder->entries[i];
        if (strcmp(a->name, b->name) == 0)
            return gb_fail(status, GB_DATA, b->stored->path, "remove one of them",
                           "tensors %s and %s both stand for %s", a->stored->name, b->stored->name,
                           a->name);
    }
    return true;
}

/* A stored second copy of a tied tensor must not differ: we would compute another model. */
static bool check_tied(const gb_folder *folder, const gb_stored *copy, const char *name,
                       gb_status *status)
{
    const entry *of = copy ? find(folder, name) : NULL;
    if (!of)
        return true; /* no copy; a missing original is told later */
    const gb_stored *original = of->stored;
    if (copy->bytes == original->bytes && strcmp(copy->dtype, original->dtype) == 0 &&
        memcmp(copy->data, original->data, copy->bytes) == 0)
        return true;
    return gb_fail(status, GB_DATA, copy->path, "only tied output matrices and biases are computed",
                   "tensor %s differs from %s", copy->name, original->name);
}

/* Take the tensors of model.safetensors by their canonical names. */
static bool index_model(gb_folder *folder, gb_status *status)
{
    const gb_stored *tied_weight = NULL, *tied_bias = NULL;
    bool bias = false;
    for (size_t i = 0; i < gb_safetensors_count(folder->model); i++) {
        const gb_stored *stored = gb_safetensors_at(folder->model, i);
        char name[GB_WEIGHT_NAME];
        switch (folder_canonical(folder->config.kind, stored->name, name)) {
        case FOLDER_SKIPPED:
            gb_log(GB_LOG_DEBUG, "%s: tensor %s is not used", stored->path, stored->name);
            break;
        case FOLDER_TIED_WEIGHT:
            tied_weight = stored;
            break;
        case FOLDER_TIED_BIAS:
            tied_bias = stored;
            break;
        case FOLDER_CLASSIFIER:
            if (!*folder->architecture || strcmp(folder->architecture, FOLDER_PAIRS) == 0)
                folder->kind = GB_FOLDER_CROSS_ENCODER;
            if (!add(folder, name, stored, folder->kind == GB_FOLDER_CROSS_ENCODER, status))
                return false;
            break;
        case FOLDER_POOLER:
            if (!add(folder, name, stored, true, status))
                return false;
            break;
        case FOLDER_NAMED:
            bias = bias || strcmp(name, "cls.predictions.bias") == 0;
            if (!add(folder, name, stored, false, status))
                return false;
        }
    }
    if (tied_bias && !bias && !add(folder, "cls.predictions.bias", tied_bias, false, status))
        return false;
    return sort_entries(folder, status) &&
           check_tied(folder, tied_weight, "bert.embeddings.word_embeddings.weight", status) &&
           check_tied(folder, tied_bias, "cls.predictions.bias", status);
}

/* The projection of tokens: beside the encoder (ColBERT), in a file of its own (PyLate), or both.
 */
static bool index_dense(gb_folder *folder, gb_status *status)
{
    const gb_stored *own =
        folder->dense ? gb_safetensors_find(folder->dense, "linear.weight") : NULL;
    if (find(folder, "linear.weight"))
        return check_tied(folder, own, "linear.weight", status);
    return !own ||
           (add(folder, "linear.weight", own, false, status) && sort_entries(folder, status));
}

static bool index_side(gb_folder *folder, gb_status *status)
{
    for (size_t i = 0; folder->side && i < gb_safetensors_count(folder->side); i++) {
        const gb_stored *stored = gb_safetensors_at(folder->side, i);
        if (folder_name_is_bert(stored->name))
            return gb_fail(status, GB_DATA, stored->path, "it belongs into " MODEL_FILE,
                           "tensor %s has no place in the side file", stored->name);
        if (!add(folder, stored->name, stored, false, status))
            return false;
    }
    return sort_entries(folder, status);
}

/* ---- checks ---- */

/* The path of the tensors, for messages about one that is not there. */
static const char *model_path(const gb_folder *folder)
{
    return gb_safetensors_count(folder->model) ? gb_safetensors_at(folder->model, 0)->path
                                               : folder->path;
}

static bool fail_missing(const gb_folder *folder, const char *name, gb_status *status)
{
    return gb_fail(status, GB_DATA, model_path(folder),
                   "is it a model of the kind and size that config.json says?",
                   "tensor %.120s is missing", name);
}

static bool fail_shape(const gb_stored *stored, const gb_weight_spec *spec, gb_status *status)
{
    char have[FOLDER_SHAPE_TEXT], want[FOLDER_SHAPE_TEXT];
    return gb_fail(status, GB_DATA, stored->path,
                   "config.json and the tensors are not of one model",
                   "tensor %s is %s, but config.json asks for %s", stored->name,
                   folder_shape_text(stored->shape, stored->rank, have),
                   folder_spec_text(spec->rows, spec->cols, want));
}

/* The head of a cross-encoder: complete, of one label. */
static bool check_pair_head(const gb_folder *folder, gb_status *status)
{
    for (size_t i = 0; i < FOLDER_PAIR_WEIGHTS; i++) {
        gb_weight_spec spec = folder_pair_weight_at(&folder->config, i);
        const entry *found = find(folder, spec.name);
        if (!found)
            return fail_missing(folder, spec.name, status);
        const gb_stored *stored = found->stored;
        if (folder_shape_is(stored, spec.rows, spec.cols))
            continue;
        if (spec.rows == 1 && stored->rank == (spec.cols ? 2 : 1) && stored->shape[0] > 1)
            return gb_fail(status, GB_DATA, stored->path, "give one with a single label",
                           "a classifier of %llu labels; of cross-encoders one score a pair is "
                           "computed",
                           (unsigned long long)stored->shape[0]);
        return fail_shape(stored, &spec, status);
    }
    return folder->config.type_vocab_size > 1 ||
           gb_fail(status, GB_DATA, folder->path, "is config.json of this model?",
                   "a cross-encoder of one token type cannot tell query and passage apart");
}

/* Another kind of model than those wanted. */
static bool check_kind(const gb_folder *folder, uint32_t kinds, gb_status *status)
{
    if (folder->kind & kinds)
        return true;
    if (folder->kind == GB_FOLDER_CROSS_ENCODER)
        return gb_fail(status, GB_DATA, folder->path,
                       "gabbro rerank reads it; give an encoder or a retriever here",
                       "the model is a cross-encoder, which scores pairs of texts and makes no "
                       "vectors");
    return gb_fail(status, GB_DATA, folder->path,
                   "give a cross-encoder, such as gabbro finetune-cross makes",
                   "the model is an encoder of single texts, without a classifier of pairs%s%.60s",
                   *folder->architecture ? ": " : "", folder->architecture);
}

/* The model of config.json: everything there, nothing more, in the right shapes. */
static bool check_model(gb_folder *folder, gb_status *status)
{
    const gb_bert_config *config = &folder->config;
    size_t encoder = gb_bert_weight_count(config, false);
    size_t all = gb_bert_weight_count(config, true);
    for (size_t i = 0; i < folder->count; i++)
        folder->head =
            folder->head || strncmp(folder->entries[i].name, "cls.predictions.", 16) == 0;
    for (size_t i = 0; i < (folder->head ? all : encoder); i++) {
        gb_weight_spec spec = gb_bert_weight_at(config, i);
        entry *found = find(folder, spec.name);
        if (!found)
            return fail_missing(folder, spec.name, status);
        if (!folder_shape_is(found->stored, spec.rows, spec.cols))
            return fail_shape(found->stored, &spec, status);
        found->expected = true;
    }
    entry *linear = folder->late ? find(folder, "linear.weight") : NULL;
    if (linear)
        linear->expected =
            linear->stored->rank == 2 && linear->stored->shape[1] == config->hidden_size;
    for (size_t i = 0; i < folder->count; i++)
        if (!folder->entries[i].expected)
            return gb_fail(status, GB_DATA, folder->entries[i].stored->path,
                           "it would be dropped silently; is it another kind of model?",
                           "tensor %s has no place in a %s of %u layers",
                           folder->entries[i].stored->name, gb_encoder_name(config->kind),
                           config->layers);
    return folder->kind != GB_FOLDER_CROSS_ENCODER || check_pair_head(folder, status);
}

uint32_t folder_rows_of(const gb_folder *folder, const char *name)
{
    const entry *item = find(folder, name);
    return item && item->stored->rank ? (uint32_t)item->stored->shape[0] : 0;
}

bool gb_folder_read(const gb_folder *folder, const char *name, uint64_t rows, uint64_t cols,
                    float *out, gb_status *status)
{
    const entry *item = find(folder, name);
    if (!item)
        return fail_missing(folder, name, status);
    if (!gb_stored_read(item->stored, rows, cols, out, status))
        return false;
    uint64_t count = cols ? rows * cols : rows, bad = folder_first_unfinite(out, count);
    return bad == count || gb_fail(status, GB_DATA, item->stored->path,
                                   "the training that wrote it diverged, or the file is damaged",
                                   "tensor %s is not finite at value %llu", item->stored->name,
                                   (unsigned long long)bad);
}

/* ---- opening ---- */

char *gb_folder_tensor_file(const char *folder, gb_status *status)
{
    static const char *const names[] = {MODEL_FILE, MODEL_FILE ".index.json", "pytorch_model.bin",
                                        "pytorch_model.bin.index.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = gb_path_join(status, folder, names[i]);
        if (!path || gb_file_exists(path))
            return path;
        free(path);
    }
    gb_fail(status, GB_DATA, folder, "give a Hugging Face model folder, or fetch it again",
            "no " MODEL_FILE " in the folder, and no pytorch_model.bin");
    return NULL;
}

static bool open_dense(gb_folder *folder, gb_status *status)
{
    char *path;
    if (!(folder->late = gb_folder_late_kind(folder->path) == GB_LATE_COLBERT))
        return true;
    bool ok = folder_dense_file(folder->path, &path, status) &&
              (!path || (folder->dense = gb_safetensors_open(path, status)));
    free(path);
    return ok;
}

static bool open_files(gb_folder *folder, gb_status *status)
{
    char *config = gb_path_join(status, folder->body, "config.json");
    bool ok = config &&
              gb_file_needed(folder->body, "config.json", "give the folder of a model", status) &&
              gb_bert_config_read(config, &folder->config, status) &&
              folder_read_architecture(config, folder->architecture, status);
    folder->kind = GB_FOLDER_ENCODER;
    free(config);
    char *model = ok ? gb_folder_tensor_file(folder->body, status) : NULL;
    folder->model = model ? gb_safetensors_open(model, status) : NULL;
    free(model);
    char *side = folder->model ? gb_path_join(status, folder->body, SIDE_FILE) : NULL;
    ok = side != NULL;
    if (ok && gb_file_exists(side)) {
        folder->side = gb_safetensors_open(side, status);
        ok = folder->side != NULL;
    }
    free(side);
    return ok;
}

gb_folder *gb_folder_open_kinds(const char *path, uint32_t kinds, gb_status *status)
{
    if (!gb_dir_exists(path)) {
        gb_fail(status, GB_DATA, path,
                "give a folder with config.json, model.safetensors and vocab.txt",
                "no such model folder");
        return NULL;
    }
    gb_folder *folder = gb_alloc(1, sizeof *folder, status);
    if (!folder)
        return NULL;
    folder->path = gb_strdup(path, status);
    folder->body = folder_find_body(path, status);
    folder->names = gb_arena_create(1 << 14, status);
    if (folder->path && folder->body && folder->names && open_files(folder, status) &&
        open_dense(folder, status) && index_model(folder, status) && index_dense(folder, status) &&
        check_kind(folder, kinds, status) && check_model(folder, status) &&
        index_side(folder, status))
        return folder;
    gb_folder_close(folder);
    return NULL;
}

gb_folder *gb_folder_open(const char *path, gb_status *status)
{
    return gb_folder_open_kinds(path, GB_FOLDER_ENCODER, status);
}
