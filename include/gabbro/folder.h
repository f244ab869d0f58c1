/* Folder module: reads and writes checkpoints, which are folders in Hugging Face's layout. */
#ifndef GABBRO_FOLDER_H
#define GABBRO_FOLDER_H

#include <gabbro/base.h>
#include <gabbro/text.h>

/* ---- safetensors ---- */

/* A tensor to write: float32, row by row. */
typedef struct gb_weight {
    const char *name;  /* e.g. "bert.embeddings.LayerNorm.weight" */
    uint64_t rows;     /* first dimension */
    uint64_t cols;     /* second dimension; 0: a vector [rows] */
    const float *data; /* rows * cols values (rows for a vector); not owned */
    uint64_t stride;   /* values from one row to the next of a matrix; 0: cols */
} gb_weight;

#define GB_STORED_RANK 8 /* largest number of dimensions that is accepted */
/* A tensor in a file. */
typedef struct gb_stored {
    const char *name;               /* name in the file, valid as long as the handle */
    const char *dtype;              /* "F32", "F16", "BF16", "I64", ... */
    const char *path;               /* file it lies in */
    const void *data;               /* its bytes in the mapped file; may be unaligned */
    uint64_t bytes;                 /* size of data in bytes */
    uint32_t rank;                  /* dimensions in use; 0: a scalar */
    uint64_t shape[GB_STORED_RANK]; /* dimensions */
} gb_stored;

/* One file of tensors, or all shards that an index names, memory-mapped read-only. The files must
 * not change while they are open. */
typedef struct gb_safetensors gb_safetensors;

/* Opens a .safetensors file, a .bin file of torch.save, or a *.index.json that names the file of
 * every tensor. Everything is checked before it is used: header length and JSON, types, shapes, and
 * that the byte ranges fill the file without overlaps or gaps. A .bin file is a zip archive with a
 * pickle, of which only the constructors of tensors are understood; no code in it is run. GB_DATA,
 * naming file and tensor, if something is wrong. */
gb_safetensors *gb_safetensors_open(const char *path, gb_status *status);
void gb_safetensors_close(gb_safetensors *tensors);
size_t gb_safetensors_count(const gb_safetensors *tensors);
/* Tensor `index` < count, in the order of names (byte order). */
const gb_stored *gb_safetensors_at(const gb_safetensors *tensors, size_t index);
const gb_stored *gb_safetensors_find(const gb_safetensors *tensors, const char *name); /* or NULL */

/* Copies a tensor into out as float32. F32 keeps its bits (of NaN too), F16 and BF16 are exact, F64
 * is rounded to nearest. GB_DATA if the type is not a floating type, or if the shape
 * is not [rows, cols] ([rows] if cols is 0). */
bool gb_stored_read(const gb_stored *stored, uint64_t rows, uint64_t cols, float *out,
                    gb_status *status);

/* Writes float32 tensors as one file, atomically, with names in byte order, data 8-byte aligned,
 * and metadata {"format":"pt"}. The same tensors give the same bytes, in any order. */
bool gb_safetensors_write(const char *path, const gb_weight *weights, size_t count,
                          gb_status *status);

/* ---- config.json ---- */

/* Encoders that are read, trained and written: BERT, and what differs from it in few things. What
 * these are says src/folder/architectures.c. */
typedef enum gb_encoder_kind {
    GB_ENCODER_BERT,
    GB_ENCODER_DISTILBERT,  /* no token types */
    GB_ENCODER_ROBERTA,     /* positions behind that of the padding */
    GB_ENCODER_XLM_ROBERTA, /* the same */
    GB_ENCODER_MPNET,       /* the same, no token types, and a bias by distance in attention */
    GB_ENCODER_MODERNBERT,  /* pre-norm layers without biases, rotary positions, windows */
} gb_encoder_kind;

/* The part of Hugging Face's BertConfig, and of those of its kin, that may vary here:
 * post-LayerNorm BERT with absolute positions and exact (erf) GELU, and ModernBERT (Warner et al.,
 * 2024). */
typedef struct gb_bert_config {
    uint32_t vocab_size;        /* V, rows of the word embeddings */
    uint32_t hidden_size;       /* H */
    uint32_t layers;            /* num_hidden_layers */
    uint32_t heads;             /* num_attention_heads; divides hidden_size */
    uint32_t intermediate_size; /* width of the feed-forward layer */
    uint32_t max_positions;     /* P, longest input in tokens */
    uint32_t type_vocab_size;   /* T, token types; 0: no embeddings of them */
    uint32_t pad_token_id;      /* id of [PAD] */
    double layer_norm_eps;      /* added to the variance */
    double hidden_dropout;      /* hidden_dropout_prob */
    double attention_dropout;   /* attention_probs_dropout_prob */
    double initializer_range;   /* standard deviation of fresh weights */
    gb_encoder_kind kind;       /* which encoder */
    uint32_t position_offset;   /* of the embedding of the first position: there are P more */
    uint32_t buckets;           /* of distances, which attention has a bias for; 0: it has none */
    uint32_t window;           /* ModernBERT: tokens that local layers look at, half on each side */
    uint32_t global_every;     /* ModernBERT: every so-many-th layer looks at all, from the first */
    double theta, local_theta; /* ModernBERT: bases of the rotary angles, of layers that look at all
                                  and of local ones; 0: positions have embeddings */
} gb_bert_config;
#define GB_FARTHEST 128 /* distance that the last bucket begins at */

/* bert-base-uncased */
#define GB_BERT_BASE ((gb_bert_config){30522, 768, 12, 12, 3072, 512, 2, 0, 1e-12, 0.1, 0.1, 0.02})

/* The encoder's name: "BERT", or that of its class in transformers. */
const char *gb_encoder_name(gb_encoder_kind kind);
/* Checks the values; `where` names their source in the message. Fails with GB_DATA. */
bool gb_bert_config_check(const gb_bert_config *config, const char *where, gb_status *status);
/* Reads config.json. Sizes must be given; everything else has transformers' defaults. Refuses what
 * this program does not compute: other models, with their name and those that are read, other
 * activations, decoders. */
bool gb_bert_config_read(const char *path, gb_bert_config *config, gb_status *status);
/* Whether the model in a folder runs kernels of language models, by the name of its kind: a LLaMA,
 * or an encoder with a bias by distance or rotary positions. A folder without a config.json does
 * not; what opens it will say what is wrong. */
bool gb_folder_runs_lm_kernels(const char *folder, bool *runs, gb_status *status);
/* Writes config.json, atomically. `head` says that the weights have the masked-LM head
 * (BertForMaskedLM); otherwise they are the bare encoder (BertModel). */
bool gb_bert_config_write(const char *path, const gb_bert_config *config, bool head,
                          gb_status *status);
/* Writes the same of a cross-encoder: BertForSequenceClassification with one label. `probability`:
 * sentence-transformers returns the sigmoid of the logit, otherwise the logit. */
bool gb_bert_config_write_pairs(const char *path, const gb_bert_config *config, bool probability,
                                gb_status *status);

/* ---- language models ---- */

typedef enum gb_lm_kind { GB_LM_T5, GB_LM_LLAMA } gb_lm_kind;
typedef enum gb_lm_act {
    GB_LM_RELU,
    GB_LM_GELU,      /* exact */
    GB_LM_GELU_TANH, /* gelu_new */
    GB_LM_SILU
} gb_lm_act;

/* The parts of Hugging Face's T5Config (v1.0 and v1.1) and LlamaConfig that may vary here. */
typedef struct gb_lm_config {
    gb_lm_kind kind;            /* T5 or LLaMA */
    uint32_t vocab_size;        /* V, rows of the embeddings */
    uint32_t hidden_size;       /* H */
    uint32_t head_dim;          /* width of a head; heads * head_dim need not be H */
    uint32_t heads;             /* heads of queries */
    uint32_t kv_heads;          /* heads of keys and values; divides heads */
    uint32_t intermediate_size; /* F, width of the feed-forward layer */
    uint32_t layers;            /* layers of the encoder; 0: none (LLaMA) */
    uint32_t decoder_layers;    /* layers of the decoder */
    uint32_t buckets, farthest; /* T5: buckets of distances, and the distance the last begins at */
    uint32_t max_positions;     /* LLaMA: longest text in tokens */
    uint32_t start_id, end_id;  /* first input of the decoder or first token; end of a text */
    gb_lm_act act;              /* activation of the feed-forward layer */
    bool gated;                 /* the feed-forward layer has a second, linear half */
    bool tied;                  /* the output matrix is that of the embeddings */
    double eps;                 /* added to the mean square in the norms */
    double theta;               /* LLaMA: base of the rotary angles */
} gb_lm_config;
/* Reads config.json of model_type t5 or llama. GB_DATA for what is not computed here: other models
 * and activations, scaled rotary positions, biases. */
bool gb_lm_config_read(const char *path, gb_lm_config *config, gb_status *status);
/* Writes a T5 folder: config.json, model.safetensors, and the files of a WordPiece tokenizer, whose
 * texts end with [SEP]. config.json is written last, because a folder without it is not taken for a
 * model. max_length is the length of the longest text in tokens. */
bool gb_lm_folder_write(const char *path, const gb_lm_config *config, const gb_weight *weights,
                        size_t weight_count, const gb_vocab *vocab, uint32_t max_length,
                        gb_status *status);

/* ---- text of language models ---- */

/* The tokenizer of a language model's folder: spiece.model (T5), tokenizer.model (LLaMA) or
 * vocab.txt (WordPiece, for either), with the rules that Hugging Face's tokenizer_config.json,
 * special_tokens_map.json and added_tokens.json set, and as transformers' T5Tokenizer,
 * LlamaTokenizer and BertTokenizer follow them. config.json says which kind of model it is. */
typedef struct gb_coder gb_coder;
/* Ids of special tokens; GB_MAP_NONE if there is none. */
typedef struct gb_coder_ids {
    uint32_t start;          /* first input of the decoder (T5), first token of a text (LLaMA) */
    uint32_t end;            /* ends a text */
    uint32_t pad;            /* fills up; not part of a text */
    uint32_t unk;            /* stands for what has no token */
    uint32_t before, behind; /* what gb_coder_encode puts around a text */
} gb_coder_ids;

/* Opens it. GB_DATA if a file is missing or damaged, or if tokenizer and config.json disagree. */
gb_coder *gb_coder_open(const char *folder, gb_status *status);
void gb_coder_close(gb_coder *coder);
gb_coder_ids gb_coder_special_ids(const gb_coder *coder);
uint32_t gb_coder_around(const gb_coder *coder); /* tokens before and behind a text */
uint32_t gb_coder_size(const gb_coder *coder);   /* one more than the largest id it gives */
/* Appends the ids of a whole prompt in UTF-8: text and end token (T5), or first token and text
 * (LLaMA). Special tokens that are spelled out in the text become their ids. Thread-safe. */
bool gb_coder_encode(const gb_coder *coder, const char *text, size_t length, gb_ids *ids,
                     gb_status *status);
/* The same without the tokens before and behind it. */
bool gb_coder_encode_bare(const gb_coder *coder, const char *text, size_t length, gb_ids *ids,
                          gb_status *status);
/* Hash of its files: where it is equal, a text has equal ids. Valid as long as the coder. */
const char *gb_coder_hash(const gb_coder *coder);
/* Copies the files that gb_coder_open reads into a folder that is there. */
bool gb_coder_copy(const char *folder, const char *to, gb_status *status);
/* Appends the text of generated tokens, without special tokens and ids that are no token.
 * Thread-safe. */
bool gb_coder_decode(const gb_coder *coder, const uint32_t *ids, size_t count, gb_text *text,
                     gb_status *status);

/* ---- canonical names ---- */

/* Canonical names: the parameters of BertForMaskedLM without its pooler, by their names there. The
 * output matrix cls.predictions.decoder.weight is tied to the word embeddings, and is therefore not
 * a tensor of its own. */
#define GB_WEIGHT_NAME 128 /* bytes that hold any canonical name and its NUL */
typedef struct gb_weight_spec {
    char name[GB_WEIGHT_NAME]; /* canonical name */
    uint64_t rows;             /* first dimension */
    uint64_t cols;             /* second dimension; 0: a vector */
} gb_weight_spec;
/* Number of canonical names: embeddings, then the layers, then (with head) cls.predictions.*. Those
 * of ModernBERT are BERT's for what has the same place; query, key and value are one tensor,
 * attention.self.qkv.weight, as its files have them, and the last norm is
 * encoder.final_norm.weight. */
size_t gb_bert_weight_count(const gb_bert_config *config, bool head);
/* Name and shape of parameter `index` < count, in that order. The encoder's parameters have the
 * same order with and without the head. */
gb_weight_spec gb_bert_weight_at(const gb_bert_config *config, size_t index);

/* ---- reading a model folder ---- */

/* The file of a folder's tensors, for gb_safetensors_open: model.safetensors or its index,
 * otherwise pytorch_model.bin or its index. Caller frees; NULL and GB_DATA: there is none. */
char *gb_folder_tensor_file(const char *folder, gb_status *status);

/* An open model folder: config.json, the file of its tensors, and the optional side file
 * gabbro.safetensors with tensors that transformers does not know (heads, decoders). Names are
 * canonical, whatever the file calls them: with or without the prefix "bert.", LayerNorm as
 * weight/bias or gamma/beta, the output bias as cls.predictions.bias or
 * cls.predictions.decoder.bias. */
typedef struct gb_folder gb_folder;

/* What the model of a folder makes, as bits: of a text states and vectors, or of two texts a score,
 * in one sequence (BertForSequenceClassification with one label, sentence-transformers'
 * CrossEncoder). */
typedef enum gb_folder_kind { GB_FOLDER_ENCODER = 1, GB_FOLDER_CROSS_ENCODER = 2 } gb_folder_kind;

/* Opens and checks a folder: the encoder is complete, the masked-LM head complete or absent, every
 * shape agrees with config.json, a stored output matrix equals the word embeddings, and no tensor
 * is left over. Position ids and next-sentence head are skipped, as the log says. The pooler is not
 * checked, as little of what reads encoders needs it. kinds: those wanted; GB_DATA for a model of
 * another one, with what it is and which command reads it. */
gb_folder *gb_folder_open_kinds(const char *path, uint32_t kinds, gb_status *status);
gb_folder *gb_folder_open(const char *path, gb_status *status); /* an encoder */
gb_folder_kind gb_folder_kind_of(const gb_folder *folder);
void gb_folder_close(gb_folder *folder);
const char *gb_folder_path(const gb_folder *folder);
const gb_bert_config *gb_folder_config(const gb_folder *folder);
bool gb_folder_has(const gb_folder *folder, const char *name);
bool gb_folder_has_head(const gb_folder *folder); /* the MLM head, cls.predictions.* */
/* Number of tensors, including those of the side file, without pooler and classifier. */
size_t gb_folder_count(const gb_folder *folder);
/* Copies a tensor [rows, cols] ([rows] if cols is 0) into out as float32. GB_DATA if it is missing,
 * has another shape, is not of a floating type, or contains a NaN or an infinity. */
bool gb_folder_read(const gb_folder *folder, const char *name, uint64_t rows, uint64_t cols,
                    float *out, gb_status *status);

/* Reads the tokens of a folder, of a model or an artifact, and how they are made of text: vocab.txt
 * with what tokenizer_config.json says (WordPiece), or else tokenizer.json, vocab.json with
 * merges.txt, or sentencepiece.bpe.model. GB_DATA for a tokenizer that is not known here, with its
 * part that is not, and for one that keeps capitals where sentence_bert_config.json has texts
 * lowered. Caller destroys. */
gb_vocab *gb_vocabulary_read(const char *dir, gb_status *status);
/* Writes files that are read so into a folder that is there: of uncased WordPiece vocab.txt alone.
 */
bool gb_vocabulary_write(const char *dir, const gb_vocab *vocab, gb_status *status);
/* Reads the vocabulary of the folder, which may not exceed the word embeddings. Caller destroys. */
gb_vocab *gb_folder_vocab(const gb_folder *folder, gb_status *status);

/* Pooling: how the states of the last layer become one vector. */
typedef enum gb_pooling {
    GB_POOLING_UNSTATED, /* the folder does not say */
    GB_POOLING_CLS,      /* state of [CLS] */
    GB_POOLING_MEAN,     /* mean over all tokens, including [CLS] and [SEP] */
    GB_POOLING_LAST,     /* state of the last token, such as [SEP] */
    GB_POOLING_TERMS,    /* a sparse vector: the weight of each term of the vocabulary, the largest
                            over all tokens of log(1 + relu(logit)) of the masked-LM head (SPLADE) */
} gb_pooling;
/* The pooling of the word cls, mean or last; NULL: unstated. */
gb_pooling gb_pooling_named(const char *word);
/* The other way round; NULL for unstated and for terms. */
const char *gb_pooling_word(gb_pooling pooling);

/* How a folder says that vectors of two texts are compared. */
typedef enum gb_similarity {
    GB_SIMILARITY_UNSTATED, /* it does not say */
    GB_SIMILARITY_DOT,
    GB_SIMILARITY_COSINE,
    GB_SIMILARITY_EUCLIDEAN, /* distances, which are not computed */
    GB_SIMILARITY_MANHATTAN,
} gb_similarity;
/* sentence-transformers' word for it; NULL for unstated. */
const char *gb_similarity_word(gb_similarity similarity);

/* What the sentence-transformers files of a folder say: those of a SentenceTransformer, or of a
 * SparseEncoder, whose pooling is GB_POOLING_TERMS. */
typedef struct gb_sentence_settings {
    gb_pooling pooling;       /* from 1_Pooling/config.json, or that of 1_SpladePooling */
    bool normalize;           /* vectors are scaled to length 1 */
    gb_similarity similarity; /* as read; what is written follows from `normalize` */
    uint32_t max_length;  /* longest input in tokens, specials included: max_seq_length, or where
                             it is not stated model_max_length; at most max_positions */
    bool query_tokens;    /* of sparse vectors: a query's has a fixed weight for each of its tokens,
                             written as 1, and is made without the model (SPLADE-doc) */
    bool prompt_left_out; /* the mean is over the tokens behind a prompt */
    const char *query_prompt, *passage_prompt; /* to be written; read by gb_folder_prompts */
    const struct gb_late_settings *late;       /* to be written; NULL: vectors are of texts */
    bool probability; /* to be written: what a cross-encoder's library returns, see
                         gb_bert_config_write_pairs */
} gb_sentence_settings;
/* Reads modules.json and the files that it names; without it, pooling is GB_POOLING_UNSTATED; and
 * the similarity of config_sentence_transformers.json. They make the vectors that the folder's own
 * encode() gives; gb_settle_similarity says how these are compared. GB_DATA for a module, a pooling
 * or a similarity that is not known here. */
bool gb_folder_sentence(const gb_folder *folder, gb_sentence_settings *settings, gb_status *status);

/* Length of the longest pair that a cross-encoder's folder allows, in tokens with three specials:
 * the least of its positions, tokenizer_config.json's model_max_length and
 * sentence_bert_config.json's max_seq_length. */
bool gb_folder_pair_length(const gb_folder *folder, uint32_t *length, gb_status *status);

/* Says whether the folder at `path`, which need not be open, makes sparse vectors. */
bool gb_folder_is_sparse(const char *path, bool *sparse, gb_status *status);
/* Says whether the folder at `path` compares by the cosine vectors that it does not scale itself.
 */
bool gb_folder_is_cosine_unscaled(const char *path, bool *unscaled, gb_status *status);
/* Reads the weights [V] of a query's tokens, of a folder with query_tokens. */
bool gb_folder_query_weights(const gb_folder *folder, float *weights, gb_status *status);

/* Prompts to put before queries and passages. Free with gb_text_prompts_free. */
typedef struct gb_text_prompts {
    char *query, *passage; /* or NULL: none */
} gb_text_prompts;
/* Reads the prompts that sentence-transformers uses by default, from
 * config_sentence_transformers.json: "query", and the first of "document", "passage" and "corpus",
 * otherwise default_prompt_name. A prompt is NULL if the file or the prompt is absent or empty.
 * GB_DATA for a damaged file, or a default that is not among the prompts. */
bool gb_folder_prompts(const gb_folder *folder, gb_text_prompts *prompts, gb_status *status);
void gb_text_prompts_free(gb_text_prompts *prompts);

/* Whether a folder has a LLaMA, by the "model_type" of its config.json; false where there is none.
 */
bool gb_folder_is_llama(const char *folder);
/* Both of a LLaMA's folder. A Router or sparse vectors are GB_DATA. */
bool gb_lm_folder_sentence(const char *folder, const gb_lm_config *config,
                           gb_sentence_settings *settings, gb_text_prompts *prompts,
                           gb_status *status);

/* ---- late interaction ---- */

/* Kinds of models whose vectors are of tokens. */
typedef enum gb_late_kind {
    GB_LATE_NONE,    /* vectors are of texts */
    GB_LATE_COLBERT, /* one projection of all tokens, of length 1 (Khattab and Zaharia, 2020) */
    GB_LATE_COIL, /* [CLS], and a projection of the tokens, compared where their ids are equal (Gao
                     et al., 2021) */
} gb_late_kind;

/* A token behind [CLS] that says what a text is. */
typedef struct gb_late_marker {
    uint32_t id;   /* its row of the word embeddings; GB_MAP_NONE: there is no marker */
    char text[32]; /* as tokenizer files have it, such as "[unused0]" or "[Q] " */
} gb_late_marker;

/* What a folder says of late interaction. */
typedef struct gb_late_settings {
    gb_late_kind kind;             /* the other fields hold where it is not GB_LATE_NONE */
    uint32_t width;                /* numbers of a token's vector */
    uint32_t query_length;         /* tokens of a query at most, with special ones */
    uint32_t passage_length;       /* the same of a passage */
    gb_late_marker query, passage; /* of ColBERT */
    bool expand;                   /* queries are filled up to query_length with [MASK] */
    bool attend;                   /* the other tokens see these [MASK]s */
    uint32_t *skipped;             /* [skipped_count] tokens of passages that are left out of the
                                      scores: punctuation. Ids, ascending */
    size_t skipped_count;          /* of them */
} gb_late_settings;
void gb_late_settings_free(gb_late_settings *late); /* also of zeros */

/* Kind of the model in a folder, by the files that are in it: artifact.metadata (ColBERT),
 * modules.json with Dense and without Pooling (PyLate), late_interaction.json (COIL). */
gb_late_kind gb_folder_late_kind(const char *path);
const char *gb_late_kind_name(gb_late_kind kind); /* "ColBERT", "COIL"; NULL for none */
/* Reads what the folder says, from config_sentence_transformers.json (PyLate), artifact.metadata
 * (ColBERT) or late_interaction.json (COIL); kind is GB_LATE_NONE for a model of another kind. The
 * projection is the tensor "linear.weight" [width, H] (ColBERT), or "coil.weight" and "coil.bias".
 * GB_DATA for what is not computed here, and for markers without a row of the word embeddings. Free
 * with gb_late_settings_free, also after a failure. */
bool gb_folder_late(const gb_folder *folder, const gb_vocab *vocab, gb_late_settings *late,
                    gb_status *status);
/* The settings of a new model of this kind: lengths as given, [unused0] and [unused1] as markers
 * where the vocabulary has them; else "[Q] " and "[D] ", for which two rows are added to the word
 * embeddings of config, as PyLate does; ASCII punctuation is skipped. */
bool gb_late_settings_new(gb_late_kind kind, const gb_vocab *vocab, gb_bert_config *config,
                          gb_late_settings *late, gb_status *status);

/* ---- writing a model folder ---- */

/* A line of the model card, e.g. {"training data", "sha256:..."}. */
typedef struct gb_card_fact {
    const char *name;  /* name of the fact */
    const char *value; /* its value, printed as code */
} gb_card_fact;

/* The model card, README.md of the folder. NULL fields are left out. */
typedef struct gb_model_card {
    const char *title;         /* e.g. "cotmae/query, retriever 2" */
    const char *what;          /* one paragraph: what the model is */
    const char *table;         /* table and row it belongs to, e.g. "qac/table1, ..." */
    const char *command;       /* command that made it */
    const gb_card_fact *facts; /* hashes, seeds, data ... */
    size_t fact_count;         /* number of facts */
} gb_model_card;

/* What a model folder is written from. Nothing is kept. */
typedef struct gb_folder_params {
    const gb_bert_config *config; /* must be given */
    const gb_weight *weights;     /* canonical names: the encoder, with or without the head, or with
                                     pooler and classifier: a cross-encoder */
    size_t weight_count;          /* number of weights */
    const gb_weight *extra;       /* tensors of gabbro.safetensors, with other names; or NULL */
    size_t extra_count;           /* number of extra tensors */
    const gb_vocab *vocab;        /* must be given; not larger than config->vocab_size */
    gb_tokenizer_params tokenizer; /* how text becomes ids */
    gb_sentence_settings sentence; /* max_length 0: config->max_positions */
    const gb_model_card *card;     /* or NULL: no README.md */
    bool replace;                  /* put it in place of an older model folder at `path` */
} gb_folder_params;

/* Writes a complete folder at `path` for Hugging Face transformers and sentence-transformers (dot
 * product, or cosine for vectors of length 1; [CLS] if pooling is not stated). It is written under
 * a hidden name and then renamed, so that `path` is never half a folder. The same parameters give
 * the same bytes. GB_DATA if `path` exists (and is not a model folder to be replaced), or if a
 * weight is missing, unknown, of a wrong shape or not finite. A cross-encoder is written for
 * sentence-transformers' CrossEncoder. */
bool gb_folder_write(const char *path, const gb_folder_params *params, gb_status *status);

/* Writes the encoder of a folder as a GGUF file for llama.cpp, atomically: of BERT with uncased
 * WordPiece, with its pooling ([CLS] where none is stated), in float32, or `half` with float16
 * matrices. Prompts and whether vectors have length 1 are not in such a file. GB_DATA for what
 * llama.cpp would compute otherwise, and for values beyond the largest float16. */
bool gb_gguf_write(const gb_folder *folder, bool half, const char *path, gb_status *status);

/* ---- two towers ---- */

/* A folder of two towers is a sentence-transformers Router of two whole model folders, for queries
 * and for passages. Finds the one for a kind of texts; *tower is its path, which the caller frees,
 * or NULL where `root` has not two towers. GB_DATA for a damaged description. */
bool gb_folder_tower(const char *root, gb_text_kind kind, char **tower, gb_status *status);
/* Describes root/query and root/document, model folders that are there, as such a Router. */
bool gb_towers_write(const char *root, const gb_sentence_settings *how, gb_status *status);

#endif
