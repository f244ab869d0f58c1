/* What a mini world is like, measured on what was written. */
#include "data/json.h"
#include "data/world.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *gb_world_share(double part, double whole)
{
    return json_real(whole > 0 ? round(part / whole * 1e4) / 1e4 : 0.0);
}

/* Different words. */
typedef struct vocabulary {
    gb_map *seen; /* lower case */
    bool failed;  /* out of memory at some word */
} vocabulary;

/* Count words and collect the different ones. */
static void count_words(const char *text, vocabulary *v, uint64_t *words)
{
    char word[64];
    for (const char *at = text; *at;) {
        size_t length = 0;
        while (*at && !isalnum((unsigned char)*at))
            at++;
        while (isalnum((unsigned char)*at)) {
            if (length < sizeof word)
                word[length++] = (char)tolower((unsigned char)*at);
            at++;
        }
        if (length == 0)
            break;
        ++*words;
        v->failed = v->failed || !gb_map_set(v->seen, word, length, 1, NULL);
    }
}

static void describe_passages(const world *w, vocabulary *v, json_t *json)
{
    const gb_world_params *p = &w->params;
    uint64_t words = 0, sentences = 0, asides = 0;
    for (uint32_t i = 0; i < w->passage_count; i++) {
        count_words(w->passages[i].text, v, &words);
        sentences += w->passages[i].sentences;
        asides += w->passages[i].aside_entity != GB_MAP_NONE;
    }
    uint32_t least = UINT32_MAX, most = 0, pairs = 0;
    for (uint32_t e = 0; e < p->entities; e++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < w->passage_count; i++)
            count += w->passages[i].entity == e;
        least = count < least ? count : least;
        most = count > most ? count : most;
        for (uint32_t c = 0; c < p->clusters; c++)
            pairs += w->stated[e * p->clusters + c] != GB_MAP_NONE;
    }
    json_object_set_new(json, "stay", json_real(w->stay));
    json_object_set_new(json, "related_pairs_of_a_document", gb_world_share(w->related, 1));
    json_object_set_new(json, "passages_per_entity", gb_world_share(w->passage_count, p->entities));
    json_object_set_new(json, "fewest_passages_of_an_entity", json_integer(least));
    json_object_set_new(json, "most_passages_of_an_entity", json_integer(most));
    json_object_set_new(json, "pairs_of_facts_stated", json_integer(pairs));
    json_object_set_new(json, "passages_per_pair_of_facts",
                        gb_world_share(w->passage_count, pairs));
    json_object_set_new(json, "words_per_passage", gb_world_share((double)words, w->passage_count));
    json_object_set_new(json, "words_per_sentence",
                        gb_world_share((double)words, (double)sentences));
    json_object_set_new(json, "passages_with_an_aside",
                        gb_world_share((double)asides, w->passage_count));
}

/* A name or alias stands in the query. */
static bool holds_a_name(const world *w, const world_query *q)
{
    return q->named || w->takes_entity[q->attribute] ||
           (q->other != GB_MAP_NONE && w->takes_entity[q->other]);
}

static bool shares_attribute_word(const world *w, const world_query *q)
{
    const world_passage *passage = &w->passages[q->positive];
    uint32_t which = q->attribute % WORLD_PAIR;
    return q->wording[0] == passage->wording[which] ||
           (q->other != GB_MAP_NONE && q->wording[1] == passage->wording[which ^ 1]);
}

static void describe_queries(const world *w, vocabulary *v, json_t *json)
{
    uint64_t words = 0;
    double all = 0, shared = 0, nameless = 0, subjectless = 0, stating = 0;
    double styles[STYLE_COUNT] = {0};
    for (int split = SPLIT_TRAIN; split <= SPLIT_DEV; split++) {
        for (uint32_t i = 0; i < w->query_count[split]; i++) {
            const world_query *q = &w->queries[split][i];
            count_words(q->text, v, &words);
            all++;
            styles[q->style]++;
            shared += shares_attribute_word(w, q);
            nameless += !holds_a_name(w, q);
            subjectless += !q->named;
            uint32_t pair = q->entity * w->params.clusters + q->attribute / WORLD_PAIR;
            for (uint32_t p = w->stated[pair]; p != GB_MAP_NONE; p = w->stated_next[p])
                stating++;
        }
    }
    json_object_set_new(json, "words_per_query", gb_world_share((double)words, all));
    json_object_set_new(json, "queries_sharing_the_attribute_word", gb_world_share(shared, all));
    json_object_set_new(json, "queries_without_a_name", gb_world_share(nameless, all));
    json_object_set_new(json, "queries_not_naming_their_subject", gb_world_share(subjectless, all));
    json_object_set_new(json, "passages_stating_the_fact_asked_for", gb_world_share(stating, all));
    json_object_set_new(json, "keyword_queries", gb_world_share(styles[STYLE_KEYWORD], all));
    json_object_set_new(json, "questions", gb_world_share(styles[STYLE_QUESTION], all));
    json_object_set_new(json, "attribute_of_queries",
                        gb_world_share(styles[STYLE_ATTRIBUTE_OF], all));
    json_object_set_new(json, "conjunctive_queries",
                        gb_world_share(styles[STYLE_CONJUNCTIVE], all));
}

static void describe_generated(const world *w, vocabulary *v, json_t *json)
{
    static const uint32_t depths[] = {1, 5, 10, 20};
    for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
        double about = 0, all = 0;
        for (uint32_t row = 0; row < w->passage_count; row++) {
            for (uint32_t k = 0; k < depths[d] && k < w->params.generated; k++, all++)
                about += w->generated_kinds[row * w->params.generated + k] == KIND_ABOUT;
        }
        char key[60];
        snprintf(key, sizeof key, "generated_about_their_passage_first_%u", depths[d]);
        json_object_set_new(json, key, gb_world_share(about, all));
    }
    uint64_t words = 0;
    size_t all = (size_t)w->passage_count * w->params.generated;
    for (size_t i = 0; i < all; i++)
        count_words(w->generated[i], v, &words);
    json_object_set_new(json, "words_per_generated_query",
                        gb_world_share((double)words, (double)all));
}

static void describe_topics(const world *w, json_t *json)
{
    for (world_split split = SPLIT_DL19; split <= SPLIT_DL20; split++) {
        uint32_t grades[4] = {0};
        for (size_t i = 0; i < w->judgement_count[split]; i++)
            grades[w->judgements[split][i].grade]++;
        json_t *list = json_array();
        for (int g = 0; g < 4; g++)
            json_array_append_new(list, json_integer(grades[g]));
        char key[60];
        snprintf(key, sizeof key, "%s_judgements_of_grade_0_to_3", gb_world_splits[split]);
        json_object_set_new(json, key, list);
    }
}

static json_t *describe_params(const gb_world_params *p)
{
    json_t *json = json_object();
    json_object_set_new(json, "types", json_integer(p->types));
    json_object_set_new(json, "entities", json_integer(p->entities));
    json_object_set_new(json, "documents", json_integer(p->documents));
    json_object_set_new(json, "clusters", json_integer(p->clusters));
    json_object_set_new(json, "clusters_of_a_type", json_integer(p->type_clusters));
    json_object_set_new(json, "related", json_real(p->related));
    json_object_set_new(json, "restated", json_real(p->restated));
    json_object_set_new(json, "alias_in_passage", json_real(p->alias_in_passage));
    json_object_set_new(json, "alias_in_query", json_real(p->alias_in_query));
    json_object_set_new(json, "aside", json_real(p->aside));
    json_object_set_new(json, "preference", json_real(p->preference));
    json_object_set_new(json, "conjunctive", json_real(p->conjunctive));
    json_object_set_new(json, "conjunctive_named", json_real(p->conjunctive_named));
    json_object_set_new(json, "generator", json_string(p->generator.name));
    json_object_set_new(json, "generator_about", json_real(p->generator.about));
    json_object_set_new(json, "generator_copy", json_real(p->generator.copy));
    return json;
}

json_t *gb_world_describe(const world *w)
{
    vocabulary v = {.seen = gb_map_create(NULL)};
    json_t *json = json_object(), *measured = json_object();
    v.failed = !v.seen || !json || !measured;
    if (!v.failed) {
        describe_passages(w, &v, measured);
        json_object_set_new(measured, "different_words_of_passages",
                            json_integer((json_int_t)gb_map_count(v.seen)));
        describe_queries(w, &v, measured);
        describe_generated(w, &v, measured);
        describe_topics(w, measured);
        json_object_set_new(measured, "different_words",
                            json_integer((json_int_t)gb_map_count(v.seen)));
        json_object_set_new(json, "version", json_integer(WORLD_VERSION));
        json_object_set_new(json, "world_seed", json_integer((json_int_t)w->seed));
        json_object_set_new(json, "parameters", describe_params(&w->params));
        json_object_set(json, "measured", measured);
    }
    gb_map_destroy(v.seen);
    json_decref(measured);
    if (!v.failed)
        return json;
    json_decref(json);
    return NULL;
}
