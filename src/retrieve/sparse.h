/* Sparse vectors of texts: made by a model, kept in files, searched. Private to the module. */
#ifndef RETRIEVE_SPARSE_H
#define RETRIEVE_SPARSE_H

#include <gabbro/retrieve.h>

/* A term of a sparse vector: a token of the vocabulary, and its weight above 0. */
typedef struct sparse_term {
    uint32_t id;  /* of the token */
    float weight; /* its impact */
} sparse_term;

/* What makes the vectors of texts. */
typedef struct sparse_source {
    gb_encoder *encoder;     /* gives the weights of all terms, or NULL; the retriever's */
    const float *weights;    /* without an encoder: [vocabulary] of a text's tokens */
    gb_special_ids specials; /* which count as no tokens of a text */
    uint32_t max_length;     /* tokens of a text, specials included */
    uint32_t most;           /* largest weights that are kept; 0: all */
    double least;            /* smaller ones are not */
    sparse_term *terms;      /* scratch */
    size_t capacity;         /* of it */
} sparse_source;
/* Takes the vector of a text: terms [count] with ascending ids. */
typedef bool sparse_take_fn(void *ctx, uint32_t text, const sparse_term *terms, uint32_t count,
                            gb_status *status);
/* Gives the vectors of texts, from 0 on. */
bool retrieve_sparse_each(sparse_source *source, const gb_encode_rows *texts, sparse_take_fn *take,
                          void *ctx, gb_status *status);
void retrieve_sparse_source_free(sparse_source *source); /* scratch */

/* A file of sparse vectors: "GABTERMS", u32 version, u32 number of terms; then of each text u32
 * count and so many sparse_term. Writes those of texts, and goes on where `journal` says that an
 * earlier call ended. */
bool retrieve_sparse_file_write(const gb_vector_file *file, const gb_encode_rows *texts,
                                uint32_t vocab_size, sparse_source *source, gb_status *status);
/* Reads it, text after text. */
typedef struct sparse_reader {
    FILE *stream;        /* open, or NULL */
    const char *path;    /* of it */
    uint32_t vocab_size; /* terms are below it */
    sparse_term *terms;  /* of the last text */
    size_t capacity;     /* of the array */
} sparse_reader;
bool retrieve_sparse_reader_open(sparse_reader *reader, const char *path, uint32_t vocab_size,
                                 gb_status *status);
/* The next text's terms into reader->terms. GB_DATA where the file ends or is damaged. */
bool retrieve_sparse_reader_next(sparse_reader *reader, uint32_t *count, gb_status *status);
void retrieve_sparse_reader_close(sparse_reader *reader);

/* What the functions of a retriever do where its vectors are sparse. The file of a rank is
 * `path`.RANK-of-RANKS: another number of ranks has other passages in it. */
char *retrieve_sparse_file_of(const char *path, uint32_t rank, uint32_t ranks, gb_status *status);
bool retrieve_sparse_write(const gb_retriever *retriever, gb_text_kind kind,
                           const gb_encode_rows *texts, const gb_vector_file *file,
                           gb_padding *padding, gb_status *status);
bool retrieve_sparse_encode(const gb_retriever *retriever, gb_text_kind kind,
                            const gb_encode_rows *texts, float *vectors, gb_status *status);
bool retrieve_sparse_rank(gb_retriever *retriever, const gb_encode_rows *queries, uint32_t depth,
                          gb_run *run, gb_status *status);
/* Writes vectors.jsonl into a folder from the files of all ranks: names has the ids, rows of it are
 * `rows` or first, first + 1 ... . */
bool retrieve_sparse_print(const gb_retriever *retriever, const char *path,
                           const gb_encode_rows *texts, const gb_row_file *names,
                           const char *folder, gb_status *status);

#endif
