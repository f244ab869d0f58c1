/* Folder room: model checkpoints as Hugging Face folders, read and written without Python.
 * Stands on base and text. */
#ifndef GABBRO_FOLDER_H
#define GABBRO_FOLDER_H

#include <gabbro/base.h>
#include <gabbro/text.h>

/* ---- safetensors ----------------------------------------------------------------------------- */

/* A tensor to write: float32, row by row. */
typedef struct gb_weight {
    const char *name;  /* e.g. "bert.embeddings.LayerNorm.weight" */
    uint64_t rows;     /* first dimension */
    uint64_t cols;     /* second dimension; 0: a vector [rows] */
    const float *data; /* rows * cols values (rows for a vector); not owned */
    uint64_t stride;   /* values from row to row of a matrix; 0: cols */
} gb_weight;

/* A tensor as it lies in a file. */
#define GB_STORED_RANK 8 /* most dimensions accepted */
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
 * not be changed while open. */
typedef struct gb_safetensors gb_safetensors;

/* Open a .safetensors file, a .bin file of torch.save, or a *.index.json that names the file of
 * every tensor. Everything is checked before anything is used: header length and JSON, types,
 * shapes, and that the byte ranges fill the file without overlap, hole or rest. A .bin file is a
 * zip with a pickle; of it only the constructors of tensors are understood, nothing is executed.
 * GB_DATA naming file and tensor otherwise. */
gb_safetensors *gb_safetensors_open(const char *path, gb_status *status);
void gb_safetensors_close(gb_safetensors *tensors);
size_t gb_safetensors_count(const gb_safetensors *tensors);
/* Tensor `index` < count, in the order of names (byte order). */
const gb_stored *gb_safetensors_at(const gb_safetensors *tensors, size_t index);
const gb_stored *gb_safetensors_find(const gb_safetensors *tensors, const char *name); /* or NULL */

/* Copy a tensor into out as float32: F32 keeps its bits (NaN too), F16 and BF16 are exact, F64 is
 * rounded to nearest. GB_DATA if the type is no floating type, or the shape is not [rows, cols]
 * ([rows] when cols is 0); `where` names the file. */
bool gb_stored_read(const gb_stored *stored, uint64_t rows, uint64_t cols, float *out,
                    gb_status *status);

/* Write float32 tensors as one file, atomically: names in byte order, data 8-byte aligned,
 * metadata {"format":"pt"}; the same tensors give the same bytes in whatever order they come. */
bool gb_safetensors_write(const char *path, const gb_weight *weights, size_t count,
                          gb_status *status);

/* ---- config.json ----------------------------------------------------------------------------- */

/* Hugging Face's BertConfig, as far as it can vary here: post-LayerNorm BERT with absolute
 * positions and exact (erf) GELU. */
typedef struct gb_bert_config {
    uint32_t vocab_size;        /* V, rows of the word embeddings */
    uint32_t hidden_size;       /* H */
    uint32_t layers;            /* num_hidden_layers */
    uint32_t heads;             /* num_attention_heads; divides hidden_size */
    uint32_t intermediate_size; /* width of the feed-forward layer */
    uint32_t max_positions;     /* P, longest input in tokens */
    uint32_t type_vocab_size;   /* T, token types */
    uint32_t pad_token_id;      /* id of [PAD] */
    double layer_norm_eps;      /* added to the variance */
    double hidden_dropout;      /* hidden_dropout_prob */
    double attention_dropout;   /* attention_probs_dropout_prob */
    double initializer_range;   /* standard deviation of fresh weights */
} gb_bert_config;

/* bert-base-uncased */
#define GB_BERT_BASE ((gb_bert_config){30522, 768, 12, 12, 3072, 512, 2, 0, 1e-12, 0.1, 0.1, 0.02})

/* Check the values; `where` names their source in the message. Config files are GB_DATA. */
bool gb_bert_config_check(const gb_bert_config *config, const char *where, gb_status *status);
/* Read config.json. Sizes must be there; the rest has BertConfig's defaults. Refuses what this
 * program does not compute: other model types and activations, relative positions, decoders. */
bool gb_bert_config_read(const char *path, gb_bert_config *config, gb_status *status);
/* Write config.json, atomically; `head`: the weights have the MLM head (BertForMaskedLM), otherwise
 * they are the bare encoder (BertModel). */
bool gb_bert_config_write(const char *path, const gb_bert_config *config, bool head,
                          gb_status *status);

/* ---- language models ------------------------------------------------------------------------- */

typedef enum gb_language_kind { GB_LANGUAGE_T5, GB_LANGUAGE_LLAMA } gb_language_kind;
typedef enum gb_language_act {
    GB_LANGUAGE_RELU,
    GB_LANGUAGE_GELU,      /* exact */
    GB_LANGUAGE_GELU_TANH, /* gelu_new */
    GB_LANGUAGE_SILU
} gb_language_act;

/* Hugging Face's T5Config (v1.0 and v1.1) and LlamaConfig, as far as they can vary here. */
typedef struct gb_language_config {
    gb_language_kind kind;      /* which */
    uint32_t vocab_size;        /* V, rows of the embeddings */
    uint32_t hidden_size;       /* H */
    uint32_t head_dim;          /* width of a head; heads * head_dim need not be H */
    uint32_t heads;             /* heads of queries */
    uint32_t kv_heads;          /* heads of keys and values; divides heads */
    uint32_t intermediate_size; /* F, width of the feed-forward layer */
    uint32_t layers;            /* of the encoder; 0: none (LLaMA) */
    uint32_t decoder_layers;    /* of the decoder */
    uint32_t buckets, farthest; /* T5: buckets of distances, and the distance the last begins at */
    uint32_t max_positions;     /* LLaMA: longest text in tokens */
    uint32_t start_id, end_id;  /* first input of the decoder or first token; end of a text */
    gb_language_act act;        /* of the feed-forward layer */
    bool gated;                 /* which has a second, linear half */
    bool tied;                  /* the output matrix is the embeddings' */
    double eps;                 /* of the norms */
    double theta;               /* LLaMA: base of the rotary angles */
} gb_language_config;
/* Read config.json of model_type t5 or llama. GB_DATA on what is not computed here: other models
 * and activations, scaled rotary positions, biases. */
bool gb_language_config_read(const char *path, gb_language_config *config, gb_status *status);
/* Write a folder of T5: config.json, model.safetensors, and the files of a WordPiece tokenizer,
 * whose texts end with [SEP]. config.json comes last: without it nothing there is taken for a
 * model. max_length: longest text in tokens. */
bool gb_language_folder_write(const char *path, const gb_language_config *config,
                              const gb_weight *weights, size_t weight_count, const gb_vocab *vocab,
                              uint32_t max_length, gb_status *status);

/* ---- text of language models ----------------------------------------------------------------- */

/* The tokenizer of a language model's folder: spiece.model (T5), tokenizer.model (LLaMA) or
 * vocab.txt (WordPiece, for either), with the rules that Hugging Face's tokenizer_config.json,
 * special_tokens_map.json and added_tokens.json set, as transformers' T5Tokenizer, LlamaTokenizer
 * and BertTokenizer follow them. config.json says which of both kinds the model is. */
typedef struct gb_coder gb_coder;
/* Special tokens; GB_MAP_NONE where there is none. */
typedef struct gb_coder_ids {
    uint32_t start; /* first input of the decoder (T5), first token of a text (LLaMA) */
    uint32_t end;   /* ends a text */
    uint32_t pad;   /* fills up; not part of a text */
    uint32_t unk;   /* stands for what has no token */
} gb_coder_ids;

/* GB_DATA if a file is missing or damaged, or tokenizer and config.json do not belong together. */
gb_coder *gb_coder_open(const char *folder, gb_status *status);
void gb_coder_close(gb_coder *coder);
gb_coder_ids gb_coder_special_ids(const gb_coder *coder);
uint32_t gb_coder_size(const gb_coder *coder); /* one more than the largest id it gives */
/* Append the ids of a whole prompt of UTF-8: text and end token (T5), first token and text (LLaMA).
 * Special tokens written in the text become their ids. Thread-safe. */
bool gb_coder_encode(const gb_coder *coder, const char *text, size_t length, gb_ids *ids,
                     gb_status *status);
/* Append the text of made tokens; special tokens and ids without a token are left out.
 * Thread-safe. */
bool gb_coder_decode(const gb_coder *coder, const uint32_t *ids, size_t count, gb_text *text,
                     gb_status *status);

/* ---- canonical names ------------------------------------------------------------------------- */

/* The parameters of BertForMaskedLM without its pooler, by their names there. The output matrix
 * cls.predictions.decoder.weight is the word embedding matrix (tied) and no tensor of its own. */
#define GB_WEIGHT_NAME 128 /* bytes that hold any canonical name and its NUL */
typedef struct gb_weight_spec {
    char name[GB_WEIGHT_NAME]; /* canonical name */
    uint64_t rows;             /* first dimension */
    uint64_t cols;             /* second dimension; 0: a vector */
} gb_weight_spec;
/* How many: embeddings, then the layers, then (with head) cls.predictions.*. */
size_t gb_bert_weight_count(const gb_bert_config *config, bool head);
/* Parameter `index` < count, in that order; the order of the encoder is the same with and without
 * head. */
gb_weight_spec gb_bert_weight_at(const gb_bert_config *config, size_t index);

/* ---- reading a model folder ------------------------------------------------------------------ */

/* An open model folder: config.json, model.safetensors (or its sharded index; else
 * pytorch_model.bin or its index), and the optional
 * side file gabbro.safetensors with tensors that transformers does not know (heads, decoders).
 * Names are canonical whatever the file calls them: with or without the prefix "bert.", LayerNorm
 * as weight/bias or gamma/beta, the output bias as cls.predictions.bias or
 * cls.predictions.decoder.bias. */
typedef struct gb_folder gb_folder;

/* Open and check: the encoder is complete, the MLM head complete or absent, every shape agrees
 * with config.json, a stored output matrix equals the word embeddings, and no tensor is left over.
 * The pooler, position ids and next-sentence head are skipped with a debug line. */
gb_folder *gb_folder_open(const char *path, gb_status *status);
void gb_folder_close(gb_folder *folder);
const char *gb_folder_path(const gb_folder *folder);
const gb_bert_config *gb_folder_config(const gb_folder *folder);
bool gb_folder_has(const gb_folder *folder, const char *name);
bool gb_folder_has_head(const gb_folder *folder); /* the MLM head, cls.predictions.* */
/* Tensors, those of the side file among them. */
size_t gb_folder_count(const gb_folder *folder);
/* Copy a tensor [rows, cols] ([rows] when cols is 0) into out as float32. GB_DATA if it is missing,
 * has another shape, is no floating type, or holds a NaN or an infinity. */
bool gb_folder_read(const gb_folder *folder, const char *name, uint64_t rows, uint64_t cols,
                    float *out, gb_status *status);

/* vocab.txt of the folder; not larger than the word embeddings. Caller destroys. */
gb_vocab *gb_folder_vocab(const gb_folder *folder, gb_status *status);
/* tokenizer_config.json, BertTokenizer's defaults where it is silent or absent. */
bool gb_folder_tokenizer(const gb_folder *folder, gb_tokenizer_params *params, gb_status *status);

/* How a sentence vector is made of the last layer's states. */
typedef enum gb_pooling {
    GB_POOLING_UNSTATED, /* the folder does not say */
    GB_POOLING_CLS,      /* state of [CLS] */
    GB_POOLING_MEAN,     /* mean over the tokens, [CLS] and [SEP] among them */
} gb_pooling;

/* What the sentence-transformers files of a folder say. */
typedef struct gb_sentence_settings {
    gb_pooling pooling;   /* from 1_Pooling/config.json */
    bool normalize;       /* vectors are scaled to length 1 */
    uint32_t max_length;  /* longest input in tokens, specials included; at most max_positions */
    bool prompt_left_out; /* the mean is over the tokens behind a prompt */
    const char *query_prompt, *passage_prompt; /* to be written; read by gb_folder_prompts */
} gb_sentence_settings;
/* Read modules.json and the files it names; without it, pooling is GB_POOLING_UNSTATED. GB_DATA on
 * a module or a pooling that this program does not compute. */
bool gb_folder_sentence(const gb_folder *folder, gb_sentence_settings *settings, gb_status *status);

/* Texts that a model wants before its queries and passages. Free with gb_text_prompts_free. */
typedef struct gb_text_prompts {
    char *query, *passage; /* or NULL: none */
} gb_text_prompts;
/* Those that sentence-transformers takes where none is named: of config_sentence_transformers.json
 * the prompt "query", and the first of "document", "passage" and "corpus", else
 * default_prompt_name. None where the file or the prompt is absent or empty. GB_DATA on a damaged
 * file, or a default that is not among the prompts. */
bool gb_folder_prompts(const gb_folder *folder, gb_text_prompts *prompts, gb_status *status);
void gb_text_prompts_free(gb_text_prompts *prompts);

/* ---- writing a model folder ------------------------------------------------------------------ */

/* A line of the model card, e.g. {"training data", "sha256:..."}. */
typedef struct gb_card_fact {
    const char *name;  /* what */
    const char *value; /* its value, printed as code */
} gb_card_fact;

/* README.md of the folder. NULL fields are left out. */
typedef struct gb_model_card {
    const char *title;         /* e.g. "cotmae/query, retriever 2" */
    const char *what;          /* one paragraph: what the model is */
    const char *table;         /* table and row it belongs to, e.g. "qac/table1, ..." */
    const char *command;       /* command that made it */
    const gb_card_fact *facts; /* hashes, seeds, data ... */
    size_t fact_count;         /* number of facts */
} gb_model_card;

/* Everything a model folder is written from. Nothing is kept. */
typedef struct gb_folder_params {
    const gb_bert_config *config;  /* must be given */
    const gb_weight *weights;      /* canonical names: the encoder, with or without the head */
    size_t weight_count;           /* number of weights */
    const gb_weight *extra;        /* for gabbro.safetensors; other names; may be NULL */
    size_t extra_count;            /* number of extra tensors */
    const gb_vocab *vocab;         /* must be given; not larger than config->vocab_size */
    gb_tokenizer_params tokenizer; /* how text becomes ids */
    gb_sentence_settings sentence; /* max_length 0: config->max_positions */
    const gb_model_card *card;     /* or NULL: no README.md */
    bool replace;                  /* put it in place of an older model folder at `path` */
} gb_folder_params;

/* Write a complete folder for Hugging Face transformers and sentence-transformers (dot product, or
 * cosine of vectors of length 1; [CLS] where no pooling is stated) at `path`. It is written under a
 * hidden name beside its place and renamed, so `path` is never half a folder; the same parameters
 * give the same bytes. GB_DATA if `path` exists (and is no model folder to replace), or if a weight
 * is missing, unknown, wrongly shaped or not finite. */
bool gb_folder_write(const char *path, const gb_folder_params *params, gb_status *status);

#endif
