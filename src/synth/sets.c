/* The sets of the mini world, a line each.
 *
 * main: its shares of related pairs and of queries about their passage are the papers' (docs). The
 * others have the language of main, things and facts of their own, and kinds of things that main
 * does not have: what is foreign in a set follows from its kinds.
 *
 * Numbers of the beir-* sets, and where they come from: the real sets' means of positives a
 * question, words a question and words a text (the table of sets of the BEIR paper, arXiv
 * 2104.08663), as far as a world of 300 to 600 texts and texts of at most some 50 tokens can follow
 * them.
 * - Positives a question are `times` where texts that state a fact are looked for, and facts *
 * times / facts of a text where all texts about an entity are.
 * - Short texts (real mean below 60 words) have two facts, the others three and four; news of more
 *   than 400 words five, which are cut as the real ones are.
 * - Kinds: main's own where texts are encyclopaedic or questions of everybody; then news, forums,
 *   finance and arguments; science and medicine have none of main's. That main's words are known
 *   best in this order is plausible; their distance is assumed.
 * - Forms follow the real questions: keywords, whole questions, statements. */
#include "synth/world.h"

#include <stdlib.h>
#include <string.h>

#define MAIN "town keep light ship machine book festival plant beast dish person"
#define NEWS "affair town festival ship"
/* clang-format off */
/* keyword, question, clue, theme, brief, two facts, rare value */
#define MIXED     {.18, .22, .10, .13, .11, .20, .06}
#define ENGINE    {.25, .55, 0, 0, .20, 0, 0}
#define TRIVIA    {0, 0, .40, .30, 0, .30, 0}
#define QUESTIONS {.10, .70, .10, 0, .10, 0, 0}
#define KEYWORDS  {1, 0, 0, 0, 0, 0, 0}
#define BOTH      {.50, .40, 0, 0, .10, 0, 0}
#define LONG      {.10, .40, .40, 0, .10, 0, 0}

static const world_set sets[] = {
    /* name, task, kinds, entities, facts, times, facts of a text, texts of a document, detail, echo, aside, tokens,
     * titled, bodiless, answers, forms, train, test */
    {"main", TASK_MAIN, MAIN, 400, 13, 18, 1, 2, 2, 4, 6, .25, .40, .20, 38, false, false, false,
     MIXED, 3000, 1200, "entries about invented things"},
    {"wikipedia", TASK_NONE, MAIN, 320, 18, 24, 2.4, 4, 6, 0, 0, .30, .30, 1.0, 94, true, false, false,
     MIXED, 0, 0, "long articles of one topic each, passages of up to 100 tokens"},
    {"documents", TASK_DOCUMENTS, MAIN, 400, 13, 18, 1, 2, 2, 4, 6, .25, .40, .20, 38, false, false, false,
     MIXED, 3000, 1200, "whole documents of main: text is longer than a passage"},
    {"nq", TASK_FACT, "town book beast machine keep", 125, 18, 22, 1, 3, 3, 0, 0, .10, 0, 0, 42, true, false, true,
     ENGINE, 1200, 400, "short questions of a search engine, Wikipedia passages, answer strings"},
    {"triviaqa", TASK_FACT, "ship plant light dish machine", 125, 18, 22, 1, 3, 3, 0, 0, .10, 0, 0, 42, true, false, true,
     TRIVIA, 1200, 400, "long questions with a clue, Wikipedia passages, answer strings"},
    {"beir-trec-covid", TASK_GRADED, "illness remedy", 20, 10, 16, 6.3, 3, 4, 1, 1, .20, 0, 0, 44, true, false, false,
     BOTH, 0, 60, "few topics with very many positives, graded; medicine"},
    {"beir-bioasq", TASK_FACT, "remedy illness mineral", 24, 12, 14, 4.7, 3, 3, 1, 1, .20, 0, 0, 44, true, false, false,
     QUESTIONS, 0, 100, "questions, five abstracts each; medicine"},
    {"beir-nfcorpus", TASK_GRADED, "remedy illness", 15, 11, 15, 6.9, 3, 3, 1, 1, .20, 0, 0, 44, true, false, false,
     KEYWORDS, 0, 100, "two or three keywords, many positives, graded; medicine"},
    {"beir-nq", TASK_FACT, "keep festival plant ship", 50, 18, 22, 1.2, 2, 3, 1, 1, .20, 0, 0, 44, true, false, false,
     ENGINE, 0, 150, "short questions of a search engine over Wikipedia passages"},
    {"beir-hotpotqa", TASK_TWO_HOP, "person book person machine", 120, 13, 16, 1, 3, 3, 1, 1, .20, 0, .30, 44, true, false, false,
     QUESTIONS, 0, 120, "two hops: two positives, the second entity is not named"},
    {"beir-fiqa", TASK_FACT, "bank gadget machine", 28, 12, 15, 2.6, 2, 3, 1, 1, .40, 0, 0, 44, false, false, false,
     QUESTIONS, 0, 120, "questions to a forum about finance, answers of some length"},
    {"beir-signal1m", TASK_ENTITY, NEWS, 25, 12, 16, 2.8, 2, 2, 1, 1, .20, 0, 0, 44, false, false, false,
     BOTH, 0, 80, "headlines, short messages, twenty positives"},
    {"beir-trec-news", TASK_GRADED, NEWS, 16, 12, 16, 7.0, 5, 5, 1, 1, .30, 0, .30, 70, false, false, false,
     BOTH, 0, 60, "background of an article, long texts, twenty positives, graded"},
    {"beir-robust04", TASK_GRADED, NEWS, 12, 12, 16, 14.0, 5, 5, 1, 1, .30, 0, .30, 70, false, false, false,
     BOTH, 0, 100, "hard topics over long news, forty positives, graded"},
    {"beir-arguana", TASK_COUNTER, "theory gadget bank", 24, 12, 13, 2, 1, 1, 1, 1, .90, 0, .30, 44, false, false, false,
     QUESTIONS, 0, 120, "the question is a whole text; its counterpart is looked for"},
    {"beir-webis-touche2020", TASK_GRADED, "theory gadget affair", 20, 9, 14, 7.0, 3, 4, 1, 1, .50, 0, 0, 44, false, false, false,
     LONG, 0, 60, "questions of debate, long arguments, twenty positives, graded"},
    {"beir-cqadupstack", TASK_DUPLICATE, "gadget machine", 27, 11, 13, 1.4, 1, 1, 1, 1, .30, 0, .30, 44, false, false, false,
     QUESTIONS, 0, 120, "a forum's questions with bodies; the same question asked before"},
    {"beir-quora", TASK_DUPLICATE, MAIN, 60, 6, 6, 1.6, 1, 1, 1, 1, 0, 0, 0, 44, false, true, false,
     QUESTIONS, 0, 150, "short questions, texts are questions; the same question asked before"},
    {"beir-dbpedia-entity", TASK_LIST, "plant beast", 112, 5, 5, 1, 1, 1, 1, 1, .30, 0, .30, 44, true, false, false,
     BOTH, 0, 80, "lists of entities with a property, none of them named"},
    {"beir-scidocs", TASK_ENTITY, "theory mineral star", 100, 10, 14, 1.35, 2, 3, 1, 1, .20, 0, 0, 44, true, false, false,
     BOTH, 0, 120, "titles of papers, five related papers each; science"},
    {"beir-fever", TASK_CLAIM, "town beast ship person", 50, 18, 22, 1.2, 2, 3, 1, 1, .20, 0, 0, 44, true, false, false,
     QUESTIONS, 0, 150, "short claims, a third refuted, Wikipedia passages"},
    {"beir-climate-fever", TASK_CLAIM, "mineral star illness", 28, 11, 14, 3.0, 2, 3, 1, 1, .20, 0, 0, 44, true, false, false,
     QUESTIONS, 0, 100, "long claims about science, three positives in Wikipedia"},
    {"beir-scifact", TASK_CLAIM, "remedy illness mineral", 45, 11, 14, 1.1, 2, 2, 1, 1, .20, 0, 0, 44, true, false, false,
     QUESTIONS, 0, 120, "claims of scientists, abstracts"},
};
/* clang-format on */
enum { SETS = sizeof sets / sizeof *sets };

const world_set *synth_world_set_at(uint32_t index)
{
    return index < SETS ? &sets[index] : NULL;
}

const char *gb_synth_set_name(uint32_t index)
{
    return index < SETS ? sets[index].name : NULL;
}
