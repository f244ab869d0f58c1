#include "vector_file.h"

#include <gabbro/rows.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1024 };              /* texts encoded at once */
static const double kept_every = 1; /* seconds between two places to go on from */

/* The file while it is written. */
typedef struct vector_file {
    const char *path, *journal; /* see above */
    int fd;                     /* of path */
    uint64_t row_bytes;         /* of a vector */
    uint64_t start, size;       /* bytes before the first of the texts; of the whole file */
} vector_file;

static bool cannot_write(const char *path, gb_status *status)
{
    return gb_fail(status, GB_DATA, path, "free space on the disk, then run again",
                   "cannot write: %s", strerror(errno));
}

static bool write_at(const vector_file *f, uint64_t offset, const void *bytes, size_t size,
                     gb_status *status)
{
    for (size_t done = 0; done < size;) {
        ssize_t put = GB_TRY_CALL(
            pwrite(f->fd, (const char *)bytes + done, size - done, (off_t)(offset + done)));
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return cannot_write(f->path, status);
        done += (size_t)put;
    }
    return true;
}

/* Vectors in the file, by the journal. */
static uint32_t written_before(const vector_file *f, uint32_t total)
{
    char *text = gb_file_exists(f->journal) ? gb_read_file(f->journal, NULL, NULL) : NULL;
    unsigned long count = text ? strtoul(text, NULL, 10) : 0;
    free(text);
    off_t size = lseek(f->fd, 0, SEEK_END);
    bool there = count <= total && size >= 0 && (uint64_t)size >= f->start + count * f->row_bytes;
    return there ? (uint32_t)count : 0;
}

/* They are on the disk before the journal says so. */
static bool keep(const vector_file *f, uint32_t count, gb_status *status)
{
    char text[16];
    int length = snprintf(text, sizeof text, "%u\n", count);
    if (GB_TRY_CALL(fdatasync(f->fd)))
        return cannot_write(f->path, status);
    return gb_write_file(f->journal, text, (size_t)length, status);
}

static bool write_rest(const vector_file *f, const vector_texts *texts, gb_encoder *encoder,
                       gb_status *status)
{
    uint32_t done = written_before(f, texts->count);
    float *vectors = gb_alloc(CHUNK, f->row_bytes, status);
    bool ok = vectors != NULL;
    if (ok && done)
        gb_log(GB_LOG_INFO, "%u of %u texts were encoded before", done, texts->count);
    double kept_s = gb_now_s();
    gb_progress progress;
    gb_progress_begin(&progress, texts->label, "texts", texts->count, done);
    while (ok && done < texts->count) {
        uint32_t count = texts->count - done < CHUNK ? texts->count - done : CHUNK;
        ok = gb_encoder_run(encoder, texts->tokens, texts->rows, texts->first + done, count, NULL,
                            vectors, status) &&
             write_at(f, f->start + done * f->row_bytes, vectors, count * f->row_bytes, status);
        done += count;
        if (ok && (done == texts->count || gb_now_s() - kept_s >= kept_every)) {
            ok = keep(f, done, status);
            kept_s = gb_now_s();
        }
        gb_progress_update(&progress, done, NULL);
    }
    if (ok && GB_TRY_CALL(ftruncate(f->fd, (off_t)f->size)))
        ok = cannot_write(f->path, status);
    if (ok)
        gb_progress_end(&progress, done, NULL);
    free(vectors);
    return ok;
}

/* Of one rank: the rows `at`, at + 1 ... of the file. */
static bool write_part(const char *path, const char *journal, const vector_texts *texts,
                       uint32_t rows, uint32_t at, gb_encoder *encoder, uint32_t width,
                       gb_status *status)
{
    uint64_t row_bytes = (uint64_t)width * sizeof(float);
    vector_file f = {.path = path,
                     .journal = journal,
                     .row_bytes = row_bytes,
                     .start = GB_NPY_HEADER + at * row_bytes,
                     .size = GB_NPY_HEADER + rows * row_bytes};
    char header[GB_NPY_HEADER];
    gb_npy_header(rows, width, header);
    f.fd = GB_TRY_CALL(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (f.fd < 0)
        return gb_fail(status, GB_DATA, path, NULL, "cannot open: %s", strerror(errno));
    bool ok =
        write_at(&f, 0, header, sizeof header, status) && write_rest(&f, texts, encoder, status);
    if (close(f.fd) && ok)
        ok = cannot_write(path, status);
    return ok;
}

bool vector_file_write(step_run *run, const char *path, const char *name, const vector_texts *texts,
                       gb_encoder *encoder, uint32_t width, gb_status *status)
{
    uint32_t at;
    vector_texts part = *texts;
    gb_ranks_range(gb_ranks_rank(run->ranks), gb_ranks_count(run->ranks), texts->count, &at,
                   &part.count);
    part.first += at;
    char *journal = step_rank_file(run, name, status);
    bool ok = journal &&
              write_part(path, journal, &part, texts->count, at, encoder, width, status) &&
              step_ranks_wait(run, status);
    free(journal);
    return ok;
}
