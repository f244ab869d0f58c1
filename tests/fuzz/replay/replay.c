/* Stands in for libFuzzer in the everyday tests, with any compiler: feeds a target the files of its
 * corpus, each whole and cut off behind each of its bytes, large ones at a thousand places. What
 * does not begin with "bad-" must be accepted whole: a corpus that its reader does not know any
 * more reaches nothing behind the first check.
 *
 *   fuzz_TARGET FOLDER */
#include <gabbro/base.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern size_t fuzz_accepted;

/* Where the sanitizers see what is read behind the end. */
static void feed(const char *data, size_t size)
{
    uint8_t *input = malloc(size ? size : 1);
    if (!input)
        abort();
    memcpy(input, data, size);
    LLVMFuzzerTestOneInput(input, size);
    free(input);
}

/* Inputs that were fed. */
static size_t feed_file(const char *folder, const char *name)
{
    gb_status failed = {0};
    size_t size;
    char *path = gb_path_join(&failed, folder, name);
    char *data = path ? gb_read_file(path, &size, &failed) : NULL;
    if (!data) {
        fprintf(stderr, "%s: %s\n", failed.where, failed.what);
        exit(1);
    }
    size_t stride = size / PLACES + 1, inputs = 1;
    size_t before = fuzz_accepted;
    feed(data, size);
    if (fuzz_accepted == before && strncmp(name, "bad-", 4) != 0) {
        fprintf(stderr, "%s is not accepted\n", name);
        exit(1);
    }
    for (size_t length = 0; length < size; length += stride, inputs++)
        feed(data, length);
    free(data);
    free(path);
    return inputs;
}

int main(int count, char **arguments)
{
    DIR *folder = count == 2 ? opendir(arguments[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "give the folder of a corpus\n");
        return 2;
    }
    size_t inputs = 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            inputs += feed_file(arguments[1], entry->d_name);
    closedir(folder);
    printf("ok - %zu inputs\n", inputs);
    return inputs ? 0 : 1;
}
