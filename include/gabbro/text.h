/* Text module: turns text into tokens, and tokens into text. It has Unicode normalisation,
 * WordPiece, sentencepiece models, sentences, stems, regular expressions, and the masking of
 * tokens. */
#ifndef GABBRO_TEXT_H
#define GABBRO_TEXT_H

#include <gabbro/base.h>

/* What a text is to a retriever; mixed: some are this, some that. */
typedef enum gb_text_kind { GB_TEXT_PASSAGE, GB_TEXT_QUERY, GB_TEXT_MIXED } gb_text_kind;

/* ---- vocabulary ---- */

/* A vocabulary, with what makes its tokens of text: mostly WordPiece, in the form of Hugging Face's
 * vocab.txt, where token i is on line i + 1. */
typedef struct gb_vocab gb_vocab;

/* Ids of the special tokens, found by name; GB_MAP_NONE where a vocabulary other than of WordPiece
 * has none. */
typedef struct gb_special_ids {
    uint32_t pad, unk, cls, sep, mask;
} gb_special_ids;

#define GB_SPECIALS 5 /* in lists that have the order of gb_special_ids */

/* Reads a vocab.txt. NULL and GB_DATA if it is damaged or lacks a special token. */
gb_vocab *gb_vocab_load(const char *path, gb_status *status);
/* The same of special tokens with these names; NULL: [PAD], [UNK], [CLS], [SEP] and [MASK]. */
gb_vocab *gb_vocab_load_named(const char *path, const char *const names[GB_SPECIALS],
                              gb_status *status);
bool gb_vocab_save(const gb_vocab *vocab, const char *path, gb_status *status); /* atomic */
void gb_vocab_destroy(gb_vocab *vocab);
uint32_t gb_vocab_size(const gb_vocab *vocab);
/* Text of a token, or NULL if there is no such id. */
const char *gb_vocab_token(const gb_vocab *vocab, uint32_t id);
/* Id of a token, or GB_MAP_NONE if there is no such token. */
uint32_t gb_vocab_id(const gb_vocab *vocab, const char *token, size_t length);
gb_special_ids gb_vocab_specials(const gb_vocab *vocab);
/* Hash of the list of tokens, and of the rules and added tokens that make them of text where the
 * vocabulary is not plain: where it is equal, a text has equal ids. */
bool gb_vocab_hash(const gb_vocab *vocab, char hash[GB_HASH_SIZE], gb_status *status);
/* Whether a vocab.txt alone says all: BERT's uncased WordPiece, no tokens added. */
bool gb_vocab_is_plain(const gb_vocab *vocab);
bool gb_vocab_is_bert(const gb_vocab *vocab); /* WordPiece, special tokens with BERT's names */
bool gb_vocab_is_special(const gb_vocab *vocab, uint32_t id);      /* one of the five */
bool gb_vocab_is_continuation(const gb_vocab *vocab, uint32_t id); /* starts with "##" */

/* ---- tokenizer ---- */

/* Options of a WordPiece tokenizer, as in Hugging Face's BertTokenizer. */
typedef struct gb_tokenizer_params {
    bool lower_case;         /* do_lower_case, default true; also strips accents */
    bool split_cjk;          /* tokenize_chinese_chars, default true */
    uint32_t max_word_chars; /* longer words become [UNK]; default 100 characters */
} gb_tokenizer_params;
#define GB_TOKENIZER_DEFAULTS ((gb_tokenizer_params){true, true, 100})

/* Makes ids of texts, as the vocabulary's rules say; params are those of WordPiece, and mean
 * nothing to other vocabularies. The vocabulary must outlive it. */
typedef struct gb_tokenizer gb_tokenizer;
gb_tokenizer *gb_tokenizer_create(const gb_vocab *vocab, gb_tokenizer_params params,
                                  gb_status *status);
void gb_tokenizer_destroy(gb_tokenizer *tokenizer);

/* A token that is recognised in the text before others are made, such as </s> or <extra_id_0>. */
typedef struct gb_added_token {
    const char *text; /* as it is written; copied */
    uint32_t id;      /* may lie behind the other tokens */
    bool special;     /* left out by decoding */
    bool strip_left;  /* takes the spaces before it */
    bool strip_right; /* takes the spaces behind it */
    bool whole_word;  /* only where no letter, mark, digit or _ is beside it */
    bool normalized;  /* its text is normalised, and looked for in normalised text */
} gb_added_token;

/* What a tokenizer.json may ask for beside WordPiece, part by part: normalisation, cutting into
 * words, and tokens of a word. */
typedef enum gb_vocab_kind {
    GB_VOCAB_WORDS,   /* WordPiece */
    GB_VOCAB_BYTES,   /* byte pairs over the bytes of a word (GPT-2, RoBERTa, ModernBERT) */
    GB_VOCAB_UNIGRAM, /* the likeliest tokens of a word (sentencepiece, XLM-RoBERTa) */
} gb_vocab_kind;
typedef enum gb_normal_step {
    GB_NORMAL_NONE, /* the end of the steps */
    GB_NORMAL_NFC,
    GB_NORMAL_NFD,
    GB_NORMAL_NFKC,
    GB_NORMAL_NFKD,
    GB_NORMAL_LOWER,    /* lower case */
    GB_NORMAL_ACCENTS,  /* marks that take no space go */
    GB_NORMAL_LEFT,     /* spaces at the beginning go */
    GB_NORMAL_RIGHT,    /* spaces at the end go */
    GB_NORMAL_COLLAPSE, /* several spaces become one */
    GB_NORMAL_MARK,     /* several spaces become U+2581 */
    GB_NORMAL_CHARSMAP, /* sentencepiece's table, gb_vocab_set_charsmap */
} gb_normal_step;
#define GB_NORMAL_STEPS 8
typedef struct gb_vocab_rules {
    gb_vocab_kind kind;                    /* how words become tokens */
    gb_tokenizer_params words;             /* of WordPiece, which all else is not for */
    gb_normal_step steps[GB_NORMAL_STEPS]; /* of normalisation, in this order */
    bool split_spaces;                     /* words end at white space, which goes */
    bool prefix_space;                     /* a space before every text that begins with none */
    bool prefix_first;                     /* before the first stretch between added tokens alone */
    bool cut;         /* into words: by GPT-2's pattern, or (unigram) before every space */
    bool whole_words; /* a word that is a token is not made of byte pairs */
} gb_vocab_rules;
/* Building a vocabulary: create, add in the order of ids, then set the rules. */
gb_vocab *gb_vocab_create(gb_status *status);
/* Adds the next token; score: of unigrams, else 0. Bytes of byte pairs are spelled as GPT-2 does. A
 * token that is there already gets an id that no text has. */
bool gb_vocab_add(gb_vocab *vocab, const char *bytes, size_t length, double score,
                  gb_status *status);
/* Adds the next pair of tokens that byte pairs join; the earlier ones go first. GB_DATA where one
 * of the three is no token. */
bool gb_vocab_add_merge(gb_vocab *vocab, const char *left, const char *right, gb_status *status);
/* Tokens added from now on are no pieces of words: they only stand in texts as added tokens. */
void gb_vocab_end_pieces(gb_vocab *vocab);
uint32_t gb_vocab_pieces(const gb_vocab *vocab); /* tokens that are pieces of words, the first */
/* Looks for a token in texts, and no longer for one of the same text that was added before. */
bool gb_vocab_add_special(gb_vocab *vocab, const gb_added_token *token, gb_status *status);
/* Added token `index`, the longest first; NULL behind the last. */
const gb_added_token *gb_vocab_added(const gb_vocab *vocab, size_t index);
/* sentencepiece's table of replacements, "precompiled_charsmap"; checked. */
bool gb_vocab_set_charsmap(gb_vocab *vocab, const void *bytes, size_t length, gb_status *status);
/* Names of the special tokens; NULL, or of no token: there is none. */
void gb_vocab_set_specials(gb_vocab *vocab, const char *const names[GB_SPECIALS]);
void gb_vocab_set_rules(gb_vocab *vocab, const gb_vocab_rules *rules);
const gb_vocab_rules *gb_vocab_get_rules(const gb_vocab *vocab);
/* The description that the vocabulary was read from, a tokenizer.json; NULL: there is none. */
bool gb_vocab_set_source(gb_vocab *vocab, const char *text, gb_status *status);
const char *gb_vocab_source(const gb_vocab *vocab);

/* A growable list of token ids. Zero-initialise it; free(ids.data). */
typedef struct gb_ids {
    uint32_t *data;  /* ids */
    size_t count;    /* ids in use */
    size_t capacity; /* ids allocated */
} gb_ids;
bool gb_ids_append(gb_ids *ids, uint32_t id, gb_status *status);

/* Appends the ids of UTF-8 text, without adding special tokens. The literal strings of special
 * tokens, such as [CLS], become their ids, as Hugging Face does by default. Invalid UTF-8 bytes
 * become U+FFFD, which the clean-up of WordPiece drops. Thread-safe. */
bool gb_tokenize(const gb_tokenizer *tokenizer, const char *text, size_t length, gb_ids *ids,
                 gb_status *status);
/* Calls word(ctx, bytes, length) for every word as WordPiece sees it: after clean-up, lower-casing,
 * stripping of accents and splitting at punctuation. Vocabulary training uses it. Returns false on
 * failure, and also when word() returned false; status is then as word() left it. */
bool gb_pretokenize(gb_tokenizer_params params, const char *text, size_t length,
                    bool (*word)(void *ctx, const char *bytes, size_t length), void *ctx,
                    gb_status *status);

/* ---- pieces ---- */

/* A sentencepiece model (spiece.model, tokenizer.model) with the rules of the T5 and LLaMA
 * tokenizers of Hugging Face transformers. */
typedef struct gb_pieces_params {
    bool legacy;       /* as sentencepiece itself: a space before every stretch of text */
    bool prefix_space; /* not legacy: a space before the whole text; taken away by decoding */
    bool trim;         /* decoding leaves no spaces at the ends (T5) */
} gb_pieces_params;
typedef struct gb_pieces gb_pieces;
/* Opens a model file. GB_DATA if it is not such a model; GB_USAGE, which names the package, if the
 * program was built without libsentencepiece. */
gb_pieces *gb_pieces_open(const char *path, gb_pieces_params params, gb_status *status);
void gb_pieces_close(gb_pieces *pieces);
uint32_t gb_pieces_count(const gb_pieces *pieces); /* pieces of the model, without added tokens */
uint32_t gb_pieces_id(const gb_pieces *pieces, const char *text); /* GB_MAP_NONE */
bool gb_pieces_add(gb_pieces *pieces, const gb_added_token *token, gb_status *status);
/* Appends the ids of UTF-8 text and nothing before or after them. Every invalid byte becomes
 * U+FFFD. Thread-safe. */
bool gb_pieces_encode(const gb_pieces *pieces, const char *text, size_t length, gb_ids *ids,
                      gb_status *status);
/* Appends the text of ids, without special tokens and ids that are no token. Thread-safe. */
bool gb_pieces_decode(const gb_pieces *pieces, const uint32_t *ids, size_t count, gb_text *text,
                      gb_status *status);

/* ---- training a vocabulary ---- */

/* Trains a vocabulary: counts words, then learns WordPiece units by merging the most frequent pair
 * (as Hugging Face's BertWordPieceTrainer does), ties broken by the pair's text so that the result
 * is deterministic: it does not depend on the order of the texts. Order of the tokens: [PAD] [UNK]
 * [CLS] [SEP] [MASK], single characters, those inside words as "##c", merges. The result has fewer
 * tokens than wanted if no pair is frequent enough. Words that are too long for the tokenizer, or
 * have a character outside the alphabet, are left out: they would be [UNK] anyway. */
typedef struct gb_vocab_trainer gb_vocab_trainer;
typedef struct gb_vocab_trainer_params {
    uint32_t size;         /* wanted number of tokens, specials included; 0: default 30522 */
    uint32_t min_count;    /* pairs rarer than this are not merged; 0: default 2 */
    uint32_t max_alphabet; /* single characters kept, most frequent first; 0: default 1000 */
    gb_tokenizer_params tokenizer; /* how text becomes words */
} gb_vocab_trainer_params;
#define GB_VOCAB_TRAINER_DEFAULTS ((gb_vocab_trainer_params){30522, 2, 1000, GB_TOKENIZER_DEFAULTS})
gb_vocab_trainer *gb_vocab_trainer_create(gb_vocab_trainer_params params, gb_status *status);
bool gb_vocab_trainer_add(gb_vocab_trainer *trainer, const char *text, size_t length,
                          gb_status *status);
gb_vocab *gb_vocab_trainer_finish(gb_vocab_trainer *trainer, gb_status *status); /* keeps trainer */
void gb_vocab_trainer_destroy(gb_vocab_trainer *trainer);

/* ---- sentences and stems ---- */

typedef struct gb_span {
    size_t start, end; /* byte range [start, end) of a text */
} gb_span;
/* Finds the sentences of UTF-8 text by ICU's break iterator (root locale), without surrounding
 * white space and without empty ones. *spans is grown with gb_grow, and the caller frees it; *count
 * gets their number. Thread-safe. */
bool gb_sentences(const char *text, size_t length, gb_span **spans, size_t *capacity, size_t *count,
                  gb_status *status);

/* Turns text into terms as Lucene's EnglishAnalyzer does: Unicode words (UAX 29), lower case,
 * possessive 's removed, Lucene's 33 stop words dropped, Lucene's Porter stemmer. Each thread needs
 * an analyzer of its own. gb_analyze calls term() for each term in order; it returns false on
 * failure, and also when term() returned false (status is then as term() left it). */
typedef struct gb_analyzer gb_analyzer;
gb_analyzer *gb_analyzer_create(gb_status *status);
void gb_analyzer_destroy(gb_analyzer *analyzer);
bool gb_analyze(gb_analyzer *analyzer, const char *text, size_t length,
                bool (*term)(void *ctx, const char *bytes, size_t length), void *ctx,
                gb_status *status);
bool gb_is_stop_word(const char *word, size_t length); /* Lucene's list, lower case */

/* ---- regular expressions ---- */

/* A regular expression of ICU, which is searched for as DPR does: case does not count, ^ and $ are
 * also the ends of lines (by "\n" alone), and expression and text are decomposed (NFD). Each
 * thread needs one of its own. */
typedef struct gb_regex gb_regex;
/* Compiles an expression of UTF-8, which is not empty; it is on the last line of `lines`, or lines
 * is NULL. A wrong one is GB_DATA: at which character, and what. NULL and GB_USAGE where the
 * program was built without them. */
gb_regex *gb_regex_create(const char *expression, size_t length, const gb_lines *lines,
                          gb_status *status);
void gb_regex_destroy(gb_regex *regex);
/* Finds out whether a text of UTF-8 has a match of one of the expressions [count]. GB_DATA if a
 * search takes more than ten million steps (about a second), or 8 MB for places to go back to. */
bool gb_regex_search(gb_regex *const *regexes, size_t count, const char *text, size_t length,
                     bool *found, gb_status *status);

/* ---- masking ---- */

#define GB_IGNORE (-1) /* label of a position without loss */

/* How tokens are masked. */
typedef struct gb_mask_params {
    double ratio;        /* share of tokens to mask */
    bool count_specials; /* the share is of the length with [CLS] and [SEP], else without */
    bool all_mask;       /* always [MASK] instead of 80/10/10 */
} gb_mask_params;
/* Masks whole words of ids [length], which have no special tokens, for masked language modelling.
 * masked [length] gets the input of the model, labels [length] the original id of a masked token,
 * otherwise GB_IGNORE. Words are taken in random order until the share is reached (rounded half to
 * even), except for those that would exceed it. A token becomes [MASK] with 80%, a random id with
 * 10%, and stays with 10%. */
void gb_mask_words(const gb_vocab *vocab, const gb_mask_params *params, const uint32_t *ids,
                   size_t length, gb_rng *rng, uint32_t *masked, int32_t *labels);

#endif
