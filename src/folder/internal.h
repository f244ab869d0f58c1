/* What the files of the folder room share. */
#ifndef GABBRO_FOLDER_INTERNAL_H
#define GABBRO_FOLDER_INTERNAL_H

#include "gabbro/folder.h"

#include <gabbro/json.h>

/* Stored values are little endian and are copied as they are. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "a big-endian machine would need byte swaps"
#endif

/* How JSON files of a folder are written. */
#define FOLDER_JSON (JSON_INDENT(2) | GB_JSON_NEWLINE)

/* ---- architectures.c ---- */

/* A part of a tensor's canonical name, and what an encoder's files have in its place. */
typedef struct folder_rename {
    const char *bert, *own;
} folder_rename;
/* An encoder, as what sets it apart from BERT. */
typedef struct folder_architecture {
    const char *type;             /* "model_type" of config.json */
    const char *bare, *with_head; /* transformers' classes */
    const char *const *specials;  /* tokens of vocab.txt; NULL: it has another file */
    const folder_rename *names;   /* of tensors, replaced in this order; or NULL */
    const char *prefix;           /* of names, which bare models lack; NULL: "bert." */
    bool types;                   /* has token types */
    bool after_padding;           /* the first position is behind that of padding */
    uint32_t pad;                 /* pad_token_id where config.json is silent */
    uint32_t buckets;             /* of distances, where it is silent; 0: no bias */
    bool rotary;                  /* ModernBERT: has no positions, and layers of its own */
    const char *hidden, *layers, *heads, *inner; /* keys of config.json */
    const char *act, *dropout, *attention_dropout, *eps;
} folder_architecture;
const folder_architecture *folder_architecture_of(gb_encoder_kind kind);
/* GB_DATA with the list of those that there are for an unknown "model_type". */
bool folder_architecture_find(const char *type, gb_encoder_kind *kind, const char *path,
                              gb_status *status);
/* The name in an encoder's files of a canonical one, and BERT's name of one in its files. */
void folder_own_name(gb_encoder_kind kind, const char *canonical, char name[GB_WEIGHT_NAME]);
void folder_bert_name(gb_encoder_kind kind, const char *stored, char name[GB_WEIGHT_NAME]);

/* ---- rotary.c ---- */

/* Reads the base of the angles from "rope_parameters", or a part of them for layers of a kind;
 * *theta stays where there are none. GB_DATA for what is not the plain rotary positions of a whole
 * head, with its name. */
bool folder_read_rope(const json_t *parameters, const char *path, double *theta, gb_status *status);

/* ---- modernbert.c ---- */

/* ModernBertConfig: its defaults; what config.json says of it beyond BERT's settings, where what is
 * not computed is refused; and that for writing, into an object. */
void folder_modern_defaults(gb_bert_config *config);
bool folder_modern_read(const json_t *json, const char *path, gb_bert_config *config,
                        gb_status *status);
bool folder_modern_check(const gb_bert_config *config, const char *where, const char *hint,
                         gb_status *status);
void folder_modern_write(json_t *json, const gb_bert_config *config);

/* ---- config.c ---- */

#define FOLDER_PAIRS "BertForSequenceClassification" /* transformers' class of cross-encoders */
/* The first of "architectures" of config.json; "" if there is none. */
bool folder_read_architecture(const char *path, char name[GB_WEIGHT_NAME], gb_status *status);

/* ---- sentence.c ---- */

/* A length in tokens that a file of the folder may state: *length gets it if it is smaller. GB_DATA
 * below `least`. */
bool folder_read_length(const char *dir, const char *name, const char *member, uint32_t least,
                        uint32_t *length, gb_status *status);

/* Writes config_sentence_transformers.json: prompts and similarity. */
bool folder_write_prompts(const char *dir, const gb_sentence_settings *how, gb_status *status);

/* ---- zip.c ---- */

/* A member of a zip, in the mapped file. */
typedef struct folder_member {
    const char *name;          /* path in the zip */
    const unsigned char *data; /* its bytes */
    uint64_t bytes;            /* how many */
    uint32_t crc;              /* CRC-32 that the zip gives */
} folder_member;
typedef struct folder_zip {
    folder_member *members; /* in byte order of names */
    size_t count;           /* how many */
} folder_zip;
/* The members of a zip without compression; `arena` owns them, `bytes` their data. Checksums are
 * not looked at. */
bool folder_zip_read(const char *path, const unsigned char *bytes, size_t size, gb_arena *arena,
                     folder_zip *zip, gb_status *status);
const folder_member *folder_zip_find(const folder_zip *zip, const char *name); /* or NULL */
bool folder_member_check(const folder_member *member, const char *path, gb_status *status);

/* ---- pickle.c ---- */

/* Append the tensors of a file of torch.save (its contents: `bytes`) to *tensors; `arena` owns
 * their names. Executes nothing: GB_DATA naming what else than tensors the file asks for. */
bool folder_torch_read(const char *path, const unsigned char *bytes, size_t size, gb_arena *arena,
                       gb_stored **tensors, size_t *count, size_t *capacity, gb_status *status);

/* ---- names.c ---- */

/* What a tensor of a checkpoint is to us. */
typedef enum folder_role {
    FOLDER_NAMED,       /* goes by the canonical name given */
    FOLDER_SKIPPED,     /* known and not used: position ids, next-sentence head */
    FOLDER_POOLER,      /* bert.pooler.dense, of which only cross-encoders make use */
    FOLDER_CLASSIFIER,  /* classifier, the head of cross-encoders and of other models */
    FOLDER_TIED_WEIGHT, /* a stored copy of the word embeddings */
    FOLDER_TIED_BIAS,   /* another name of cls.predictions.bias */
} folder_role;
/* Canonical form of a name found in a checkpoint. It need not exist in the model. */
folder_role folder_canonical(gb_encoder_kind kind, const char *stored, char name[GB_WEIGHT_NAME]);
/* Name and shape of parameter `index` of a cross-encoder's head: pooler and classifier. */
#define FOLDER_PAIR_WEIGHTS 4
gb_weight_spec folder_pair_weight_at(const gb_bert_config *config, size_t index);
/* Whether a name can stand in a safetensors file: not empty, too long or with control bytes. */
bool folder_name_is_sound(const char *name);
/* Whether a name belongs to the namespaces of transformers, closed to the side file. */
bool folder_name_is_bert(const char *name);

/* "[30522, 768]" or "[768]" into text. */
#define FOLDER_SHAPE_TEXT 192
const char *folder_shape_text(const uint64_t *shape, uint32_t rank, char text[FOLDER_SHAPE_TEXT]);
const char *folder_spec_text(uint64_t rows, uint64_t cols, char text[FOLDER_SHAPE_TEXT]);
bool folder_shape_is(const gb_stored *stored, uint64_t rows, uint64_t cols);

/* Index of the first value that is NaN or infinite, or count. */
uint64_t folder_first_unfinite(const float *values, uint64_t count);

/* ---- safetensors_write.c ---- */

/* Pointers to the weights in byte order of names; the caller frees. NULL if a name comes twice. */
const gb_weight **folder_sorted_weights(const gb_weight *weights, size_t count, const char *path,
                                        gb_status *status);
int folder_weights_by_name(const void *a, const void *b); /* of such pointers */
/* A model that diverged is not written. */
bool folder_check_finite(const gb_weight *weight, const char *path, gb_status *status);

/* ---- tokenizer_json.c, tokenizer_legacy.c ---- */

/* The vocabulary of a tokenizer.json, read from `path`; names: of special tokens, where it does not
 * say them. Caller destroys. */
gb_vocab *folder_vocab_of_json(const json_t *json, const char *path,
                               const char *const names[GB_SPECIALS], gb_status *status);
bool folder_json_has_token(const json_t *json, const char *token);
/* Whether a tokenizer.json says of WordPiece what the vocab.txt and tokenizer_config.json beside it
 * say, of which `vocab` was made. GB_DATA where programs that read the one or the other would make
 * other tokens. */
bool folder_json_agrees(const char *dir, const json_t *json, const gb_vocab *vocab,
                        gb_status *status);
/* Pieces of a tokenizer.json of WordPiece; 0: it is of another kind. */
size_t folder_json_words(const json_t *json);
/* The longest word of a tokenizer.json; *most stays where it does not say it. */
void folder_json_longest(const json_t *json, uint32_t *most);
/* What a tokenizer.json would say of older files; a new reference. names: of special tokens. */
json_t *folder_json_of_merges(const char *dir, const char *const names[GB_SPECIALS],
                              bool prefix_space, gb_status *status);
json_t *folder_json_of_sentencepiece(const char *path, gb_status *status);

/* ---- added_tokens.c ---- */

#define FOLDER_MANY_IDS (1u << 24) /* far above any vocabulary */

/* The JSON files of a tokenizer; NULL where there is none. */
typedef struct folder_tokens {
    json_t *config, *special, *fast; /* tokenizer_config, special_tokens_map, tokenizer */
} folder_tokens;
/* A special token's text: a string, or an object with "content". NULL if it is neither. */
const char *folder_token_text(const json_t *token);
/* Adds the tokens that the files beside a vocab.txt name to the vocabulary made of it. GB_DATA
 * where they disagree. The markers of late interaction are left out: queries and passages get them
 * as ids, and a text that has one is not to have them a second time. */
bool folder_add_tokens(const char *dir, const folder_tokens *files, gb_vocab *vocab,
                       gb_status *status);
/* Looks for an entry of tokenizer.json's "added_tokens" in texts; its id is the vocabulary's. */
bool folder_look_for(gb_vocab *vocab, const json_t *token, bool wordpiece, gb_status *status);
/* Takes those markers out of such a list that are behind so many pieces. */
bool folder_drop_markers(const char *dir, json_t *list, size_t pieces, gb_status *status);

/* ---- tokenizer_files.c, sentence.c ---- */

/* The object of a file; *json stays NULL where there is no such file. flags: of gb_json_load. */
bool folder_load_if_there(const char *dir, const char *name, uint32_t flags, json_t **json,
                          gb_status *status);

/* An entry of tokenizer.json's "added_tokens". lstrip: the token takes the spaces before it;
 * normalized: it is looked for in normalised text. */
json_t *folder_added_token(const char *content, uint32_t id, bool special, bool lstrip,
                           bool normalized);
/* A piece of its template: a "Sequence" or a "SpecialToken". */
json_t *folder_template_piece(const char *kind, const char *id, int type);

/* gb_vocabulary_read; names of special tokens where no file gives them, or NULL. */
gb_vocab *folder_read_vocab(const char *dir, const char *const names[GB_SPECIALS],
                            gb_status *status);

/* The file with sentence-transformers' settings of the transformer in a folder, or what it would be
 * called. */
const char *folder_transformer_settings(const char *dir);
/* sentence-transformers lowers texts itself where sentence_bert_config.json says so, if it is
 * there; here the tokenizer does it, or nobody. GB_DATA where it `lowers` none and should. */
bool folder_check_lowering(const char *dir, bool lowers, gb_status *status);

/* What reads the ids. */
typedef enum folder_reader {
    FOLDER_WITH_TYPES,    /* an encoder */
    FOLDER_WITHOUT_TYPES, /* an encoder that transformers must give no token types */
    FOLDER_OF_LANGUAGE,   /* texts end with [SEP] and have nothing before them */
} folder_reader;
/* vocab.txt, tokenizer.json, tokenizer_config.json and special_tokens_map.json into dir. late:
 * whose markers are added tokens where the vocabulary does not have them, or NULL. */
bool folder_write_tokenizer(const char *dir, const gb_vocab *vocab,
                            const gb_tokenizer_params *tokenizer, uint32_t max_length,
                            folder_reader reader, const gb_late_settings *late, gb_status *status);
/* The members of tokenizer_config.json; *params keeps what it is silent about. */
bool folder_tokenizer_params(const json_t *json, const char *path, gb_tokenizer_params *params,
                             gb_status *status);
/* modules.json, 1_Pooling/config.json and their like into dir, the settings of the model into body.
 */
bool folder_write_sentence(const char *dir, const char *body, const gb_folder_params *params,
                           gb_status *status);

/* ---- router.c ---- */

#define FOLDER_ROUTER_SETTINGS "router_config.json"
/* The router's description, or NULL where the folder has none; false at a failure. */
bool folder_load_router(const char *root, json_t **router, gb_status *status);
/* Module `index` of a route, the name of its sub-folder; NULL if there is none. */
/* The class of a module's type, without where it lies in the library: "Dense" of
 * sentence_transformers.models.Dense. */
const char *folder_class(const char *type);
const char *folder_module_at(const json_t *router, const char *route, size_t index);
/* Whether it is of that class. */
bool folder_module_is(const json_t *router, const char *route, size_t index, const char *kind);

#define FOLDER_QUERY_TOKENS     "query_0_SparseStaticEmbedding"
#define FOLDER_DOCUMENT         "document_0_MLMTransformer"
#define FOLDER_DOCUMENT_POOLING "document_1_SpladePooling"
/* Where the model of a folder lies: a router's of passages in a sub-folder, else the folder itself.
 * Caller frees. */
char *folder_find_body(const char *root, gb_status *status);
/* Path of an open folder's model, config.json and tokenizer. */
const char *folder_body(const gb_folder *folder);
/* Whether a router, if the folder has one, makes sparse vectors. */
bool folder_router_is_sparse(const char *root, bool *sparse, gb_status *status);
/* Checks a router; *pooling gets the sub-folder of its SpladePooling, which the caller frees. */
bool folder_read_router(const gb_folder *folder, char **pooling, gb_status *status);
/* router_config.json and the module of queries into dir. */
bool folder_write_router(const char *dir, const gb_folder_params *params, gb_status *status);

/* ---- folder_write.c, pairs.c ---- */

/* Whether the weights are a cross-encoder's. */
bool folder_is_pairs(const gb_folder_params *params);
/* A line of the model card between two other texts; nothing if it is NULL. */
void folder_card_section(gb_text *text, const char *before, const char *line, const char *after);
/* What the card says of its making. */
void folder_card_facts(gb_text *text, const gb_model_card *card);
/* The model card of a cross-encoder. */
bool folder_write_pair_card(const char *path, const gb_folder_params *params, gb_status *status);

/* ---- folder.c, late.c, late_write.c ---- */

/* First dimension of a tensor, or 0 if there is none of that name. */
uint32_t folder_rows_of(const gb_folder *folder, const char *name);
/* The file with the projection of tokens that modules.json names, or NULL: it names none. Caller
 * frees. */
bool folder_dense_file(const char *folder, char **file, gb_status *status);
/* The texts of the markers that the files of late interaction name, an array; of other folders an
 * empty one. A new reference. */
json_t *folder_late_markers(const char *dir, gb_status *status);
/* The files that say how params->sentence.late interacts, into dir. */
bool folder_write_late(const char *dir, const gb_folder_params *params, gb_status *status);
/* The model card of late interaction. */
bool folder_write_late_card(const char *path, const gb_folder_params *params, gb_status *status);

#endif
