/* The encoders that are read and written, each as what sets it apart from BERT: names in its files,
 * and the few things that it computes otherwise. */
#include "folder/internal.h"

#include <string.h>

static const folder_rename distilbert_names[] = {
    {"bert.encoder.layer.", "distilbert.transformer.layer."},
    {"bert.embeddings.", "distilbert.embeddings."},
    {".attention.self.query.", ".attention.q_lin."},
    {".attention.self.key.", ".attention.k_lin."},
    {".attention.self.value.", ".attention.v_lin."},
    {".attention.output.dense.", ".attention.out_lin."},
    {".attention.output.LayerNorm.", ".sa_layer_norm."},
    {".intermediate.dense.", ".ffn.lin1."},
    {".output.dense.", ".ffn.lin2."},
    {".output.LayerNorm.", ".output_layer_norm."},
    {"cls.predictions.transform.dense.", "vocab_transform."},
    {"cls.predictions.transform.LayerNorm.", "vocab_layer_norm."},
    {"cls.predictions.bias", "vocab_projector.bias"},
    {"cls.predictions.decoder.", "vocab_projector."},
    {0}};

#define AFTER_ROBERTA                                                                              \
    {"cls.predictions.transform.dense.", "lm_head.dense."},                                        \
        {"cls.predictions.transform.LayerNorm.", "lm_head.layer_norm."},                           \
        {"cls.predictions.bias", "lm_head.bias"},                                                  \
    {                                                                                              \
        "cls.predictions.decoder.", "lm_head.decoder."                                             \
    }

static const folder_rename roberta_names[] = {{"bert.", "roberta."}, AFTER_ROBERTA, {0}};
static const folder_rename mpnet_names[] = {
    {"bert.", "mpnet."},
    {".attention.self.query.", ".attention.attn.q."},
    {".attention.self.key.", ".attention.attn.k."},
    {".attention.self.value.", ".attention.attn.v."},
    {".attention.output.dense.", ".attention.attn.o."},
    {".attention.output.LayerNorm.", ".attention.LayerNorm."},
    AFTER_ROBERTA,
    {0}};

/* The longer names first: those behind are parts of them. */
static const folder_rename modern_names[] = {
    {"bert.encoder.layer.", "model.layers."},
    {"bert.encoder.final_norm.", "model.final_norm."},
    {"bert.embeddings.word_embeddings.", "model.embeddings.tok_embeddings."},
    {"bert.embeddings.LayerNorm.", "model.embeddings.norm."},
    {".attention.self.qkv.", ".attn.Wqkv."},
    {".attention.output.dense.", ".attn.Wo."},
    {".attention.output.LayerNorm.", ".attn_norm."},
    {".intermediate.dense.", ".mlp.Wi."},
    {".output.dense.", ".mlp.Wo."},
    {".output.LayerNorm.", ".mlp_norm."},
    {"cls.predictions.transform.dense.", "head.dense."},
    {"cls.predictions.transform.LayerNorm.", "head.norm."},
    {"cls.predictions.bias", "decoder.bias"},
    {"cls.predictions.decoder.", "decoder."},
    {0}};

static const char *const bert_specials[GB_SPECIALS] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                       "[MASK]"};
static const char *const mpnet_specials[GB_SPECIALS] = {"<pad>", "[UNK]", "<s>", "</s>", "<mask>"};

/* Keys of BERT's config.json; others call some of them otherwise. */
#define BERT_KEYS                                                                                  \
    .hidden = "hidden_size", .layers = "num_hidden_layers", .heads = "num_attention_heads",        \
    .inner = "intermediate_size", .act = "hidden_act", .dropout = "hidden_dropout_prob",           \
    .attention_dropout = "attention_probs_dropout_prob", .eps = "layer_norm_eps"

static const folder_architecture architectures[] = {
    [GB_ENCODER_BERT] = {.type = "bert",
                         .bare = "BertModel",
                         .with_head = "BertForMaskedLM",
                         .specials = bert_specials,
                         .types = true,
                         BERT_KEYS},
    [GB_ENCODER_DISTILBERT] = {.type = "distilbert",
                               .bare = "DistilBertModel",
                               .with_head = "DistilBertForMaskedLM",
                               .specials = bert_specials,
                               .names = distilbert_names,
                               .prefix = "distilbert.",
                               .hidden = "dim",
                               .layers = "n_layers",
                               .heads = "n_heads",
                               .inner = "hidden_dim",
                               .act = "activation",
                               .dropout = "dropout",
                               .attention_dropout = "attention_dropout",
                               .eps = "layer_norm_eps"},
    [GB_ENCODER_ROBERTA] = {.type = "roberta",
                            .bare = "RobertaModel",
                            .with_head = "RobertaForMaskedLM",
                            .names = roberta_names,
                            .prefix = "roberta.",
                            .types = true,
                            .after_padding = true,
                            .pad = 1,
                            BERT_KEYS},
    [GB_ENCODER_XLM_ROBERTA] = {.type = "xlm-roberta",
                                .bare = "XLMRobertaModel",
                                .with_head = "XLMRobertaForMaskedLM",
                                .names = roberta_names,
                                .prefix = "roberta.",
                                .types = true,
                                .after_padding = true,
                                .pad = 1,
                                BERT_KEYS},
    [GB_ENCODER_MPNET] = {.type = "mpnet",
                          .bare = "MPNetModel",
                          .with_head = "MPNetForMaskedLM",
                          .specials = mpnet_specials,
                          .names = mpnet_names,
                          .prefix = "mpnet.",
                          .after_padding = true,
                          .pad = 1,
                          .buckets = 32,
                          BERT_KEYS},
    [GB_ENCODER_MODERNBERT] = {.type = "modernbert",
                               .bare = "ModernBertModel",
                               .with_head = "ModernBertForMaskedLM",
                               .names = modern_names,
                               .prefix = "model.",
                               .pad = 50283,
                               .rotary = true,
                               .hidden = "hidden_size",
                               .layers = "num_hidden_layers",
                               .heads = "num_attention_heads",
                               .inner = "intermediate_size",
                               .act = "hidden_activation",
                               .dropout = "mlp_dropout",
                               .attention_dropout = "attention_dropout",
                               .eps = "norm_eps"},
};
#define COUNT (sizeof architectures / sizeof *architectures)

const folder_architecture *folder_architecture_of(gb_encoder_kind kind)
{
    return &architectures[kind];
}

const char *gb_encoder_name(gb_encoder_kind kind)
{
    return kind == GB_ENCODER_BERT ? "BERT" : architectures[kind].bare;
}

bool folder_architecture_find(const char *type, gb_encoder_kind *kind, const char *path,
                              gb_status *status)
{
    gb_text list = {0};
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(type, architectures[i].type) == 0) {
            *kind = (gb_encoder_kind)i;
            gb_text_free(&list);
            return true;
        }
        gb_text_printf(&list, "%s%s", i == 0 ? "" : ", ", architectures[i].type);
    }
    gb_fail(status, GB_DATA, path,
            strcmp(type, "llama") == 0
                ? "gabbro encode, evaluate, mine, embed, ask and serve make vectors with a LLaMA"
                : NULL,
            "\"model_type\" is \"%.60s\"; encoders that are read are %s", type,
            list.failed ? "bert" : list.data);
    gb_text_free(&list);
    return false;
}

/* Takes the first `from` in a name away for `to`. */
static void replace(char name[GB_WEIGHT_NAME], const char *from, const char *to)
{
    char *at = strstr(name, from);
    char rest[GB_WEIGHT_NAME];
    if (!at)
        return;
    snprintf(rest, sizeof rest, "%s", at + strlen(from));
    snprintf(at, GB_WEIGHT_NAME - (size_t)(at - name), "%s%s", to, rest);
}

void folder_own_name(gb_encoder_kind kind, const char *canonical, char name[GB_WEIGHT_NAME])
{
    snprintf(name, GB_WEIGHT_NAME, "%s", canonical);
    for (const folder_rename *r = architectures[kind].names; r && r->bert; r++)
        replace(name, r->bert, r->own);
}

void folder_bert_name(gb_encoder_kind kind, const char *stored, char name[GB_WEIGHT_NAME])
{
    static const char *const bare[] = {"embeddings.", "encoder.",    "transformer.",
                                       "layers.",     "final_norm.", "pooler."};
    const folder_architecture *of = &architectures[kind];
    bool prefixed = false;
    for (size_t i = 0; of->prefix && i < sizeof bare / sizeof *bare; i++)
        prefixed = prefixed || strncmp(stored, bare[i], strlen(bare[i])) == 0;
    snprintf(name, GB_WEIGHT_NAME, "%s%s", prefixed ? of->prefix : "", stored);
    for (const folder_rename *r = of->names; r && r->bert; r++)
        replace(name, r->own, r->bert);
    if (kind == GB_ENCODER_BERT) { /* as DPR has it */
        replace(name, "ctx_encoder.bert_model.", "bert.");
        replace(name, "question_encoder.bert_model.", "bert.");
    }
}
