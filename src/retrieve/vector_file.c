/* A file of vectors that grows while texts are encoded, and goes on after a kill. */
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1024 };               /* texts encoded at once */
static const double noted_every = 1; /* seconds between two places to go on from */

/* The file while it is written. */
typedef struct vector_file {
    const gb_vector_file *names; /* path and journal */
    int fd;                      /* of path */
    uint64_t row_bytes;          /* of a vector */
    uint64_t start, size;        /* bytes before the first of the texts; of the whole file */
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
            return cannot_write(f->names->path, status);
        done += (size_t)put;
    }
    return true;
}

/* Vectors in the file, by the journal. */
static uint32_t written_before(const vector_file *f, uint32_t total)
{
    char *text =
        gb_file_exists(f->names->journal) ? gb_read_file(f->names->journal, NULL, NULL) : NULL;
    unsigned long count = text ? strtoul(text, NULL, 10) : 0;
    free(text);
    off_t size = lseek(f->fd, 0, SEEK_END);
    bool there = count <= total && size >= 0 && (uint64_t)size >= f->start + count * f->row_bytes;
    return there ? (uint32_t)count : 0;
}

/* They are on the disk before the journal says so. */
static bool note(const vector_file *f, uint32_t count, gb_status *status)
{
    char text[16];
    int length = snprintf(text, sizeof text, "%u\n", count);
    if (GB_TRY_CALL(fdatasync(f->fd)))
        return cannot_write(f->names->path, status);
    return gb_write_file(f->names->journal, text, (size_t)length, status);
}

static bool write_rest(const vector_file *f, const retrieve_part *part, gb_status *status)
{
    uint32_t done = written_before(f, part->count), chunk = part->chunk ? part->chunk : CHUNK;
    const char *unit = part->unit ? part->unit : "texts";
    float *vectors = gb_alloc(chunk, f->row_bytes, status);
    bool ok = vectors != NULL;
    if (ok && done)
        gb_log(GB_LOG_INFO, "%u of %u %s were encoded before", done, part->count, unit);
    double noted_s = gb_now_s();
    gb_progress progress;
    gb_progress_begin(&progress, part->label, unit, part->count, done);
    while (ok && done < part->count) {
        uint32_t count = part->count - done < chunk ? part->count - done : chunk;
        ok = part->make(part->self, done, count, vectors, status) &&
             write_at(f, f->start + done * f->row_bytes, vectors, count * f->row_bytes, status);
        done += count;
        if (ok && (done == part->count || gb_now_s() - noted_s >= noted_every)) {
            ok = note(f, done, status);
            noted_s = gb_now_s();
        }
        gb_progress_update(&progress, done, NULL);
    }
    if (ok && GB_TRY_CALL(ftruncate(f->fd, (off_t)f->size)))
        ok = cannot_write(f->names->path, status);
    if (ok)
        gb_progress_end(&progress, done, NULL);
    free(vectors);
    return ok;
}

bool retrieve_write_part(const retrieve_part *part, gb_status *status)
{
    uint64_t row_bytes = (uint64_t)part->width * sizeof(float);
    const char *path = part->file->path;
    vector_file f = {.names = part->file,
                     .row_bytes = row_bytes,
                     .start = GB_NPY_HEADER + part->at * row_bytes,
                     .size = GB_NPY_HEADER + part->rows * row_bytes};
    char header[GB_NPY_HEADER];
    gb_npy_header(part->rows, part->width, header);
    f.fd = GB_TRY_CALL(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (f.fd < 0)
        return gb_fail(status, GB_DATA, path, NULL, "cannot open: %s", strerror(errno));
    bool ok = write_at(&f, 0, header, sizeof header, status) && write_rest(&f, part, status);
    if (close(f.fd) && ok)
        ok = cannot_write(path, status);
    return ok;
}
