/* Shows how far the making of tables is. */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double number(const repro_node *node, const char *option)
{
    repro_word word = repro_node_option(node, option);
    return word.text && !word.node ? strtod(word.text, NULL) : 0;
}

/* Texts that a training sees. A pre-training with a context has two for each of its batch. */
static double pretrain_texts_of(const repro_node *node)
{
    repro_word context = repro_node_option(node, "--context");
    int sides = context.text && strcmp(context.text, "none") != 0 ? 2 : 1;
    return number(node, "--steps") * number(node, "--batch") * sides;
}

static void kind_name(const repro_node *node, char name[64])
{
    const char *command = node->words[0].text;
    bool objective = !strcmp(command, "pretrain") && node->count > 1;
    snprintf(name, 64, "%.24s%s%.24s", command, objective ? "-" : "",
             objective ? node->words[1].text : "");
}

static repro_kind *kind_of(repro_progress *progress, const repro_node *node)
{
    char name[64] = "";
    kind_name(node, name);
    size_t most = sizeof progress->kinds / sizeof *progress->kinds;
    for (size_t i = 0; i < progress->count; i++)
        if (!strcmp(progress->kinds[i].name, name) || i + 1 == most)
            return &progress->kinds[i];
    repro_kind *kind = &progress->kinds[progress->count++];
    *kind = (repro_kind){0};
    memcpy(kind->name, name, sizeof name);
    return kind;
}

void repro_progress_expect(repro_progress *progress, const repro_node *node)
{
    repro_kind *kind = kind_of(progress, node);
    kind->texts =
        (kind->texts * (double)kind->total + pretrain_texts_of(node)) / (double)(kind->total + 1);
    kind->total++;
}

void repro_progress_note(repro_progress *progress, const repro_node *node, double seconds,
                         double now_seconds)
{
    repro_kind *kind = kind_of(progress, node);
    /* To find an artifact takes a moment, and so does it to make a small one. */
    progress->made = progress->made || (seconds >= 1 && now_seconds >= seconds / 2);
    kind->made++;
    kind->seconds += seconds;
}

void repro_progress_text(const repro_progress *progress, uint32_t jobs, char text[96])
{
    size_t total = 0, made = 0;
    double seconds = 0, seconds_of_texts = 0, texts = 0, rest = 0;
    bool guess = false; /* trainings are left, and none has shown how long one takes */
    for (size_t i = 0; i < progress->count; i++) {
        const repro_kind *kind = &progress->kinds[i];
        total += kind->total;
        made += kind->made;
        seconds += kind->seconds;
        if (kind->texts > 0) {
            seconds_of_texts += kind->seconds;
            texts += kind->texts * (double)kind->made;
        }
    }
    for (size_t i = 0; made && i < progress->count; i++) {
        const repro_kind *kind = &progress->kinds[i];
        double each = seconds / (double)made;
        guess = guess || (kind->made < kind->total && kind->texts > 0 && texts <= 0);
        if (kind->made)
            each = kind->seconds / (double)kind->made;
        else if (kind->texts > 0 && texts > 0)
            each = kind->texts * seconds_of_texts / texts;
        rest += (double)(kind->total - kind->made) * each;
    }
    int length = snprintf(text, 96, "%zu of %zu artifacts", made, total);
    if (!progress->made || made == total || guess)
        return;
    int minutes = (int)(rest / jobs / 60 + .5);
    if (minutes)
        snprintf(text + length, 96 - (size_t)length, ", about %d minute%s left", minutes,
                 minutes == 1 ? "" : "s");
    else
        snprintf(text + length, 96 - (size_t)length, ", less than a minute left");
}

void repro_progress_count(const repro_progress *progress, size_t *made, size_t *all)
{
    *made = *all = 0;
    for (size_t i = 0; i < progress->count; i++) {
        *made += progress->kinds[i].made;
        *all += progress->kinds[i].total;
    }
}

double repro_progress_usual(const repro_progress *progress, const repro_node *node)
{
    char name[64];
    kind_name(node, name);
    for (size_t i = 0; i < progress->count; i++)
        if (!strcmp(progress->kinds[i].name, name) && progress->kinds[i].made)
            return progress->kinds[i].seconds / (double)progress->kinds[i].made;
    return NAN;
}
