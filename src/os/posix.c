/* Linux and macOS. */
#include "gabbro/os.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif
#ifdef __APPLE__
#include <mach-o/dyld.h>
#include <xlocale.h>
#endif

extern char **environ;

/* ---- files ---- */

int gb_os_open(const char *path, int flags)
{
    if (flags != O_RDONLY)
        return open(path, flags | O_CLOEXEC, 0666);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file >= 0)
        fcntl(file, F_SETFL, O_RDONLY);
    return file;
}

FILE *gb_os_fopen(const char *path, const char *mode)
{
    char whole[8];
    snprintf(whole, sizeof whole, "%se", mode);
    if (*mode != 'r' || strchr(mode, '+'))
        return fopen(path, whole);
    int file = gb_os_open(path, O_RDONLY);
    FILE *stream = file < 0 ? NULL : fdopen(file, whole);
    if (file >= 0 && !stream)
        close(file);
    return stream;
}

int gb_os_open_input(void)
{
    return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
}

int gb_os_open_nameless(const char *path)
{
    /* Killed before it is nameless it is a draft as others are, and goes with them. */
    static const char ending[] = ".XXXXXX.draft";
    size_t length = strlen(path);
    char *name = malloc(length + sizeof ending);
    if (!name)
        return -1;
    memcpy(name, path, length);
    memcpy(name + length, ending, sizeof ending);
    int file = mkstemps(name, sizeof ".draft" - 1);
    if (file >= 0) {
        unlink(name);
        fcntl(file, F_SETFD, FD_CLOEXEC);
    }
    free(name);
    return file;
}

int64_t gb_os_read_at(int file, void *bytes, size_t size, uint64_t offset)
{
    return pread(file, bytes, size, (off_t)offset);
}

int64_t gb_os_write_at(int file, const void *bytes, size_t size, uint64_t offset)
{
    return pwrite(file, bytes, size, (off_t)offset);
}

int gb_os_keep_permissions(int file, const char *path)
{
    struct stat info;
    if (access(path, W_OK) != 0 || stat(path, &info) != 0)
        return -1;
    fchmod(file, info.st_mode & 07777); /* not on every file system, which is no error */
    return 0;
}

int gb_os_sync(int file)
{
#ifdef __APPLE__
    if (fcntl(file, F_FULLFSYNC) == 0) /* fsync stops at the disk's cache there */
        return 0;
#endif
    return fsync(file);
}

int gb_os_sync_path(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    int failed = gb_os_sync(file), error = errno;
    close(file);
    errno = error;
    return failed;
}

int gb_os_rename(const char *from, const char *to)
{
    return rename(from, to);
}

int gb_os_exchange(const char *a, const char *b)
{
#if defined(__APPLE__)
    return renamex_np(a, b, RENAME_SWAP);
#elif defined(RENAME_EXCHANGE)
    return renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
#else
    (void)a;
    (void)b;
    errno = ENOSYS;
    return -1;
#endif
}

int gb_os_make_folder(const char *path, bool is_private)
{
    return mkdir(path, is_private ? 0700 : 0777);
}

int gb_os_remove(const char *path)
{
    return remove(path);
}

int gb_os_stat_link(const char *path, struct stat *info)
{
    return lstat(path, info);
}

int gb_os_link(const char *file, const char *path)
{
    return symlink(file, path);
}

char *gb_os_real_path(const char *path)
{
    return realpath(path, NULL);
}

void gb_os_begin(int count, char **words)
{
    (void)count;
    (void)words;
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit fails, with a message */
}

bool gb_os_is_absolute(const char *path)
{
    return *path == '/';
}

static void *use_locale(locale_t locale)
{
    return locale ? uselocale(locale) : NULL;
}

void *gb_os_utf8_begin(void)
{
    return use_locale(newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0));
}

void *gb_os_c_locale_begin(void)
{
    return use_locale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

void gb_os_locale_end(void *before)
{
    if (before)
        freelocale(uselocale(before));
}

int gb_os_lock(int file)
{
    return flock(file, LOCK_EX | LOCK_NB);
}

bool gb_os_is_at(int file, const char *path)
{
    struct stat held, named;
    return fstat(file, &held) == 0 && stat(path, &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

int gb_os_room(const char *path, uint64_t *bytes)
{
    struct statvfs room;
    if (statvfs(path, &room) != 0)
        return -1;
    *bytes = (uint64_t)room.f_bavail * room.f_frsize;
    return 0;
}

const void *gb_os_map(int file, size_t size)
{
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

void gb_os_unmap(const void *bytes, size_t size)
{
    munmap((void *)(uintptr_t)bytes, size);
}

/* ---- processes ---- */

int gb_os_pipe(int ends[2])
{
#ifdef __linux__
    return pipe2(ends, O_CLOEXEC);
#else
    if (pipe(ends) != 0)
        return -1;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return 0;
#endif
}

/* Whether one of the variables, NAME=VALUE, has the name of `variable`. */
static bool has_name_of(const char *const *variables, const char *variable)
{
    size_t name = strcspn(variable, "=") + 1;
    for (; variables && *variables; variables++)
        if (!strncmp(variable, *variables, name))
            return true;
    return false;
}

/* The environment with more in it, which replaces what had the same name, as the later of two in
 * `more` does; its words are borrowed. */
static char **environment_with(const char *const *more)
{
    size_t count = 0, extra = 0, kept = 0;
    while (environ[count])
        count++;
    while (more && more[extra])
        extra++;
    char **all = malloc((count + extra + 1) * sizeof *all);
    for (size_t i = 0; all && i < count; i++)
        if (!has_name_of(more, environ[i]))
            all[kept++] = environ[i];
    for (size_t j = 0; all && j < extra; j++)
        if (!has_name_of(more + j + 1, more[j]))
            all[kept++] = (char *)(uintptr_t)more[j];
    if (all)
        all[kept] = NULL;
    return all;
}

/* In the child: becomes the program, or says through the pipe why not. */
static _Noreturn void become(const gb_os_command *command, const char *program, char **environment,
                             pid_t parent, int trouble)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(128 + SIGTERM);
#else
    (void)parent;
#endif
    signal(SIGPIPE, SIG_DFL);
    if (command->apart) {
        int nothing = gb_os_open("/dev/null", O_RDONLY);
        setpgid(0, 0);
        dup2(nothing, STDIN_FILENO);
    }
    if (command->output >= 0)
        dup2(command->output, STDOUT_FILENO);
    if (command->errors >= 0)
        dup2(command->errors, STDERR_FILENO);
    environ = environment;
    execvp(program, (char *const *)(uintptr_t)command->words);
    int error = errno;
    ssize_t told = write(trouble, &error, sizeof error);
    _exit(told == sizeof error ? 127 : 126);
}

int gb_os_start(const gb_os_command *command, gb_os_process *process)
{
    char self[PATH_MAX];
    const char *program = command->program ? command->program : self;
    int trouble[2], error = 0;
    *process = (gb_os_process){0};
    if (!command->program && !gb_os_program(self, sizeof self)) {
        errno = ENOENT;
        return -1;
    }
    char **environment = environment_with(command->environment);
    if (!environment || gb_os_pipe(trouble) != 0) {
        free(environment);
        return -1;
    }
    struct sigaction children;
    if (sigaction(SIGCHLD, NULL, &children) == 0 && children.sa_handler == SIG_IGN)
        signal(SIGCHLD, SIG_DFL); /* inherited; nobody could learn that a child has ended */
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        become(command, program, environment, parent, trouble[1]);
    if (child < 0)
        error = errno;
    free(environment);
    close(trouble[1]);
    /* The pipe is closed by a program that runs. */
    ssize_t got = 0;
    while (child > 0 && (got = read(trouble[0], &error, sizeof error)) < 0 && errno == EINTR)
        ;
    close(trouble[0]);
    if (child > 0 && got == sizeof error)
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    if (error) {
        errno = error;
        return -1;
    }
    process->id = child;
    return 0;
}

bool gb_os_ended(gb_os_process *process, bool wait, int *code)
{
    int how;
    pid_t ended;
    do
        ended = waitpid((pid_t)process->id, &how, wait ? 0 : WNOHANG);
    while (ended < 0 && errno == EINTR);
    if (ended != (pid_t)process->id)
        return false;
    *code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    return true;
}

void gb_os_stop(const gb_os_process *process)
{
    kill((pid_t)process->id, SIGTERM);
}

/* A launcher that gets SIGTERM kills what it started, soon. */
void gb_os_stop_launched(const gb_os_process *launcher)
{
    kill((pid_t)launcher->id, SIGUSR1);
}

void gb_os_kill(const gb_os_process *process)
{
    kill((pid_t)process->id, SIGKILL);
}

void gb_os_kill_this(void)
{
    kill(getpid(), SIGKILL);
}

int64_t gb_os_read_now(int pipe, void *bytes, size_t size)
{
    struct pollfd ready = {.fd = pipe, .events = POLLIN};
    if (poll(&ready, 1, 0) > 0)
        return read(pipe, bytes, size);
    errno = EAGAIN;
    return -1;
}

bool gb_os_reader_gone(int file)
{
    struct pollfd end = {.fd = file, .events = POLLOUT};
    return poll(&end, 1, 0) > 0 && end.revents & POLLERR;
}

bool gb_os_input_there(int file)
{
    enum { A_WHILE_MS = 500 }; /* a signal may come before the wait begins */
    struct pollfd end = {.fd = file, .events = POLLIN};
    return poll(&end, 1, A_WHILE_MS) > 0;
}

void gb_os_wait(const int *pipes, size_t count, int most_ms)
{
    enum { MOST = 512 };
    struct pollfd ends[MOST];
    if (count > MOST)
        count = MOST;
    for (size_t i = 0; i < count; i++)
        ends[i] = (struct pollfd){.fd = pipes[i], .events = POLLIN};
    poll(ends, (nfds_t)count, most_ms);
}

int gb_os_set_variable(const char *name, const char *value)
{
    return value ? setenv(name, value, 1) : unsetenv(name);
}

bool gb_os_program(char *path, size_t size)
{
#ifdef __APPLE__
    uint32_t room = (uint32_t)size;
    return _NSGetExecutablePath(path, &room) == 0;
#else
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    return true;
#endif
}

void *gb_os_function(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    return handle ? dlsym(handle, name) : NULL;
}

void gb_os_on_stop(void (*stop)(int))
{
    struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    /* A terminal that is closed; nohup has it ignored. */
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    action.sa_flags |= (int)SA_RESETHAND;
    sigaction(SIGINT, &action, NULL);
    action.sa_handler = SIG_IGN;
    action.sa_flags = 0;
    sigaction(SIGPIPE, &action, NULL);
}

/* ---- the machine ---- */

uint32_t gb_os_processors(void)
{
#ifdef CPU_COUNT
    cpu_set_t own; /* fewer than the machine's by taskset, in a container or in a batch job */
    if (sched_getaffinity(0, sizeof own, &own) == 0 && CPU_COUNT(&own) > 0)
        return (uint32_t)CPU_COUNT(&own);
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN); /* also where a set cannot name them all */
    return online > 0 ? (uint32_t)online : 1;
}

double gb_os_load(void)
{
    double load;
    return getloadavg(&load, 1) == 1 ? load : 0;
}

uint64_t gb_os_peak_bytes(void)
{
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used) != 0)
        return 0;
#ifdef __APPLE__
    return (uint64_t)used.ru_maxrss;
#else
    return (uint64_t)used.ru_maxrss * 1024;
#endif
}

unsigned gb_os_columns(void)
{
    struct winsize window = {0};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
}

/* The processor's name as Linux gives it. */
static void read_processor(char *name, size_t size)
{
    char line[300];
    FILE *in = fopen("/proc/cpuinfo", "r");
    while (in && !*name && fgets(line, sizeof line, in)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(name, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
    }
    if (in)
        fclose(in);
}

void gb_os_facts_read(gb_os_facts *facts)
{
    struct utsname system;
    *facts = (gb_os_facts){0};
    if (uname(&system) == 0) {
        snprintf(facts->system, sizeof facts->system, "%s", system.sysname);
        snprintf(facts->release, sizeof facts->release, "%s", system.release);
        snprintf(facts->architecture, sizeof facts->architecture, "%s", system.machine);
        snprintf(facts->host, sizeof facts->host, "%s", system.nodename);
    }
    read_processor(facts->processor, sizeof facts->processor);
    if (!*facts->processor)
        snprintf(facts->processor, sizeof facts->processor, "%s", facts->architecture);
#ifdef __GLIBC__
    snprintf(facts->libc, sizeof facts->libc, "glibc %s", gnu_get_libc_version());
#endif
}
