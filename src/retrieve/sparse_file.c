/* A file of sparse vectors that grows while texts are encoded, and goes on after a kill. */
#include "sparse.h"
#include <gabbro/os.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1024, VERSION = 1 };  /* texts encoded at once */
static const double noted_every = 1; /* seconds between two places to go on from */
static const char magic[8] = {'G', 'A', 'B', 'T', 'E', 'R', 'M', 'S'};

typedef struct file_header {
    char magic[8];       /* "GABTERMS" */
    uint32_t version;    /* VERSION */
    uint32_t vocab_size; /* terms are below it */
} file_header;

/* The file while it is written. */
typedef struct sparse_file {
    const gb_vector_file *names; /* path and journal */
    FILE *stream;                /* of path */
    uint32_t done;               /* texts in it */
} sparse_file;

static bool cannot_write(const sparse_file *f, gb_status *status)
{
    return gb_fail(status, GB_DATA, f->names->path, "free space on the disk, then run again",
                   "cannot write: %s", strerror(errno));
}

static bool put(const sparse_file *f, const void *bytes, size_t size, gb_status *status)
{
    return !size || (!GB_TRY_CALL(0) && fwrite(bytes, 1, size, f->stream) == size) ||
           cannot_write(f, status);
}

static bool take(void *ctx, uint32_t text, const sparse_term *terms, uint32_t count,
                 gb_status *status)
{
    sparse_file *f = ctx;
    (void)text;
    f->done++;
    return put(f, &count, sizeof count, status) && put(f, terms, count * sizeof *terms, status);
}

/* They are on the disk before the journal says so. */
static bool note(const sparse_file *f, gb_status *status)
{
    char text[48];
    if (fflush(f->stream) || GB_TRY_CALL(gb_os_sync(fileno(f->stream))))
        return cannot_write(f, status);
    int length =
        snprintf(text, sizeof text, "%u %llu\n", f->done, (unsigned long long)ftello(f->stream));
    return gb_write_file(f->names->journal, text, (size_t)length, status);
}

/* Goes on behind what the journal says, else at the beginning. */
static bool find_place(sparse_file *f, uint32_t total, uint32_t vocab_size, gb_status *status)
{
    const file_header header = {.version = VERSION, .vocab_size = vocab_size};
    const char *journal = f->names->journal;
    char *text = gb_file_exists(journal) ? gb_read_file(journal, NULL, NULL) : NULL, *end = text;
    unsigned long count = text ? strtoul(text, &end, 10) : 0;
    unsigned long long bytes = text ? strtoull(end, NULL, 10) : 0;
    free(text);
    bool there = count && count <= total && fseeko(f->stream, 0, SEEK_END) == 0 &&
                 (unsigned long long)ftello(f->stream) >= bytes && bytes > sizeof header;
    f->done = there ? (uint32_t)count : 0;
    if (GB_TRY_CALL(ftruncate(fileno(f->stream), there ? (off_t)bytes : 0)) ||
        fseeko(f->stream, 0, SEEK_END))
        return cannot_write(f, status);
    if (there)
        return true;
    file_header written = header;
    memcpy(written.magic, magic, sizeof magic);
    return put(f, &written, sizeof written, status);
}

static bool write_rest(sparse_file *f, const gb_encode_rows *texts, sparse_source *source,
                       gb_status *status)
{
    bool ok = true;
    double noted_s = gb_now_s();
    gb_progress progress;
    if (f->done)
        gb_log(GB_LOG_INFO, "%u of %u texts were encoded before", f->done, texts->count);
    gb_progress_begin(&progress, texts->label, "texts", texts->count, f->done);
    while (ok && f->done < texts->count) {
        uint32_t left = texts->count - f->done;
        gb_encode_rows chunk = *texts;
        chunk.first += f->done;
        chunk.count = left < CHUNK ? left : CHUNK;
        chunk.label = NULL;
        ok = retrieve_sparse_each(source, &chunk, take, f, status);
        if (ok && (f->done == texts->count || gb_now_s() - noted_s >= noted_every)) {
            ok = note(f, status);
            noted_s = gb_now_s();
        }
        gb_progress_update(&progress, f->done, NULL);
    }
    if (ok)
        gb_progress_end(&progress, f->done, NULL);
    return ok;
}

bool retrieve_sparse_file_write(const gb_vector_file *file, const gb_encode_rows *texts,
                                uint32_t vocab_size, sparse_source *source, gb_status *status)
{
    sparse_file f = {.names = file};
    int fd = GB_TRY_CALL(gb_os_open(file->path, O_RDWR | O_CREAT));
    f.stream = fd < 0 ? NULL : fdopen(fd, "r+b");
    if (!f.stream) {
        if (fd >= 0)
            close(fd);
        return gb_fail(status, GB_DATA, file->path, NULL, "cannot open: %s", strerror(errno));
    }
    bool ok =
        find_place(&f, texts->count, vocab_size, status) && write_rest(&f, texts, source, status);
    if (fclose(f.stream) && ok)
        ok = cannot_write(&f, status);
    return ok;
}

/* ---- reading ---- */

static bool damaged(const sparse_reader *r, const char *what, gb_status *status)
{
    return gb_fail(status, GB_DATA, r->path, "remove the unfinished artifact, then run again",
                   "a file of sparse vectors is damaged: %s", what);
}

bool retrieve_sparse_reader_open(sparse_reader *r, const char *path, uint32_t vocab_size,
                                 gb_status *status)
{
    file_header header;
    *r = (sparse_reader){.path = path, .vocab_size = vocab_size};
    r->stream = GB_TRY_OPEN(gb_os_fopen(path, "rb"));
    if (!r->stream)
        return gb_fail(status, GB_DATA, path, NULL, "cannot open: %s", strerror(errno));
    if (fread(&header, sizeof header, 1, r->stream) != 1 ||
        memcmp(header.magic, magic, sizeof magic) != 0 || header.version != VERSION ||
        header.vocab_size != vocab_size) {
        damaged(r, "it begins otherwise", status);
        retrieve_sparse_reader_close(r);
        return false;
    }
    return true;
}

bool retrieve_sparse_reader_next(sparse_reader *r, uint32_t *count, gb_status *status)
{
    if (fread(count, sizeof *count, 1, r->stream) != 1 || *count > r->vocab_size)
        return damaged(r, "it was cut off", status);
    if (!gb_grow(&r->terms, &r->capacity, (size_t)*count + 1, sizeof *r->terms, status))
        return false;
    if (*count && fread(r->terms, sizeof *r->terms, *count, r->stream) != *count)
        return damaged(r, "it was cut off", status);
    for (uint32_t i = 0; i < *count; i++)
        if (r->terms[i].id >= r->vocab_size || (i && r->terms[i].id <= r->terms[i - 1].id) ||
            !(r->terms[i].weight > 0 && r->terms[i].weight < INFINITY))
            return damaged(r, "terms are out of order", status);
    return true;
}

void retrieve_sparse_reader_close(sparse_reader *r)
{
    if (r->stream)
        fclose(r->stream);
    free(r->terms);
    r->stream = NULL;
    r->terms = NULL;
}
