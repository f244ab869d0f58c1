/* The parameters of BertForMaskedLM and of cross-encoders: their canonical names and shapes, and
 * the other names that checkpoints give them. */
#include "folder/internal.h"

#include <math.h>
#include <string.h>

/* Dimensions of a parameter, by what they are in the configuration. */
typedef enum dimension {
    NONE,
    VOCAB,
    HIDDEN,
    HIDDEN3,
    INNER,
    INNER2,
    POSITIONS,
    TYPES,
    BUCKETS,
    HEADS,
    ONE
} dimension;

typedef struct parameter {
    const char *name;     /* after the part's prefix */
    dimension rows, cols; /* shape; cols NONE: a vector */
} parameter;

/* Those that a configuration has no rows of are not there. */
static const parameter embeddings[] = {
    {"embeddings.word_embeddings.weight", VOCAB, HIDDEN},
    {"embeddings.position_embeddings.weight", POSITIONS, HIDDEN},
    {"embeddings.token_type_embeddings.weight", TYPES, HIDDEN},
    {"embeddings.LayerNorm.weight", HIDDEN, NONE},
    {"embeddings.LayerNorm.bias", HIDDEN, NONE},
    {"encoder.relative_attention_bias.weight", BUCKETS, HEADS},
};

/* torch.nn.Linear keeps its matrix as [out, in]. */
static const parameter layer[] = {
    {"attention.self.query.weight", HIDDEN, HIDDEN},
    {"attention.self.query.bias", HIDDEN, NONE},
    {"attention.self.key.weight", HIDDEN, HIDDEN},
    {"attention.self.key.bias", HIDDEN, NONE},
    {"attention.self.value.weight", HIDDEN, HIDDEN},
    {"attention.self.value.bias", HIDDEN, NONE},
    {"attention.output.dense.weight", HIDDEN, HIDDEN},
    {"attention.output.dense.bias", HIDDEN, NONE},
    {"attention.output.LayerNorm.weight", HIDDEN, NONE},
    {"attention.output.LayerNorm.bias", HIDDEN, NONE},
    {"intermediate.dense.weight", INNER, HIDDEN},
    {"intermediate.dense.bias", INNER, NONE},
    {"output.dense.weight", HIDDEN, INNER},
    {"output.dense.bias", HIDDEN, NONE},
    {"output.LayerNorm.weight", HIDDEN, NONE},
    {"output.LayerNorm.bias", HIDDEN, NONE},
};

static const parameter head[] = {
    {"transform.dense.weight", HIDDEN, HIDDEN},
    {"transform.dense.bias", HIDDEN, NONE},
    {"transform.LayerNorm.weight", HIDDEN, NONE},
    {"transform.LayerNorm.bias", HIDDEN, NONE},
    {"bias", VOCAB, NONE},
};

/* ModernBERT's. */
static const parameter modern_embeddings[] = {
    {"embeddings.word_embeddings.weight", VOCAB, HIDDEN},
    {"embeddings.LayerNorm.weight", HIDDEN, NONE},
    {"encoder.final_norm.weight", HIDDEN, NONE},
};

static const parameter modern_layer[] = {
    {"attention.output.LayerNorm.weight", HIDDEN, NONE}, /* not of the first layer */
    {"attention.self.qkv.weight", HIDDEN3, HIDDEN},
    {"attention.output.dense.weight", HIDDEN, HIDDEN},
    {"output.LayerNorm.weight", HIDDEN, NONE},
    {"intermediate.dense.weight", INNER2, HIDDEN},
    {"output.dense.weight", HIDDEN, INNER},
};

static const parameter modern_head[] = {
    {"transform.dense.weight", HIDDEN, HIDDEN},
    {"transform.LayerNorm.weight", HIDDEN, NONE},
    {"bias", VOCAB, NONE},
};

static const parameter pair_head[FOLDER_PAIR_WEIGHTS] = {
    {"bert.pooler.dense.weight", HIDDEN, HIDDEN},
    {"bert.pooler.dense.bias", HIDDEN, NONE},
    {"classifier.weight", ONE, HIDDEN},
    {"classifier.bias", ONE, NONE},
};

#define NAME_LIMIT_BYTES 255

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Tensors of common checkpoints that are knowingly left aside; a name that ends in '.' stands for
 * all that begin with it. */
static const char *const skipped[] = {
    "bert.embeddings.position_ids",   /* 0, 1, 2, ... */
    "bert.embeddings.token_type_ids", /* zeros */
    "cls.seq_relationship.",          /* next-sentence prediction */
};

static uint64_t dimension_size(const gb_bert_config *config, dimension of)
{
    switch (of) {
    case VOCAB:
        return config->vocab_size;
    case HIDDEN:
        return config->hidden_size;
    case HIDDEN3:
        return 3 * (uint64_t)config->hidden_size;
    case INNER:
        return config->intermediate_size;
    case INNER2:
        return 2 * (uint64_t)config->intermediate_size;
    case POSITIONS:
        return config->max_positions + config->position_offset;
    case TYPES:
        return config->type_vocab_size;
    case BUCKETS:
        return config->buckets;
    case HEADS:
        return config->heads;
    case ONE:
        return 1;
    case NONE:
        break;
    }
    return 0;
}

gb_weight_spec folder_pair_weight_at(const gb_bert_config *config, size_t index)
{
    const parameter *of = &pair_head[index];
    gb_weight_spec spec = {.rows = dimension_size(config, of->rows),
                           .cols = dimension_size(config, of->cols)};
    snprintf(spec.name, sizeof spec.name, "%s", of->name);
    return spec;
}

/* The parameters of a kind of encoder. */
typedef struct parameter_tables {
    const parameter *embeddings, *layer, *head;      /* of each part */
    size_t embedding_count, layer_count, head_count; /* entries */
    size_t first_lacks;                              /* first entries that layer 0 has not */
} parameter_tables;

static const parameter_tables *tables_of(const gb_bert_config *config)
{
    static const parameter_tables bert = {embeddings,   layer,       head, COUNT(embeddings),
                                          COUNT(layer), COUNT(head), 0};
    static const parameter_tables modern = {modern_embeddings,
                                            modern_layer,
                                            modern_head,
                                            COUNT(modern_embeddings),
                                            COUNT(modern_layer),
                                            COUNT(modern_head),
                                            1};
    return config->theta > 0 ? &modern : &bert;
}

/* The embeddings that a configuration has; *found gets the one with this index. */
static size_t embedding_count(const gb_bert_config *config, size_t index, const parameter **found)
{
    const parameter_tables *tables = tables_of(config);
    size_t count = 0;
    for (size_t i = 0; i < tables->embedding_count; i++) {
        if (!dimension_size(config, tables->embeddings[i].rows))
            continue;
        if (found && count == index)
            *found = &tables->embeddings[i];
        count++;
    }
    return count;
}

static size_t layers_count(const gb_bert_config *config)
{
    const parameter_tables *tables = tables_of(config);
    return tables->layer_count * config->layers - tables->first_lacks;
}

size_t gb_bert_weight_count(const gb_bert_config *config, bool with_head)
{
    return embedding_count(config, 0, NULL) + layers_count(config) +
           (with_head ? tables_of(config)->head_count : 0);
}

gb_weight_spec gb_bert_weight_at(const gb_bert_config *config, size_t index)
{
    gb_weight_spec spec = {0};
    const parameter *of = NULL;
    const parameter_tables *tables = tables_of(config);
    size_t before = embedding_count(config, index, &of), in_layers = layers_count(config);
    if (index < before) {
        snprintf(spec.name, sizeof spec.name, "bert.%s", of->name);
    } else if (index - before < in_layers) {
        index = index - before + tables->first_lacks;
        of = &tables->layer[index % tables->layer_count];
        snprintf(spec.name, sizeof spec.name, "bert.encoder.layer.%zu.%s",
                 index / tables->layer_count, of->name);
    } else {
        of = &tables->head[(index - before - in_layers) % tables->head_count];
        snprintf(spec.name, sizeof spec.name, "cls.predictions.%s", of->name);
    }
    spec.rows = dimension_size(config, of->rows);
    spec.cols = dimension_size(config, of->cols);
    return spec;
}

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Replace the end of a name, e.g. TensorFlow's "gamma" by "weight". */
static void replace_end(char name[GB_WEIGHT_NAME], const char *end, const char *by)
{
    size_t length = strlen(name), cut = strlen(end);
    if (length < cut || strcmp(name + length - cut, end) != 0)
        return;
    length -= cut;
    snprintf(name + length, GB_WEIGHT_NAME - length, "%s", by);
}

bool folder_name_is_sound(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
            return false;
    return length > 0 && length <= NAME_LIMIT_BYTES && strcmp(name, "__metadata__") != 0;
}

bool folder_name_is_bert(const char *name)
{
    return starts_with(name, "bert.") || starts_with(name, "cls.") ||
           starts_with(name, "classifier.");
}

folder_role folder_canonical(gb_encoder_kind kind, const char *from, char name[GB_WEIGHT_NAME])
{
    char stored[GB_WEIGHT_NAME];
    folder_bert_name(kind, from, stored);
    bool bare = starts_with(stored, "embeddings.") || starts_with(stored, "encoder.") ||
                starts_with(stored, "pooler.");
    /* A name too long for the buffer is no parameter's; cut short it is none either. */
    snprintf(name, GB_WEIGHT_NAME, "%s%.*s", bare ? "bert." : "", GB_WEIGHT_NAME - 6, stored);
    replace_end(name, "LayerNorm.gamma", "LayerNorm.weight");
    replace_end(name, "LayerNorm.beta", "LayerNorm.bias");
    for (size_t i = 0; i < COUNT(skipped); i++) {
        bool prefix = skipped[i][strlen(skipped[i]) - 1] == '.';
        if (prefix ? starts_with(name, skipped[i]) : strcmp(name, skipped[i]) == 0)
            return FOLDER_SKIPPED;
    }
    for (size_t i = 0; i < COUNT(pair_head); i++)
        if (strcmp(name, pair_head[i].name) == 0)
            return starts_with(name, "bert.") ? FOLDER_POOLER : FOLDER_CLASSIFIER;
    if (strcmp(name, "cls.predictions.decoder.weight") == 0)
        return FOLDER_TIED_WEIGHT;
    if (strcmp(name, "cls.predictions.decoder.bias") == 0)
        return FOLDER_TIED_BIAS;
    return FOLDER_NAMED;
}

const char *folder_shape_text(const uint64_t *shape, uint32_t rank, char text[FOLDER_SHAPE_TEXT])
{
    int used = snprintf(text, FOLDER_SHAPE_TEXT, "[");
    for (uint32_t i = 0; i < rank && i < GB_STORED_RANK; i++)
        used += snprintf(text + used, (size_t)(FOLDER_SHAPE_TEXT - used), "%s%llu", i ? ", " : "",
                         (unsigned long long)shape[i]);
    snprintf(text + used, (size_t)(FOLDER_SHAPE_TEXT - used), "]");
    return text;
}

const char *folder_spec_text(uint64_t rows, uint64_t cols, char text[FOLDER_SHAPE_TEXT])
{
    const uint64_t shape[2] = {rows, cols};
    return folder_shape_text(shape, cols ? 2 : 1, text);
}

bool folder_shape_is(const gb_stored *stored, uint64_t rows, uint64_t cols)
{
    if (cols == 0)
        return stored->rank == 1 && stored->shape[0] == rows;
    return stored->rank == 2 && stored->shape[0] == rows && stored->shape[1] == cols;
}

uint64_t folder_first_unfinite(const float *values, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return i;
    return count;
}
