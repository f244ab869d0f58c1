/* Base module: status and messages, the log, memory, random numbers, hashing, files and progress.
 * Every other module includes this header; this one includes none of them. */
#ifndef GABBRO_BASE_H
#define GABBRO_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- status ---- */

/* Kinds of failure; the numbers are the exit codes of the program. */
typedef enum gb_code {
    GB_OK = 0,
    GB_MISMATCH = 1,     /* the command ran, and a check did not hold */
    GB_USAGE = 2,        /* wrong command line or setting */
    GB_DATA = 3,         /* files: missing, damaged, wrong shape, unwritable, disk full */
    GB_DEVICE = 4,       /* no Vulkan device, device lost, unsupported */
    GB_MEMORY = 5,       /* host or device memory */
    GB_INTERNAL = 70,    /* a bug in Gabbro */
    GB_INTERRUPTED = 75, /* stopped by a signal; run again to resume */
    GB_BUSY = 76,        /* another process is making this artifact, and --no-wait was given */
} gb_code;

/* What went wrong, where, and what to do. Owned by the caller, filled by the failing function.
 * Convention: a function that can fail takes `gb_status *status` last and returns false (or NULL)
 * after gb_fail(); on failure its outputs are unchanged or safe to destroy. */
typedef struct gb_status {
    gb_code code;    /* GB_OK until something failed */
    char what[400];  /* what went wrong, one sentence */
    char where[300]; /* file:line of the input, tensor, device ... or empty */
    char hint[300];  /* what to do about it, or empty */
} gb_status;

/* Fills status, which may be NULL, and returns false. where and hint may be NULL. */
bool gb_fail(gb_status *status, gb_code code, const char *where, const char *hint, const char *fmt,
             ...) __attribute__((format(printf, 5, 6)));
/* Reports a lack of host memory while doing `what`. Returns false. */
bool gb_fail_memory(gb_status *status, const char *what);
/* Prints "gabbro: where: what (hint)" as one line on stderr. */
void gb_status_print(const gb_status *status);

/* ---- log ---- */

typedef enum gb_log_level {
    GB_LOG_NONE = -1, /* nothing at all: the library's */
    GB_LOG_ERROR,
    GB_LOG_OWN,  /* a warning that is about this process alone, such as its device: of several that
                    run one command each says its own */
    GB_LOG_WARN, /* one that all of them have: the first says it */
    GB_LOG_INFO,
    GB_LOG_DEBUG,
} gb_log_level;
/* Verbosity of the process (default GB_LOG_INFO; --quiet sets GB_LOG_WARN). */
void gb_log_set_level(gb_log_level level);
gb_log_level gb_log_get_level(void);
/* Prints one line on stderr if the level is at or below the verbosity. */
void gb_log(gb_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- faults ---- */

/* Fault injection for tests: one allocation, file operation or Vulkan call of the process reports
 * failure without being tried. `GABBRO_FAIL_AT=n gabbro ...` arms the n-th one. If none is armed,
 * the check costs one branch. */
typedef enum gb_fault_kind {
    GB_FAULT_NONE,
    GB_FAULT_MEMORY, /* the command must end with GB_MEMORY */
    GB_FAULT_FILE,   /* the command must end with GB_DATA */
    GB_FAULT_VULKAN, /* out of device memory: GB_MEMORY */
} gb_fault_kind;
void gb_fault_arm(uint64_t n);     /* arms the n-th operation from here; 0: none */
bool gb_fault(gb_fault_kind kind); /* counts an operation; true: it must fail */
uint64_t gb_fault_left(void);      /* operations up to the armed one; 0: it has failed */
gb_fault_kind gb_fault_seen(void); /* what has failed since gb_fault_arm */
/* Counts a call that returns -1, or NULL, and sets errno when it fails. */
#define GB_TRY_CALL(call) (gb_fault(GB_FAULT_FILE) ? (errno = EIO, -1) : (call))
#define GB_TRY_OPEN(call) (gb_fault(GB_FAULT_FILE) ? (errno = EIO, NULL) : (call))

/* ---- memory ---- */

/* Allocates count * size zeroed bytes, with a check for overflow; count 0 gives 1 byte. NULL and
 * status on failure; the caller frees. */
void *gb_alloc(size_t count, size_t size, gb_status *status);
/* Grows *array, which has *capacity elements of `size` bytes, to hold `need`; keeps the contents.
 */
bool gb_grow(void *array, size_t *capacity, size_t need, size_t size, gb_status *status);
void gb_sort_doubles(double *values, size_t count); /* ascending; no NaN among them */
/* Sorts items [count] of `size` bytes each, by less than 0, 0 or more as in qsort. compare must not
 * call two different items equal: which one comes first is not said. */
void gb_sort(void *items, size_t count, size_t size,
             int (*compare)(const void *a, const void *b, void *context), void *context);
char *gb_strdup(const char *text, gb_status *status);
/* Walks through the words of a list such as "a,b": gives the word that *list points to and its
 * length, and moves *list behind the separator. NULL at the end; "a," has one word. */
const char *gb_next_word(const char **list, char separator, size_t *length);
/* Cuts the part of *rest off that ends before any of separators, and moves *rest behind it. NULL
 * when *rest is NULL, as it is behind the last part; "a," has two parts. */
char *gb_take_field(char **rest, const char *separators);
/* Where bytes [size] begin in others [length]; NULL: nowhere. */
const char *gb_find_bytes(const char *in, size_t length, const char *bytes, size_t size);
/* Whether a text contains a word, whose A-Z may be a-z and the reverse. */
bool gb_contains_word(const char *text, const char *word);
/* Whether a text is what a pattern says: * any bytes, ? one, [a-z] and [!a-z] one of a set, \ the
 * next as it is (fnmatch of POSIX without flags, for bytes). */
bool gb_matches(const char *pattern, const char *text);
/* Says whether a text of `length` bytes ends with `end`. */
bool gb_ends_with(const char *text, size_t length, const char *end);
/* malloc for a library that builds large values in many calls (jansson: json_set_alloc_funcs).
 * After one failure gb_memory_check fails, so that an incomplete value is neither written by
 * gb_out_commit nor used for a key. */
void *gb_checked_malloc(size_t bytes);
bool gb_memory_check(const char *what, gb_status *status);
void gb_memory_reset(void); /* forgets the failure; for tests, which continue */
/* printf into a new string, which the caller frees. NULL on failure. */
char *gb_format(gb_status *status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Bump arena, for many small allocations that are freed together. */
typedef struct gb_arena gb_arena;
gb_arena *gb_arena_create(size_t block_bytes, gb_status *status);
void gb_arena_destroy(gb_arena *arena);
/* 16-byte aligned, zeroed. */
void *gb_arena_alloc(gb_arena *arena, size_t bytes, gb_status *status);
char *gb_arena_strdup(gb_arena *arena, const char *text, size_t length, gb_status *status);

/* Growable text, NUL-terminated. Zero-initialise it; free it with gb_text_free. After a failed
 * append, `failed` stays true and later appends do nothing, so it is enough to check at the end. */
typedef struct gb_text {
    char *data;      /* NUL-terminated, or NULL when empty */
    size_t length;   /* bytes without the NUL */
    size_t capacity; /* bytes allocated */
    bool failed;     /* out of memory at some append */
} gb_text;
void gb_text_append(gb_text *text, const char *bytes, size_t length);
void gb_text_printf(gb_text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A word of the shell, in quotes where it needs them. */
void gb_text_shell_word(gb_text *text, const char *word);
void gb_text_free(gb_text *text);
/* The bytes of a text that goes into `out`, "" where it is empty. Where memory was short for it,
 * out has failed too. */
const char *gb_text_words(const gb_text *part, gb_text *out);
/* Appends bytes in base 64 (RFC 4648). */
void gb_base64_append(gb_text *text, const void *bytes, size_t length);
/* Bytes [*bytes] of a text in base 64; the caller frees. GB_DATA if it is not. */
unsigned char *gb_base64_read(const char *text, size_t length, size_t *bytes, gb_status *status);
/* Writes the shortest decimal that reads back as value into digits, and returns digits. */
const char *gb_format_double(double value, char digits[40]);

/* Map from byte strings to uint32 (open addressing; keys are copied). */
typedef struct gb_map gb_map;
#define GB_MAP_NONE UINT32_MAX
gb_map *gb_map_create(gb_status *status);
void gb_map_destroy(gb_map *map);
size_t gb_map_count(const gb_map *map);
bool gb_map_set(gb_map *map, const char *key, size_t length, uint32_t value, gb_status *status);
uint32_t gb_map_get(const gb_map *map, const char *key, size_t length); /* GB_MAP_NONE if absent */

/* ---- bits of numbers ---- */

uint32_t gb_float_bits(float value);
float gb_bits_float(uint32_t bits);
float gb_half_value(uint16_t half); /* IEEE 754 binary16, exactly; infinities and NaN too */
/* The nearest half, even of two; from 0x7c00 on, without the sign, the value is beyond it. */
uint16_t gb_half_of(float value);

/* ---- random numbers ---- */

/* Philox4x32-10 (Salmon et al., SC 2011): out = bijection of counter under key. The shaders in
 * shaders/common/philox.glsl give the same bits. */
void gb_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Purposes keep the random streams of one seed apart. Only append: results depend on the numbers.
 */
typedef enum gb_purpose {
    GB_RNG_WORLD = 1,    /* the mini world */
    GB_RNG_INIT = 2,     /* parameter initialisation */
    GB_RNG_ORDER = 3,    /* shuffling rows of an epoch */
    GB_RNG_MASK = 4,     /* masked language modelling */
    GB_RNG_CONTEXT = 5,  /* choice of span or query */
    GB_RNG_NEGATIVE = 6, /* choice of negatives */
    GB_RNG_DROPOUT = 7,  /* dropout masks (on the device) */
    GB_RNG_QUERYGEN = 8, /* extractive query generator */
    GB_RNG_TEST = 9,     /* tests */
    GB_RNG_SPLIT = 10,   /* splits and samples of collections */
    GB_RNG_DRAW = 11,    /* tokens drawn from a language model (on the device) */
} gb_purpose;

/* A counter-based stream keyed by (seed, purpose, step, row). No state is shared between rows, so
 * results do not depend on the order of a batch or on threads. */
typedef struct gb_rng {
    uint32_t key[2];     /* low and high half of the seed */
    uint32_t counter[4]; /* block index, step, row, purpose */
    uint32_t block[4];   /* current four outputs */
    uint32_t used;       /* outputs of block already given, 0..4 */
} gb_rng;
gb_rng gb_rng_make(uint64_t seed, gb_purpose purpose, uint32_t step, uint32_t row);
uint32_t gb_rng_u32(gb_rng *rng);
/* Uniform in [0, bound), without bias; bound >= 1. */
uint32_t gb_rng_below(gb_rng *rng, uint32_t bound);
/* Uniform in [0, 1) with 53 bits. */
double gb_rng_uniform(gb_rng *rng);
/* Normal with mean 0 and deviation 1, by Box-Muller; the same bits on every machine. */
double gb_rng_normal(gb_rng *rng);
void gb_rng_shuffle(gb_rng *rng, uint32_t *items, uint32_t count); /* Fisher-Yates */
void gb_rng_order(gb_rng *rng, uint32_t *order, uint32_t count);   /* 0 .. count - 1, shuffled */
/* max_count of `count` drawn: true for the first ones of such an order. NULL and status on failure;
 * the caller frees it. */
bool *gb_rng_choose(gb_rng *rng, uint32_t count, uint32_t max_count, gb_status *status);

/* Visits items again and again, in a new order in every epoch. */
typedef struct gb_epochs {
    uint32_t *order; /* [count] of the current epoch, owned */
    uint32_t count;  /* items; may be lowered before the first visit */
    uint32_t epoch;  /* the epoch that the order belongs to */
    uint32_t stream; /* keeps the orders of several users of one seed apart */
    uint64_t seed;   /* the orders follow from it */
} gb_epochs;
bool gb_epochs_make(gb_epochs *epochs, uint32_t count, uint64_t seed, uint32_t stream,
                    gb_status *status);
void gb_epochs_free(gb_epochs *epochs);
uint32_t gb_epochs_at(gb_epochs *epochs, uint64_t index); /* item of the index-th visit */

/* ---- hashing ---- */

/* SHA-256 of bytes as 64 lower-case hex digits and a NUL. */
#define GB_HASH_SIZE 65
void gb_hash_bytes(const void *bytes, size_t length, char hex[GB_HASH_SIZE]);
bool gb_hash_file(const char *path, char hex[GB_HASH_SIZE], gb_status *status);
/* Hashes a folder: the sorted list of "relative path, NUL, file hash" of its regular files. Links
 * are followed. */
bool gb_hash_tree(const char *path, char hex[GB_HASH_SIZE], gb_status *status);

/* ---- configuration ---- */

/* What the environment asks for: read once, where the program begins, and handed to whatever heeds
 * it, which keeps no copy, so it must outlive devices and stores. A field is NULL where its
 * variable is unset or empty; the words belong to the environment. All zero is a good default. */
typedef struct gb_config {
    const char *home;        /* HOME */
    const char *cache_home;  /* XDG_CACHE_HOME: for what can be made again; else ~/.cache */
    const char *config_home; /* XDG_CONFIG_HOME: for the user's settings; else ~/.config */
    const char *data_home;   /* XDG_DATA_HOME: for the store; else ~/.local/share */
    const char *temporary;   /* TMPDIR: for folders that the process removes itself; else /tmp */
    const char *store;       /* GABBRO_STORE: root of the store, when the caller does not say */
    const char *data;        /* GABBRO_DATA: folder of public collections and models */
    const char *hub_cache;   /* HF_HUB_CACHE: Hugging Face's cache; else HF_HOME's hub */
    const char *hub_home;    /* HF_HOME; else huggingface in the user's cache */
    const char *program;     /* GABBRO: the program that `reproduce` runs, when not itself */
    const char *tables;      /* GABBRO_TABLES: folder of published numbers, claims and records */
    const char *manifest;    /* GABBRO_MANIFEST: list of public collections */
    const char *shaders;     /* GABBRO_SHADERS: folder of kernels in source, see gb_shaders_use */
    const char *glslc;       /* GLSLC: what compiles them */
    const char *log;         /* GABBRO_LOG=debug: say more */
    const char *source;      /* commit that the program was built from, which it says itself; NULL:
                                unknown */
    const char *progress;    /* GABBRO_PROGRESS=json: say it as JSON */
    /* Devices. */
    const char *device;     /* GABBRO_DEVICE=index|name|uuid|cpu, when the caller does not say */
    const char *profile;    /* GABBRO_PROFILE=cpu|scalar|matrix|matrix-bf16: which kernels */
    const char *limits;     /* GABBRO_LIMITS=min: pretend to be the smallest device of the spec;
                               memory=8G,buffer=4G: a card of that size */
    const char *quirks;     /* GABBRO_QUIRKS=flag,-flag: workarounds forced on or off */
    const char *tune;       /* GABBRO_TUNE=on|off|0x...: which tiles products have */
    const char *selftest;   /* GABBRO_SELFTEST=off|afresh: neither test a new driver nor heed what
                               was found; afresh: forget what was found */
    const char *validation; /* GABBRO_VALIDATION=1|sync: the Khronos validation layer */
    const char *barriers;   /* GABBRO_BARRIERS=full: a barrier before every kernel */
    const char *submit_ms;  /* GABBRO_SUBMIT_MS=n: most estimated milliseconds of one submission
                               (200); 0 puts every item in its own, to name the one that hangs */
    /* Several processes: the launcher to use, and what launchers say of a process. */
    const char *mpirun;                  /* GABBRO_MPIRUN: command line */
    const char *ompi_size, *ompi_rank;   /* OMPI_COMM_WORLD_SIZE, OMPI_COMM_WORLD_RANK */
    const char *ompi_local_size;         /* OMPI_COMM_WORLD_LOCAL_SIZE */
    const char *pmi_size, *pmi_rank;     /* PMI_SIZE, PMI_RANK */
    const char *pmix_rank;               /* PMIX_RANK */
    const char *slurm_size, *slurm_rank; /* SLURM_STEP_NUM_TASKS, SLURM_PROCID */
    const char *lavapipe_threads;        /* LP_NUM_THREADS: of Mesa's CPU driver */
    /* For tests. */
    const char *fail_at; /* GABBRO_FAIL_AT=n: see gb_fault_arm */
    const char *poison;  /* GABBRO_POISON=1: activations are NaN before every run of a program */
    const char *corrupt; /* GABBRO_SPOIL=shader,shader: these write only ones */
} gb_config;
gb_config gb_config_read(void);
/* Another value, NULL or empty: none, for the field of a variable; value must outlive config. False
 * if the variable has no field. */
bool gb_config_set(gb_config *config, const char *name, const char *value);
/* A file or folder in the user's cache, caller frees; NULL where there is no such place. */
char *gb_config_cache(const gb_config *config, const char *name);
/* Give the process another value of a variable that libraries read (NULL: none). *before: what it
 * was, or NULL; caller frees. */
bool gb_environment_exchange(const char *name, const char *value, char **before, gb_status *status);

/* ---- files ---- */

/* Names in a folder that a pattern of gb_matches fits, but for those that begin with a dot, in the
 * order of their bytes. */
typedef struct gb_entries {
    char **names;    /* [count], owned */
    size_t count;    /* of names */
    size_t capacity; /* allocated */
} gb_entries;
bool gb_entries_read(const char *folder, const char *pattern, gb_entries *entries,
                     gb_status *status);
/* All names, also those that begin with a dot, but for "." and "..". */
bool gb_entries_all(const char *folder, gb_entries *entries, gb_status *status);
/* Whether a folder may be written to: it is not there, empty, or has a file `mark`, by which it is
 * known as one that was written before. GB_USAGE: no. */
bool gb_target_check(const char *target, const char *mark, gb_status *status);
void gb_entries_free(gb_entries *entries);
/* Copies the files that gb_entries_read finds in a folder into one that is made. */
bool gb_copy_files(const char *from, const char *to, gb_status *status);
/* The same, with the folders in it; `to` lies outside of `from`. */
bool gb_copy_tree(const char *from, const char *to, gb_status *status);
/* Reads a line with its end from a file into *line, which has *space bytes and grows; the caller
 * frees it. Its bytes, or -1 at the end of the file or with errno. */
int64_t gb_read_line(FILE *file, char **line, size_t *space);

char *gb_path_join(gb_status *status, const char *a, const char *b); /* a/b, caller frees */
/* Returns where the last part of a path begins; *length is its length without trailing slashes. */
const char *gb_path_name(const char *path, size_t *length);
bool gb_file_exists(const char *path);
/* Refuses a folder that is there without this file, because it is of another kind. Where there is
 * no folder, what opens the file says so. */
bool gb_file_needed(const char *folder, const char *name, const char *hint, gb_status *status);
/* Makes an empty folder gabbro-NAME-... below config->temporary, or below /tmp. The caller gives
 * the path to gb_temporary_remove. NULL and status on failure. */
char *gb_temporary_folder(const gb_config *config, const char *name, gb_status *status);
void gb_temporary_remove(char *folder); /* removes it with its contents; frees; NULL ok */
/* Finds a file that belongs to the program, such as "tables/tables.tsv": in the source tree where
 * it was built, in the prefix where it is installed (which may have been moved), or in the prefix
 * that it was configured for. The caller frees the path; NULL if there is no such file. */
char *gb_installed_file(const char *name);
bool gb_dir_exists(const char *path);
bool gb_make_dirs(const char *path, gb_status *status);   /* mkdir -p */
bool gb_remove_tree(const char *path, gb_status *status); /* rm -rf, ignores absence */
/* Reads a whole file into memory and appends a NUL. The caller frees; length may be NULL. */
char *gb_read_file(const char *path, size_t *length, gb_status *status);

/* An atomic file: it is written next to its final place, flushed, synced and renamed. Nothing is
 * visible at `path` until commit; abandon removes the draft. Errors of all writes are reported
 * once, by commit. A file that is there lends its permissions, and links to it are followed; what
 * may not be written is not replaced. A device or pipe, and the file that is the standard output
 * (/dev/stdout), is written in place. */
typedef struct gb_out gb_out;
gb_out *gb_out_open(const char *path, gb_status *status);
FILE *gb_out_stream(gb_out *out);
/* Goes back to the first byte, for a header that is known at the end; fails for what is written in
 * place, and if anything before could not be written, which rewind() would forget. */
bool gb_out_rewind(gb_out *out, gb_status *status);
bool gb_out_commit(gb_out *out, gb_status *status); /* closes and frees, also on failure */
void gb_out_abandon(gb_out *out);                   /* closes, deletes the draft, frees; NULL ok */
bool gb_write_file(const char *path, const void *bytes, size_t length, gb_status *status);
/* Writes a text; GB_MEMORY if an append had failed. */
bool gb_text_write(const gb_text *text, const char *path, gb_status *status);
bool gb_text_write_in(const gb_text *text, const char *folder, const char *name, gb_status *status);
bool gb_copy_file(const char *from, const char *to, gb_status *status); /* like gb_write_file */

/* Makes an empty folder beside path that no other process has, for gb_draft_end; what path
 * lies in must be there. Links to a folder are followed. NULL and status on failure. */
char *gb_draft_folder(const char *path, gb_status *status);
/* Moves the folder `draft` to path, on the same file system. If there is a folder at path, it is
 * removed only after the new one has taken its place; where two names cannot be exchanged
 * atomically, there is a moment without either. On failure path is as before; the draft is removed
 * if there was nothing at path, and is otherwise kept, because it may be the result of long work,
 * and named in the hint. If only the former folder cannot be removed, that is a warning. */
bool gb_replace_folder(const char *draft, const char *path, gb_status *status);
/* Ends a draft that may be NULL, and frees its name: gb_replace_folder moves it to path if `ok`,
 * else it is removed. Returns whether it was moved. */
bool gb_draft_end(char *draft, bool ok, const char *path, gb_status *status);

/* What parts the words of a line, such as those of a run; ids have none of it. */
#define GB_BLANKS " \t\r\n\v\f"

/* Why an id cannot stand in a run: "is empty", "has a blank or a tab" or, of a query, "begins with
 * #", where a comment begins (trec_eval reads runs so too). NULL if it can. */
const char *gb_id_fault(const char *id, bool is_query);

/* Bytes of a plain, gzip or zstd file, told apart by content (zstd where the program was built with
 * libzstd). */
typedef struct gb_unpack gb_unpack;
gb_unpack *gb_unpack_open(const char *path, gb_status *status);
/* Up to `size` bytes: how many, 0 at the end, -1 with status. A file cut inside packed data is an
 * error. */
int64_t gb_unpack_read(gb_unpack *unpack, void *bytes, size_t size, gb_status *status);
/* Bytes of the file, as it is packed: how many were read; of how many, 0 where that is unknown. */
void gb_unpack_place(const gb_unpack *unpack, uint64_t *read, uint64_t *of);
void gb_unpack_close(gb_unpack *unpack); /* NULL ok */
/* Length of a file name without .gz or .zst. */
size_t gb_unpack_stem(const char *name);
/* *path becomes folder/name, folder/name.gz or folder/name.zst, whichever exists, or NULL; the
 * caller frees it. False only on lack of memory. */
bool gb_unpack_find(const char *folder, const char *name, char **path, gb_status *status);

/* Lines of such a file, for TSV, JSONL, qrels. They have
 * no end-of-line; "\r\n" is accepted, and UTF-8's byte order mark before the first. A file cut
 * inside gzip data is an error. */
typedef struct gb_lines gb_lines;
gb_lines *gb_lines_open(const char *path, gb_status *status);
/* Returns 1 and a line, which is valid until the next call; 0 at the end; -1 on an error. */
int gb_lines_next(gb_lines *lines, char **line, size_t *length, gb_status *status);
/* The same, but skips empty lines, and fails on a line that is not UTF-8 or contains a NUL. */
int gb_lines_next_text(gb_lines *lines, char **line, size_t *length, gb_status *status);
uint64_t gb_lines_number(const gb_lines *lines); /* 1-based number of the last line given */
const char *gb_lines_path(const gb_lines *lines);
void gb_lines_place(const gb_lines *lines, uint64_t *read, uint64_t *of); /* as gb_unpack_place */
/* Whether an id of the last line can stand in a run (gb_id_fault); GB_DATA with its place: it
 * cannot. */
bool gb_lines_check_id(const gb_lines *lines, const char *id, bool is_query, gb_status *status);
/* Fails with "path:line" of the last line as the place; lines may be NULL. Returns false. */
bool gb_lines_fail(const gb_lines *lines, gb_status *status, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void gb_lines_close(gb_lines *lines);
/* Length of the well-formed sequence at s, of which n bytes are left, or 0. Ranges: Unicode, table
 * 3-7. */
size_t gb_utf8_step(const unsigned char *s, size_t n);
bool gb_utf8_valid(const char *bytes, size_t length); /* strict: no overlong, no surrogates */

/* ---- time, signals, progress ---- */

/* Date and time of now as 2026-01-31T12:00:00Z. */
#define GB_DATE 32
void gb_date_now(char date[GB_DATE]);

double gb_now_s(void);         /* monotonic seconds */
void gb_install_signals(void); /* SIGINT, SIGTERM, SIGUSR1 ask long jobs to save and stop */
bool gb_interrupted(void);
/* Whether work goes on: GB_INTERRUPTED where a signal asks to stop. where may be NULL. */
bool gb_not_interrupted(const char *where, gb_status *status);
/* Waits until a read of an open file would not wait. GB_INTERRUPTED, with `where` as the place: it
 * is to stop. */
bool gb_wait_for_input(int file, const char *where, gb_status *status);
/* In the calling thread gb_interrupted() is what over(self) says, whatever signals came: for work
 * that is still done after one. NULL: the signals again. */
void gb_stop_when(bool (*over)(void *self), void *self);

/* Does work(part) for `count` parts of `size` bytes each, the first of them here and every other in
 * a thread of its own; one whose thread does not start is done here, too. Returns when all are
 * done. */
void gb_run_parts(void *(*work)(void *part), void *parts, size_t size, uint32_t count);

/* Forms of what a process says on stderr. */
typedef enum gb_say_form {
    GB_SAY_TEXT, /* for people */
    GB_SAY_JSON, /* an object a line: progress, messages, the failure (--progress json) */
} gb_say_form;
void gb_say_set_form(gb_say_form form); /* of this process */
gb_say_form gb_say_get_form(void);
/* A member of such an object. */
typedef struct gb_say_member {
    const char *name; /* of it */
    const char *text; /* value, or NULL: it is the number */
    double number;    /* value; NAN is written as null */
} gb_say_member;
/* Writes {"event": EVENT, ...} as a line to stderr, with the members [count] whose text is not "".
 * Text that is no UTF-8 is mended. */
void gb_say_event(const char *event, const gb_say_member *members, size_t count);
/* Writes a line of text to stderr as it is, or as the text of an event "message". */
void gb_say_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Shows the progress of a long job on stderr: one line that is rewritten on a terminal, a line now
 * and then in a log, nothing with --quiet. */
typedef struct gb_progress {
    const char *label; /* what is being done, e.g. "pretrain cotmae/query" */
    const char *unit;  /* "steps", "passages" */
    uint64_t total;    /* units in all; 0: unknown */
    double start_s;    /* set by begin */
    double shown_s;    /* last time shown */
    uint64_t first;    /* units done before begin (resumed) */
    bool terminal;     /* stderr is a terminal */
} gb_progress;
void gb_progress_begin(gb_progress *progress, const char *label, const char *unit, uint64_t total,
                       uint64_t done);
/* note: a few words behind the numbers, or NULL. */
void gb_progress_update(gb_progress *progress, uint64_t done, const char *note);
void gb_progress_end(gb_progress *progress, uint64_t done, const char *note);
/* The end of a job that is often short: in text nothing is said where nothing was shown. */
void gb_progress_end_long(gb_progress *progress, uint64_t done);
/* Instead of an end: leaves a terminal as it was. */
void gb_progress_clear(const gb_progress *progress);

#endif
