/* What systems do differently: files, locks, processes, signals and what is known of the machine.
 * The other modules are written for C11 and for what POSIX and mingw-w64 have in common; everything
 * else is asked for here. posix.c is for Linux and macOS, windows*.c for Windows, where HOME and
 * TMPDIR are set at the beginning if they are not.
 *
 * Functions that return int give 0 or more, or -1 and errno. Paths are UTF-8 with '/' between their
 * parts, also on Windows. */
#ifndef GABBRO_OS_H
#define GABBRO_OS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#ifndef EDQUOT
#define EDQUOT ENOSPC /* Windows tells no quota from a full disk */
#endif

/* ---- files ---- */

/* open() for bytes, closed in processes that this one starts; flags: O_RDONLY, O_CREAT ... Whoever
 * has it open does not keep others from removing or replacing the file. To read a named pipe it
 * does not wait for a writer, but gb_os_input_there does. */
int gb_os_open(const char *path, int flags);
/* fopen() of the same kind. */
FILE *gb_os_fopen(const char *path, const char *mode);
/* The standard input once more, for somebody who closes it. */
int gb_os_open_input(void);
/* An empty file that is gone when it is closed, and has no name until then (on Windows it has);
 * beside `path`. */
int gb_os_open_nameless(const char *path);
/* Reads or writes at a place; how many bytes, or -1. */
int64_t gb_os_read_at(int file, void *bytes, size_t size, uint64_t offset);
int64_t gb_os_write_at(int file, const void *bytes, size_t size, uint64_t offset);
/* Gives an open file the permissions of the one at a path, which it is to replace. -1 and EACCES:
 * that one may not be written. */
int gb_os_keep_permissions(int file, const char *path);
/* Brings a file's bytes to the disk. */
int gb_os_sync(int file);
/* The same for the file at a path, or the names in a folder (where systems need to be told). */
int gb_os_sync_path(const char *path);
/* Moves a file or folder; a file takes the place of one that stood there, in one instant. */
int gb_os_rename(const char *from, const char *to);
/* Exchanges two names in one instant. Many file systems cannot. */
int gb_os_exchange(const char *a, const char *b);
/* Makes a folder; one that is private can be read by its owner only. */
int gb_os_make_folder(const char *path, bool is_private);
/* Removes a file, a link or an empty folder. */
int gb_os_remove(const char *path);
/* stat() of a link itself. */
int gb_os_stat_link(const char *path, struct stat *info);
/* Makes a link at `path` to a file or folder; a copy where links need rights. */
int gb_os_link(const char *file, const char *path);
/* The whole path behind links, which the caller frees; NULL and errno if there is nothing. */
char *gb_os_real_path(const char *path);
/* What a program begins with: a write beyond the limit of a file's size fails instead of ending the
 * process, and '/' is written for every other mark between the parts of a path, in those words
 * [count] of the command line that name something in a folder that is there. */
void gb_os_begin(int count, char **words);
/* Whether a path is the same from every folder. */
bool gb_os_is_absolute(const char *path);
/* From here to gb_os_locale_end, libraries that ask the locale take this thread's names of files
 * for UTF-8, too; gives what the end takes. */
void *gb_os_utf8_begin(void);
/* From here to gb_os_locale_end, this thread is in the locale "C", whatever the program has set:
 * numbers have a decimal point. */
void *gb_os_c_locale_begin(void);
void gb_os_locale_end(void *before); /* of either */
/* Takes the lock of an open file, which ends with the descriptor or the process; EWOULDBLOCK where
 * another process has it. */
int gb_os_lock(int file);
/* Whether what is open is what stands at a path now. */
bool gb_os_is_at(int file, const char *path);
/* Bytes that the disk below a path has room for. */
int gb_os_room(const char *path, uint64_t *bytes);
/* The first bytes of a file as memory that can be read; NULL and errno. size > 0. */
const void *gb_os_map(int file, size_t size);
void gb_os_unmap(const void *bytes, size_t size);

/* ---- processes ---- */

/* What is to be started. */
typedef struct gb_os_command {
    const char *program;      /* path, or a name to be looked for; NULL: this program */
    const char *const *words; /* its name and its arguments, up to a NULL */
    const char *const
        *environment;   /* NAME=VALUE beside those of this process, up to NULL; or NULL */
    int output, errors; /* descriptors for its stdout and stderr; -1: those of this process */
    bool apart; /* no terminal's Ctrl-C and input reach it (not on Windows, which has no ranks) */
} gb_os_command;

typedef struct gb_os_process {
    int64_t id;    /* its number; 0: none */
    void *handles; /* of Windows */
} gb_os_process;

enum { GB_OS_KILLED = 137 }; /* exit code of a process that was killed: 128 and the signal 9 */

/* Starts it; it is asked to stop, or killed, when this process dies (not on macOS). Fails where the
 * program cannot be run. */
int gb_os_start(const gb_os_command *command, gb_os_process *process);
/* Whether it has ended; with `wait` it is waited for. *code: its exit code, or 128 and the signal
 * that ended it. It is asked once at most behind the end. */
bool gb_os_ended(gb_os_process *process, bool wait, int *code);
/* Asks it to stop, as gb_os_on_stop hears it. */
void gb_os_stop(const gb_os_process *process);
/* Has a launcher pass on to what it started that it should stop. */
void gb_os_stop_launched(const gb_os_process *launcher);
void gb_os_kill(const gb_os_process *process);
/* Ends this process at once, without any cleaning up. */
void gb_os_kill_this(void);
/* Ends of a pipe, [0] to read; closed in other processes than those that get them. */
int gb_os_pipe(int ends[2]);
/* Reads what is in a pipe without waiting: bytes, 0 at its end, -1 and EAGAIN where it is empty. */
int64_t gb_os_read_now(int pipe, void *bytes, size_t size);
/* Whether an open file is a pipe whose reader has gone. */
bool gb_os_reader_gone(int file);
/* Whether a read of an open file would not wait; waits for that itself until a signal comes, or a
 * while, so that the caller can look whether it is to stop. */
bool gb_os_input_there(int file);
/* Waits until one of pipes [count] has something, a signal came, or so long. */
void gb_os_wait(const int *pipes, size_t count, int most_ms);
/* Gives a variable of the environment another value; NULL: none. */
int gb_os_set_variable(const char *name, const char *value);
/* Path of the running program. */
bool gb_os_program(char *path, size_t size);
/* A function of a library that may not be there; the library stays open. NULL if there is none. */
void *gb_os_function(const char *library, const char *name);
/* Calls `stop` (which only sets a flag) when the process is asked to stop; a second Ctrl-C ends it
 * at once. A closed pipe is a failed write from now on. */
void gb_os_on_stop(void (*stop)(int));

/* ---- sums of bytes ---- */

typedef enum gb_os_sum_kind { GB_OS_SHA256, GB_OS_MD5 } gb_os_sum_kind;
enum { GB_OS_SUM_BYTES = 32 }; /* of the longest sum */

typedef struct gb_os_sum gb_os_sum; /* of bytes that come one after another */

void gb_os_sha256(const void *bytes, size_t size, unsigned char sum[GB_OS_SUM_BYTES]);
/* NULL and errno: ENOMEM, or ENOSYS where the machine's rules refuse sums of the kind. */
gb_os_sum *gb_os_sum_begin(gb_os_sum_kind kind);
void gb_os_sum_add(gb_os_sum *sum, const void *bytes, size_t size);
/* How many bytes the sum has; it is freed. */
size_t gb_os_sum_end(gb_os_sum *sum, unsigned char bytes[GB_OS_SUM_BYTES]);
/* Frees one whose sum nobody wants; NULL ok. */
void gb_os_sum_drop(gb_os_sum *sum);

/* ---- the machine ---- */

/* Processors that can be used, at least 1. */
uint32_t gb_os_processors(void);
/* Processes that wanted to run in the last minute on average; 0 where that is not known. */
double gb_os_load(void);
/* Most memory that this process had resident, in bytes; 0: unknown. */
uint64_t gb_os_peak_bytes(void);
/* Width of the terminal that stderr goes to, in columns; 0: none. */
unsigned gb_os_columns(void);

typedef struct gb_os_facts {
    char system[80];       /* "Linux" */
    char release[120];     /* its version */
    char architecture[80]; /* "x86_64" */
    char processor[200];   /* its name, or the architecture */
    char host[120];        /* name of the machine */
    char libc[80];         /* C library with its version */
} gb_os_facts;
/* What is not known is "". */
void gb_os_facts_read(gb_os_facts *facts);

#endif
