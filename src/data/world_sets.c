/* The sets of the mini world besides main.
 *
 * Numbers of the beir-* sets, and where they come from: the real sets' means of positives a
 * question, words a question and words a text (the table of sets of the BEIR paper, arXiv
 * 2104.08663), as far as a world of 300 to 600 texts and texts of at most some 50 tokens can follow
 * them.
 * - Positives a question are units * texts / (entities * pairs of facts of an entity) where texts
 *   that state a fact are looked for, and texts / entities where all texts about an entity are.
 * - Short texts (real mean below 60 words) are one unit, about 20 tokens; the others two; news of
 *   more than 400 words three, which are cut as the real ones are.
 * - Foreign words: an eighth of the attributes where texts are encyclopaedic or questions of
 *   everybody, a quarter for news, three eighths for forums, finance and arguments, half for
 *   science and medicine. The scale of four is assumed; that main's words are known best in this
 *   order is not.
 * - Styles follow the real questions: keywords, whole questions, statements. */
#include "data/world_sets.h"
#include "data/draft.h"

#include <stdlib.h>
#include <string.h>

#define GENERAL 0.125
#define NEWS    0.25
#define FORUM   0.375
#define SCIENCE 0.5

/* clang-format off */
static const world_set sets[] = {
    /* name, task, titled, first type, types, entities, pairs, of a type, documents, least, most,
     * units, foreign, aside, keyword, question, attribute of, conjunctive, train, test, endings */
    {"wikipedia", TASK_NONE, true, 0, 6, 340, 24, 20, 300, 8, 12, 3, 0, .3,
     0, 0, 0, 0, 0, 0, 0, "long articles of one topic each, passages of up to 100 tokens"},
    {"documents", TASK_DOCUMENTS, false, 0, 6, 100, 24, 20, 400, 1, 1, 1, 0, .3,
     0, 0, 0, 0, 0, 0, 0, "whole documents of main: text is longer than a passage"},
    {"nq", TASK_FACT, true, 6, 4, 150, 12, 10, 150, 5, 5, 2, GENERAL, 0,
     .25, .60, .15, 0, 1200, 400, 12, "short questions of a search engine, Wikipedia passages, answer strings"},
    {"triviaqa", TASK_TRIVIA, true, 10, 4, 150, 12, 10, 150, 5, 5, 2, GENERAL, 0,
     0, 1, 0, 0, 1200, 400, 12, "long questions with a clue, Wikipedia passages, answer strings"},
    {"beir-trec-covid", TASK_GRADED, true, 6, 3, 20, 22, 18, 480, 1, 1, 2, SCIENCE, 0,
     .4, .6, 0, 0, 0, 60, 0, "few topics with very many positives, graded; medicine"},
    {"beir-bioasq", TASK_FACT, true, 7, 3, 24, 11, 9, 500, 1, 1, 2, SCIENCE, 0,
     .1, .8, .1, 0, 0, 100, 0, "questions, five abstracts each; medicine"},
    {"beir-nfcorpus", TASK_GRADED, true, 8, 3, 15, 18, 15, 450, 1, 1, 2, SCIENCE, 0,
     1, 0, 0, 0, 0, 100, 0, "two or three keywords, many positives, graded; medicine"},
    {"beir-nq", TASK_FACT, true, 9, 4, 50, 20, 16, 480, 1, 1, 2, GENERAL, 0,
     .25, .60, .15, 0, 0, 150, 0, "short questions of a search engine over Wikipedia passages"},
    {"beir-hotpotqa", TASK_TWO_HOP, true, 10, 4, 40, 14, 12, 500, 1, 1, 1, GENERAL, .3,
     0, 1, 0, 0, 0, 120, 0, "two hops: two positives, the second entity is not named"},
    {"beir-fiqa", TASK_FACT, false, 12, 3, 28, 14, 11, 400, 1, 1, 2, FORUM, 0,
     .1, .7, .1, .1, 0, 120, 0, "questions to a forum about finance, answers of some length"},
    {"beir-signal1m", TASK_ENTITY, false, 13, 4, 25, 14, 12, 500, 1, 1, 1, NEWS, 0,
     .6, 0, .4, 0, 0, 80, 0, "headlines, short messages, twenty positives"},
    {"beir-trec-news", TASK_GRADED, false, 14, 4, 16, 24, 20, 320, 1, 1, 3, NEWS, .3,
     .2, .2, .2, .4, 0, 60, 0, "background of an article, long texts, twenty positives, graded"},
    {"beir-robust04", TASK_GRADED, false, 15, 4, 12, 24, 20, 480, 1, 1, 3, NEWS, .3,
     .5, .2, .3, 0, 0, 100, 0, "hard topics over long news, forty positives, graded"},
    {"beir-arguana", TASK_COUNTER, false, 16, 3, 24, 11, 9, 450, 1, 1, 1, FORUM, .3,
     0, 0, 0, 0, 0, 120, 0, "the question is a whole text; its counterpart is looked for"},
    {"beir-webis-touche2020", TASK_GRADED, false, 17, 3, 20, 18, 15, 400, 1, 1, 2, FORUM, 0,
     0, 1, 0, 0, 0, 60, 0, "questions of debate, long arguments, twenty positives, graded"},
    {"beir-cqadupstack", TASK_DUPLICATE, true, 18, 4, 40, 10, 8, 450, 1, 1, 1, FORUM, .3,
     .2, .6, .2, 0, 0, 120, 0, "a forum's questions with bodies; the same question asked before"},
    {"beir-quora", TASK_DUPLICATE, false, 0, 6, 60, 10, 8, 600, 1, 1, 0, GENERAL, 0,
     .1, .8, .1, 0, 0, 150, 0, "short questions, texts are questions; the same question asked before"},
    {"beir-dbpedia-entity", TASK_LIST, true, 2, 2, 120, 6, 5, 560, 1, 1, 1, GENERAL, .3,
     .5, .5, 0, 0, 0, 80, 0, "lists of entities with a property, none of them named"},
    {"beir-scidocs", TASK_ENTITY, true, 6, 5, 100, 10, 8, 490, 1, 1, 2, SCIENCE, 0,
     .4, 0, .2, .4, 0, 120, 0, "titles of papers, five related papers each; science"},
    {"beir-fever", TASK_CLAIM, true, 3, 4, 50, 17, 14, 420, 1, 1, 2, GENERAL, 0,
     0, 0, 0, 0, 0, 150, 0, "short claims, a third refuted, Wikipedia passages"},
    {"beir-climate-fever", TASK_CLAIM, true, 4, 3, 28, 12, 10, 420, 1, 1, 2, SCIENCE, 0,
     0, 0, 0, 1, 0, 100, 0, "long claims about science, three positives in Wikipedia"},
    {"beir-scifact", TASK_CLAIM, true, 5, 3, 39, 17, 14, 300, 1, 1, 2, SCIENCE, 0,
     0, 0, 0, 0, 0, 120, 0, "claims of scientists, abstracts"},
};
/* clang-format on */

const world_set *gb_world_set_at(uint32_t index)
{
    return index < sizeof sets / sizeof *sets ? &sets[index] : NULL;
}

const char *gb_world_set_name(uint32_t index)
{
    return index == 0 ? "main" : index <= sizeof sets / sizeof *sets ? sets[index - 1].name : NULL;
}

/* ---- making one ---------------------------------------------------------------------------- */

static void set_free(world_set_data *d, world *language)
{
    for (uint32_t i = 0; i < SET_SPLITS; i++)
        free(d->splits[i].judgements);
    gb_map_destroy(d->asked);
    if (d->own.arena)
        gb_world_free(&d->own);
    if (language->arena)
        gb_world_free(language);
}

bool gb_world_generate_set(uint64_t world_seed, const char *set, const char *out_dir,
                           gb_status *status)
{
    if (!strcmp(set, "main"))
        return gb_world_generate(world_seed, out_dir, status);
    world language = {0};
    world_set_data d = {.language = &language};
    for (uint32_t i = 0; i < sizeof sets / sizeof *sets && !d.set; i++)
        if (!strcmp(sets[i].name, set)) {
            d.set = &sets[i];
            d.number = i + 1;
        }
    if (!d.set)
        return gb_fail(status, GB_USAGE, NULL, "gabbro collection --help lists the sets",
                       "the mini world has no set \"%.60s\"", set);
    char *draft = gb_draft_create(out_dir, "world.json", status);
    if (!draft)
        return false;
    d.asked = gb_map_create(status);
    bool ok = d.asked && gb_world_set_make_texts(&d, world_seed, status) &&
              gb_world_set_make_queries(&d, status) && gb_world_set_write(&d, draft, status);
    set_free(&d, &language);
    if (!ok)
        gb_remove_tree(draft, NULL);
    else
        ok = gb_place_folder(draft, out_dir, status);
    free(draft);
    return ok;
}
