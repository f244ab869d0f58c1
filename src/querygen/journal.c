/* A file of lines that are done in any order, each once: what a killed process had finished is
 * there for the next one. */
#include "gabbro/querygen.h"
#include "gabbro/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOWHERE UINT64_MAX /* no line yet */

struct gb_journal {
    char *path;       /* the file */
    FILE *file;       /* open for appending and reading */
    uint64_t *places; /* [rows] where a line begins, or NOWHERE */
    uint32_t rows;    /* rows there may be */
    uint32_t count;   /* rows with a line */
    uint64_t end;     /* length of the file */
    char *line;       /* last one read */
    size_t space;     /* its capacity */
};

static bool fail_file(const gb_journal *j, const char *what, gb_status *status)
{
    return gb_fail(status, GB_DATA, j->path, "check the disk and the permissions", "cannot %s: %s",
                   what, strerror(errno));
}

/* Take the lines of an earlier process. A last one without its end was being written. */
static bool read_lines(gb_journal *j, gb_status *status)
{
    int64_t length;
    bool cut = false;
    errno = 0;
    while ((length = gb_read_line(j->file, &j->line, &j->space)) > 0) {
        if ((cut = j->line[length - 1] != '\n'))
            break;
        char *end;
        unsigned long row = strtoul(j->line, &end, 10);
        if (end == j->line || *end != '\t' || row >= j->rows || j->places[row] != NOWHERE)
            return gb_fail(status, GB_DATA, j->path, "remove the folder it lies in",
                           "the list of finished work is damaged at byte %llu",
                           (unsigned long long)j->end);
        j->places[row] = j->end;
        j->end += (uint64_t)length;
        j->count++;
    }
    if (ferror(j->file) || (!cut && !feof(j->file))) /* or short of memory: nothing may be cut */
        return errno == ENOMEM ? gb_fail_memory(status, "reading finished work")
                               : fail_file(j, "read", status);
    if (GB_TRY_CALL(ftruncate(fileno(j->file), (off_t)j->end)) != 0)
        return fail_file(j, "cut", status);
    return true;
}

gb_journal *gb_journal_open(const char *path, uint32_t rows, gb_status *status)
{
    gb_journal *j = gb_alloc(1, sizeof *j, status);
    if (!j)
        return NULL;
    j->rows = rows;
    j->path = gb_strdup(path, status);
    j->places = j->path ? gb_alloc(rows, sizeof *j->places, status) : NULL;
    bool ok = j->places != NULL;
    for (uint32_t i = 0; ok && i < rows; i++)
        j->places[i] = NOWHERE;
    if (ok && !(j->file = GB_TRY_OPEN(gb_os_fopen(path, "a+"))))
        ok = fail_file(j, "open", status);
    if (ok && read_lines(j, status))
        return j;
    gb_journal_close(j);
    return NULL;
}

void gb_journal_close(gb_journal *j)
{
    if (!j)
        return;
    if (j->file)
        fclose(j->file);
    free(j->path);
    free(j->places);
    free(j->line);
    free(j);
}

uint32_t gb_journal_count(const gb_journal *j)
{
    return j->count;
}

bool gb_journal_has(const gb_journal *j, uint32_t row)
{
    return row < j->rows && j->places[row] != NOWHERE;
}

bool gb_journal_add(gb_journal *j, uint32_t row, const char *line, gb_status *status)
{
    if (row >= j->rows || gb_journal_has(j, row) || strchr(line, '\n'))
        return gb_fail(status, GB_INTERNAL, j->path, NULL, "row %u of %u cannot be noted", row,
                       j->rows);
    int length = fprintf(j->file, "%u\t%s\n", row, line);
    if (length < 0 || GB_TRY_CALL(fflush(j->file)) != 0)
        return fail_file(j, "write", status);
    j->places[row] = j->end;
    j->end += (uint64_t)length;
    j->count++;
    return true;
}

const char *gb_journal_line(gb_journal *j, uint32_t row, gb_status *status)
{
    if (!gb_journal_has(j, row)) {
        gb_fail(status, GB_INTERNAL, j->path, NULL, "row %u has no line", row);
        return NULL;
    }
    if (fseeko(j->file, (off_t)j->places[row], SEEK_SET) != 0 ||
        gb_read_line(j->file, &j->line, &j->space) <= 0) {
        fail_file(j, "read", status);
        return NULL;
    }
    j->line[strcspn(j->line, "\n")] = '\0';
    return strchr(j->line, '\t') + 1;
}
