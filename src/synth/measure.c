/* What a set is like, measured on what was written, for world.json. */
#include "synth/world.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* A quotient (0 of nothing), rounded to four digits: for people. */
static json_t *share(double part, double whole)
{
    return json_real(whole > 0 ? round(part / whole * 1e4) / 1e4 : 0.0);
}

static uint64_t count_words(const char *text)
{
    uint64_t words = 0;
    for (; *text; text++)
        words += isalnum((unsigned char)text[0]) && !isalnum((unsigned char)text[1]);
    return words;
}

/* Words that say nothing of what is asked for. */
static bool is_stop_word(const char *word, size_t length)
{
    static const char stop[] =
        " the a an of is was in to it at for by who what which how does did and do on "
        "with from that has had have we are its her his she he one be ";
    char padded[44];
    int size = snprintf(padded, sizeof padded, " %.*s ", (int)length, word);
    return size < (int)sizeof padded && strstr(stop, padded);
}

static bool stands_in(const char *word, size_t length, const char *text)
{
    for (const char *at = text; *at; at++) {
        if (at > text && isalnum((unsigned char)at[-1]))
            continue;
        size_t same = 0;
        while (same < length && tolower((unsigned char)at[same]) == word[same])
            same++;
        if (same == length && !isalnum((unsigned char)at[same]))
            return true;
    }
    return false;
}

/* Share of the content words of a query that its positive has. */
static double overlap(const char *query, const char *text)
{
    double words = 0, shared = 0;
    for (const char *at = query; *at;) {
        size_t length = 0;
        while (*at && !isalnum((unsigned char)*at))
            at++;
        while (isalnum((unsigned char)at[length]))
            length++;
        if (length && !is_stop_word(at, length)) {
            words++;
            shared += stands_in(at, length, text);
        }
        at += length;
    }
    return words > 0 ? shared / words : 0;
}

static void describe_passages(const world *w, json_t *json)
{
    double words = 0, sentences = 0, asides = 0, echoes = 0, unnamed = 0;
    for (uint32_t p = 0; p < w->passage_count; p++) {
        const world_passage *passage = &w->passages[p];
        words += (double)count_words(passage->text);
        sentences += passage->sentences;
        asides += passage->aside_count > 0;
        echoes += passage->echo != GB_MAP_NONE;
        unnamed += !passage->named;
    }
    json_object_set_new(json, "passages", json_integer(w->passage_count));
    json_object_set_new(json, "documents", json_integer(w->documents));
    json_object_set_new(json, "entities", json_integer(w->entity_count));
    json_object_set_new(json, "facts", json_integer(w->fact_count));
    json_object_set_new(json, "passages_per_entity", share(w->passage_count, w->entity_count));
    json_object_set_new(json, "words_per_passage", share(words, w->passage_count));
    json_object_set_new(json, "sentences_per_passage", share(sentences, w->passage_count));
    json_object_set_new(json, "passages_with_an_aside", share(asides, w->passage_count));
    json_object_set_new(json, "passages_with_an_echo", share(echoes, w->passage_count));
    json_object_set_new(json, "passages_without_a_name", share(unnamed, w->passage_count));
    if (w->set->task == TASK_MAIN) {
        json_object_set_new(json, "stay", json_real(w->stay));
        json_object_set_new(json, "related_pairs_of_a_document", share(w->related, 1));
    }
}

static void describe_questions(const world *w, json_t *json)
{
    static const char *const names[FORM_COUNT] = {"keyword",    "question",  "clue",      "theme",
                                                  "short_name", "two_facts", "rare_value"};
    double all = 0, words = 0, unnamed = 0, relevant = 0, shared = 0, labelled = 0;
    double forms[FORM_COUNT] = {0};
    for (uint32_t s = 0; s < w->split_count; s++) {
        const world_split *split = &w->splits[s];
        all += split->count;
        for (uint32_t i = 0; i < split->count; i++) {
            const world_query *q = &split->queries[i];
            words += (double)count_words(q->text);
            unnamed += !q->named;
            forms[q->form]++;
            if (q->positive == GB_MAP_NONE || q->positive >= w->passage_count)
                continue;
            labelled++;
            shared += overlap(q->text, w->passages[q->positive].text);
        }
        for (size_t j = 0; j < split->judgement_count; j++)
            relevant += split->judgements[j].grade >= 1;
    }
    json_object_set_new(json, "words_per_query", share(words, all));
    json_object_set_new(json, "positives_per_query", share(relevant, all));
    if (w->set->task != TASK_MAIN)
        return;
    json_object_set_new(json, "content_words_of_a_query_in_its_positive", share(shared, labelled));
    json_object_set_new(json, "queries_without_a_name", share(unnamed, all));
    for (int f = 0; f < FORM_COUNT; f++) {
        char key[60];
        snprintf(key, sizeof key, "queries_of_form_%s", names[f]);
        json_object_set_new(json, key, share(forms[f], all));
    }
}

static void describe_topics(const world *w, json_t *json)
{
    for (uint32_t s = 0; w->set->task == TASK_MAIN && s <= SPLIT_DL20; s++) {
        double grades[4] = {0};
        for (size_t i = 0; i < w->splits[s].judgement_count; i++)
            grades[w->splits[s].judgements[i].grade]++;
        json_t *list = json_array();
        for (int g = 0; g < 4; g++)
            json_array_append_new(list, share(grades[g], w->splits[s].count));
        char key[60];
        snprintf(key, sizeof key, "%s_judgements_a_topic_of_grade_0_to_3", w->splits[s].name);
        json_object_set_new(json, key, list);
    }
}

static void describe_generated(const world *w, json_t *json)
{
    double words = 0, about = 0, read = 0, all = (double)w->passage_count * w->generated_count;
    for (uint32_t p = 0; p < w->passage_count; p++)
        for (uint32_t k = 0; k < w->generated_count; k++) {
            size_t at = (size_t)p * w->generated_count + k;
            const char *text = w->generated[at];
            words += (double)count_words(text);
            about += w->generated_kinds[at] == GENERATED_ABOUT;
            read += synth_world_is_about(w, p, text, strlen(text));
        }
    if (all == 0)
        return;
    json_object_set_new(json, "words_per_generated_query", share(words, all));
    json_object_set_new(json, "generated_about_their_passage", share(about, all));
    json_object_set_new(json, "generated_about_their_passage_as_read", share(read, all));
}

json_t *synth_world_describe(const world *w)
{
    json_t *json = json_object(), *measured = json_object();
    json_object_set_new(json, "source", json_string("mini world"));
    json_object_set_new(json, "version", json_integer(GB_WORLD_VERSION));
    json_object_set_new(json, "world_seed", json_integer((json_int_t)w->seed));
    json_object_set_new(json, "set", json_string(w->set->name));
    json_object_set_new(json, "trait", json_string(w->set->trait));
    json_object_set_new(json, "kinds", json_string(w->set->kinds));
    describe_passages(w, measured);
    describe_questions(w, measured);
    describe_topics(w, measured);
    describe_generated(w, measured);
    json_object_set_new(json, "measured", measured);
    return json;
}
