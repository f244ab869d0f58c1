/* Writing a model folder: checked, written under a hidden name, renamed into place. */
#include "folder/internal.h"
#include <gabbro/os.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- checks ---- */

static bool has_head(const gb_folder_params *params)
{
    for (size_t i = 0; i < params->weight_count; i++)
        if (strncmp(params->weights[i].name, "cls.", 4) == 0)
            return true;
    return false;
}

bool folder_is_pairs(const gb_folder_params *params)
{
    for (size_t i = 0; i < params->weight_count; i++)
        if (strncmp(params->weights[i].name, "classifier.", 11) == 0)
            return true;
    return false;
}

/* The tensors that the model has. */
static size_t wanted_count(const gb_folder_params *params)
{
    return folder_is_pairs(params)
               ? gb_bert_weight_count(params->config, false) + FOLDER_PAIR_WEIGHTS
               : gb_bert_weight_count(params->config, has_head(params));
}

static gb_weight_spec wanted_at(const gb_folder_params *params, size_t index)
{
    size_t encoder = gb_bert_weight_count(params->config, false);
    return folder_is_pairs(params) && index >= encoder
               ? folder_pair_weight_at(params->config, index - encoder)
               : gb_bert_weight_at(params->config, index);
}

static bool check_weight(const gb_weight *weight, const gb_weight_spec *spec, const char *path,
                         gb_status *status)
{
    char have[FOLDER_SHAPE_TEXT], want[FOLDER_SHAPE_TEXT];
    if (weight->rows != spec->rows || weight->cols != spec->cols)
        return gb_fail(status, GB_DATA, path, "the weights are not of this configuration",
                       "tensor %s is %s, but the configuration asks for %s", weight->name,
                       folder_spec_text(weight->rows, weight->cols, have),
                       folder_spec_text(spec->rows, spec->cols, want));
    return folder_check_finite(weight, path, status);
}

/* Exactly the model of the configuration, as the reader will demand it. */
static bool check_weights(const gb_folder_params *params, const char *path, gb_status *status)
{
    size_t count = wanted_count(params);
    const gb_weight **sorted =
        folder_sorted_weights(params->weights, params->weight_count, path, status);
    bool ok = sorted != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        gb_weight_spec spec = wanted_at(params, i);
        gb_weight wanted = {.name = spec.name};
        const gb_weight *key = &wanted, **found = NULL;
        if (params->weight_count)
            found = bsearch(&key, sorted, params->weight_count, sizeof key, folder_weights_by_name);
        ok = found ? check_weight(*found, &spec, path, status)
                   : gb_fail(status, GB_DATA, path, "give every tensor of the model",
                             "tensor %s is missing", spec.name);
    }
    free(sorted);
    /* All wanted names are there and none twice: more tensors are unknown ones, but for the
     * projection of a model of late interaction. */
    for (size_t i = 0; ok && params->weight_count > count && i < params->weight_count; i++) {
        bool known = params->sentence.late && !strcmp(params->weights[i].name, "linear.weight");
        for (size_t j = 0; !known && j < count; j++)
            known = strcmp(wanted_at(params, j).name, params->weights[i].name) == 0;
        if (!known)
            ok = gb_fail(status, GB_DATA, path, "tensors of other parts belong into extra",
                         "tensor %.120s has no place in a BERT of %u layers",
                         params->weights[i].name, params->config->layers);
    }
    return ok;
}

static bool check_extra(const gb_folder_params *params, const char *path, gb_status *status)
{
    for (size_t i = 0; i < params->extra_count; i++) {
        const gb_weight *extra = &params->extra[i];
        gb_weight_spec same = {.rows = extra->rows, .cols = extra->cols};
        if (folder_name_is_bert(extra->name))
            return gb_fail(status, GB_DATA, path, "give it another name",
                           "extra tensor %.120s has a name of BertForMaskedLM", extra->name);
        if (!check_weight(extra, &same, path, status))
            return false;
    }
    return true;
}

static bool check_params(const gb_folder_params *params, const char *path, gb_status *status)
{
    const gb_bert_config *config = params->config;
    if (!gb_bert_config_check(config, path, status))
        return false;
    if (gb_vocab_size(params->vocab) > config->vocab_size)
        return gb_fail(status, GB_DATA, path, "vocabulary and model are not of one kind",
                       "%u tokens, but the model has %u word embeddings",
                       gb_vocab_size(params->vocab), config->vocab_size);
    if (params->sentence.max_length > config->max_positions)
        return gb_fail(status, GB_DATA, path, "shorten the inputs",
                       "inputs of %u tokens, but the model has %u positions",
                       params->sentence.max_length, config->max_positions);
    return check_weights(params, path, status) && check_extra(params, path, status);
}

/* ---- model card ---- */

/* One line of text: line ends would break the card's structure. */
static void append_line(gb_text *text, const char *line)
{
    for (; *line; line++)
        gb_text_append(text, *line == '\n' || *line == '\r' ? " " : line, 1);
}

void folder_card_section(gb_text *text, const char *before, const char *line, const char *after)
{
    if (!line)
        return;
    gb_text_printf(text, "%s", before);
    append_line(text, line);
    gb_text_printf(text, "%s", after);
}

void folder_card_facts(gb_text *text, const gb_model_card *card)
{
    folder_card_section(text, "\nTable: ", card->table, "\n");
    folder_card_section(text, "\nMade by\n\n```\n", card->command, "\n```\n");
    for (size_t i = 0; i < card->fact_count; i++) {
        gb_text_printf(text, "%s", i == 0 ? "\n| | |\n|---|---|\n" : "");
        folder_card_section(text, "| ", card->facts[i].name, " | ");
        folder_card_section(text, "`", card->facts[i].value, "` |\n");
    }
}

/* How a vector is made of a text. */
static void append_pooling(gb_text *text, const gb_folder_params *params)
{
    const gb_sentence_settings *how = &params->sentence;
    uint32_t length = how->max_length ? how->max_length : params->config->max_positions;
    if (how->pooling == GB_POOLING_TERMS)
        gb_text_printf(text,
                       "A text's vector has a weight for each of these terms: the largest of "
                       "log(1 + relu(logit)) of the masked-LM head over its tokens (inputs of at "
                       "most %u tokens); most are zero; relevance is the dot product.\n",
                       length);
    else
        gb_text_printf(text,
                       "A text's vector is the last layer's %s (inputs of at most %u tokens), %s; "
                       "relevance is the dot product.\n",
                       how->pooling == GB_POOLING_MEAN   ? "mean over all tokens"
                       : how->pooling == GB_POOLING_LAST ? "state of the last token"
                                                         : "state of `[CLS]`",
                       length, how->normalize ? "scaled to length 1" : "not scaled");
}

static bool write_card(const char *path, const gb_folder_params *params, gb_status *status)
{
    const gb_model_card *card = params->card;
    const gb_bert_config *config = params->config;
    bool terms = params->sentence.pooling == GB_POOLING_TERMS;
    const char *reader = terms ? "SparseEncoder" : "SentenceTransformer";
    gb_text text = {0};
    gb_text_printf(&text,
                   "---\n"
                   "library_name: sentence-transformers\n"
                   "pipeline_tag: %s\n"
                   "tags:\n- sentence-transformers\n- %s-retrieval\n- gabbro\n"
                   "---\n\n",
                   terms ? "feature-extraction" : "sentence-similarity",
                   terms ? "sparse-encoder\n- sparse" : "dense");
    folder_card_section(&text, "# ", card->title ? card->title : "Dense passage retriever", "\n\n");
    folder_card_section(&text, "", card->what, "\n\n");
    gb_text_printf(&text, "%s of %u layers, hidden size %u, %u heads, vocabulary %u. ",
                   gb_encoder_name(config->kind), config->layers, config->hidden_size,
                   config->heads, config->vocab_size);
    append_pooling(&text, params);
    folder_card_facts(&text, card);
    gb_text_printf(&text,
                   "\n```python\n"
                   "from sentence_transformers import %s\n"
                   "vectors = %s(\"this folder\").encode([\"a text\"])\n"
                   "```\n",
                   reader, reader);
    bool ok = text.failed ? gb_fail_memory(status, "writing the model card")
                          : gb_write_file(path, text.data, text.length, status);
    gb_text_free(&text);
    return ok;
}

/* ---- files ---- */

/* All but the tensors and the tokenizer. */
static bool write_words(const char *dir, const char *body, const gb_folder_params *params,
                        gb_status *status)
{
    bool pairs = folder_is_pairs(params);
    char *config = gb_path_join(status, body, "config.json");
    char *card = config ? gb_path_join(status, dir, "README.md") : NULL;
    bool ok =
        card &&
        (pairs ? gb_bert_config_write_pairs(config, params->config, params->sentence.probability,
                                            status)
               : gb_bert_config_write(config, params->config, has_head(params), status) &&
                     folder_write_sentence(dir, body, params, status)) &&
        (!params->card || (pairs                   ? folder_write_pair_card(card, params, status)
                           : params->sentence.late ? folder_write_late_card(card, params, status)
                                                   : write_card(card, params, status)));
    free(config);
    free(card);
    return ok;
}

/* The tensors by the names that the encoder's own files have. */
static bool write_model(const char *path, const gb_folder_params *params, gb_status *status)
{
    gb_encoder_kind kind = params->config->kind;
    if (kind == GB_ENCODER_BERT)
        return gb_safetensors_write(path, params->weights, params->weight_count, status);
    gb_weight *own = gb_alloc(params->weight_count, sizeof *own, status);
    char(*names)[GB_WEIGHT_NAME] = gb_alloc(params->weight_count, sizeof *names, status);
    for (size_t i = 0; own && names && i < params->weight_count; i++) {
        folder_own_name(kind, params->weights[i].name, names[i]);
        own[i] = params->weights[i];
        own[i].name = names[i];
    }
    bool ok = own && names && gb_safetensors_write(path, own, params->weight_count, status);
    free(own);
    free(names);
    return ok;
}

static bool write_files(const char *dir, const gb_folder_params *params, gb_status *status)
{
    char *body = params->sentence.query_tokens ? gb_path_join(status, dir, FOLDER_DOCUMENT)
                                               : gb_strdup(dir, status);
    char *model = body ? gb_path_join(status, body, "model.safetensors") : NULL;
    char *side = model ? gb_path_join(status, body, "gabbro.safetensors") : NULL;
    uint32_t length = params->config->max_positions;
    if (folder_is_pairs(params) && params->sentence.max_length)
        length = params->sentence.max_length; /* CrossEncoder has no other place for it */
    bool ok = side && gb_make_dirs(body, status) && write_words(dir, body, params, status) &&
              write_model(model, params, status) &&
              (!params->extra_count ||
               gb_safetensors_write(side, params->extra, params->extra_count, status)) &&
              folder_write_tokenizer(body, params->vocab, &params->tokenizer, length,
                                     params->config->type_vocab_size ? FOLDER_WITH_TYPES
                                                                     : FOLDER_WITHOUT_TYPES,
                                     params->sentence.late, status);
    free(body);
    free(model);
    free(side);
    return ok;
}

/* Only an older model folder may be replaced. */
static bool check_place(const char *path, bool replace, gb_status *status)
{
    struct stat info;
    if (gb_os_stat_link(path, &info) != 0)
        return true;
    char *config = gb_path_join(status, path, "config.json");
    char *modules = config ? gb_path_join(status, path, "modules.json") : NULL;
    bool known = modules != NULL;
    bool model = known && (gb_file_exists(config) || gb_file_exists(modules));
    free(config);
    free(modules);
    if (!known)
        return false;
    if (!replace)
        return gb_fail(status, GB_DATA, path, "remove it or choose another path", "already exists");
    return model || gb_fail(status, GB_DATA, path, "choose another path",
                            "exists and is no model folder: it is not replaced");
}

static bool write_folder(const char *path, const gb_folder_params *params, gb_status *status)
{
    if (!check_place(path, params->replace, status) || !check_params(params, path, status))
        return false;
    char *draft = gb_draft_folder(path, status);
    bool ok = draft && write_files(draft, params, status);
    return gb_draft_end(draft, ok, path, status);
}

bool gb_folder_write(const char *path, const gb_folder_params *params, gb_status *status)
{
    /* Behind a link the folder itself is replaced, not the link; no slash at the end. */
    char *plain = gb_dir_exists(path) ? gb_os_real_path(path) : NULL;
    if (!plain)
        plain = gb_strdup(path, status);
    if (!plain)
        return false;
    for (size_t length = strlen(plain); length > 1 && plain[length - 1] == '/'; length--)
        plain[length - 1] = '\0';
    bool ok = *plain ? write_folder(plain, params, status)
                     : gb_fail(status, GB_USAGE, NULL, "give a path", "no path for the model");
    free(plain);
    return ok;
}
