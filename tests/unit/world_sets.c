/* Synth module: the sets of the mini world beside main. */
#include "synth/world.h"
#include "scratch.h"

#include <ctype.h>

enum { SEED = 1 };

static gb_collection *open_set(const char *set)
{
    gb_status status = {0};
    cr_assert(gb_synth_generate(SEED, set, set, &status), "%s: %s", set, status.what);
    gb_collection *collection = gb_collection_open(set, &status);
    cr_assert_not_null(collection, "%s: %s", status.where, status.what);
    return collection;
}

static double measured(const char *set, const char *key)
{
    char path[100];
    snprintf(path, sizeof path, "%s/world.json", set);
    json_t *json = json_load_file(path, 0, NULL);
    const json_t *value = json_object_get(json_object_get(json, "measured"), key);
    cr_assert(json_is_number(value), "%s has no %s", path, key);
    double number = json_number_value(value);
    json_decref(json);
    return number;
}

static const char *row_of(const gb_row_file *file, uint32_t row, char *buffer, size_t size)
{
    size_t length;
    const char *text = gb_row_file_row(file, row, &length);
    cr_assert(length < size);
    memcpy(buffer, text, length);
    buffer[length] = '\0';
    return buffer;
}

/* ---- all sets ---- */

/* If this fails a set has changed: raise GB_WORLD_VERSION and make recorded results again. */
Test(world_sets, stay_as_they_are)
{
    scratch s = scratch_enter();
    gb_text all = {0};
    char hash[GB_HASH_SIZE];
    for (uint32_t i = 1; gb_synth_set_name(i); i++) {
        const char *set = gb_synth_set_name(i);
        gb_collection_close(open_set(set));
        cr_assert(gb_hash_tree(set, hash, NULL));
        gb_text_printf(&all, "%s %s\n", set, hash);
        cr_assert(gb_remove_tree(set, NULL));
    }
    gb_hash_bytes(all.data, all.length, hash);
    cr_expect_str_eq(hash, "88e4461a1e2f675e99215543bda3e7c9828b7e964d4d2ab2d62e524db239d501",
                     "now:\n%s", all.data);
    gb_text_free(&all);
    scratch_leave(&s);
}

Test(world_sets, are_covered_by_mains_vocabulary_without_sharing_its_names)
{
    scratch s = scratch_enter();
    gb_collection_close(open_set("main"));
    char vocabulary[GB_HASH_SIZE], same[GB_HASH_SIZE], path[100];
    cr_assert(gb_hash_file("main/vocab.txt", vocabulary, NULL));
    gb_vocab *vocab = gb_vocab_load("main/vocab.txt", NULL);
    gb_tokenizer *tokenizer = gb_tokenizer_create(vocab, GB_TOKENIZER_DEFAULTS, NULL);
    gb_log_set_level(GB_LOG_WARN);
    for (uint32_t i = 1; gb_synth_set_name(i); i++) {
        const char *set = gb_synth_set_name(i);
        gb_collection *c = open_set(set);
        snprintf(path, sizeof path, "%s/vocab.txt", set);
        cr_assert(gb_hash_file(path, same, NULL));
        cr_expect_str_eq(same, vocabulary, "%s has another vocabulary", set);
        const gb_tokenize_params lengths = {.max_passage = 48, .max_query = 24};
        cr_assert(gb_collection_tokenize(c, tokenizer, vocab, &lengths, "tok", NULL));
        json_t *json = json_load_file("tok/tokens.json", 0, NULL), *counts;
        const char *label;
        json_object_foreach(json, label, counts) if (json_is_object(counts)) cr_expect_eq(
            json_integer_value(json_object_get(counts, "unknown")), 0, "%s %s", set, label);
        json_decref(json);
        gb_collection_close(c);
    }
    gb_tokenizer_destroy(tokenizer);
    gb_vocab_destroy(vocab);

    world *language = synth_world_make(synth_world_set_at(0), 0, SEED, NULL);
    world *own = synth_world_make(synth_world_set_at(11), 11, SEED, NULL);
    cr_assert(language && own);
    for (uint32_t e = 0; e < own->entity_count; e++)
        for (uint32_t m = 0; m < language->entity_count; m++)
            cr_expect_str_neq(own->entities[e].name, language->entities[m].name);
    gb_synth_destroy(own);
    gb_synth_destroy(language);
    scratch_leave(&s);
}

/* Share of the words of passages, a word once, that no passage of `known` has. */
static double new_words(const gb_collection *c, gb_map *known, bool learn)
{
    gb_map *seen = gb_map_create(NULL);
    double all = 0, unknown = 0;
    char text[4000];
    for (uint32_t p = 0; p < c->passages; p++) {
        row_of(c->texts, p, text, sizeof text);
        for (char *rest = text, *word; (word = strsep(&rest, " .,?"));) {
            for (char *at = word; *at; at++)
                *at = (char)tolower((unsigned char)*at);
            size_t length = strlen(word);
            if (length == 0 || gb_map_get(seen, word, length) != GB_MAP_NONE)
                continue;
            cr_assert(gb_map_set(seen, word, length, 1, NULL));
            all++;
            unknown += gb_map_get(known, word, length) == GB_MAP_NONE;
            if (learn)
                cr_assert(gb_map_set(known, word, length, 1, NULL));
        }
    }
    gb_map_destroy(seen);
    return unknown / all;
}

Test(world_sets, differ_in_how_much_of_their_language_main_has)
{
    scratch s = scratch_enter();
    static const char *const sets[] = {"beir-fever", "beir-fiqa", "beir-scifact"};
    gb_map *known = gb_map_create(NULL);
    gb_collection *c = open_set("main");
    new_words(c, known, true);
    gb_collection_close(c);
    double before = -1;
    for (size_t i = 0; i < 3; i++) {
        c = open_set(sets[i]);
        double now = new_words(c, known, false);
        cr_expect_gt(now, before, "%s: %.3f", sets[i], now);
        before = now;
        gb_collection_close(c);
    }
    cr_expect(before > 0.2 && before < 0.7, "%.3f", before);
    gb_map_destroy(known);
    scratch_leave(&s);
}

Test(world_sets, have_as_many_positives_as_the_real_ones)
{
    scratch s = scratch_enter();
    static const struct {
        const char *set;  /* of BEIR */
        double positives; /* a question: the real mean, or what a world so small can hold */
    } facts[] = {{"beir-bioasq", 4.7},        {"beir-nq", 1.2},
                 {"beir-hotpotqa", 2.0},      {"beir-fiqa", 2.6},
                 {"beir-signal1m", 19.6},     {"beir-trec-news", 19.6},
                 {"beir-robust04", 40},       {"beir-webis-touche2020", 19},
                 {"beir-cqadupstack", 1.4},   {"beir-quora", 1.6},
                 {"beir-scidocs", 4.9},       {"beir-fever", 1.2},
                 {"beir-climate-fever", 3.0}, {"beir-scifact", 1.1}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        gb_collection_close(open_set(facts[i].set));
        double positives = measured(facts[i].set, "positives_per_query");
        cr_expect_float_eq(positives / facts[i].positives, 1, 0.08, "%s: %.2f", facts[i].set,
                           positives);
    }
    scratch_leave(&s);
}

Test(world_sets, have_a_positive_for_every_question_and_all_grades)
{
    scratch s = scratch_enter();
    for (uint32_t i = 3; gb_synth_set_name(i); i++) {
        gb_collection *c = open_set(gb_synth_set_name(i));
        bool graded = synth_world_set_at(i)->task == TASK_GRADED, seen[3] = {false};
        gb_qrels qrels;
        cr_assert(gb_collection_qrels(c, "test", &qrels, NULL));
        uint32_t with = 0;
        for (size_t j = 0, end; j < qrels.count; j = end) {
            int32_t best = 0;
            for (end = j; end < qrels.count && qrels.rows[end].query == qrels.rows[j].query;
                 end++) {
                best = qrels.rows[end].grade > best ? qrels.rows[end].grade : best;
                seen[qrels.rows[end].grade] = true;
            }
            cr_expect_eq(best, graded ? 2 : 1, "%s", c->name);
            with++;
        }
        cr_expect_eq(with, synth_world_set_at(i)->test, "%s: %u", c->name, with);
        cr_expect(seen[0] == graded && seen[1] && seen[2] == graded, "%s", c->name);
        free(qrels.rows);
        gb_collection_close(c);
    }
    scratch_leave(&s);
}

/* ---- some of them ---- */

Test(world_sets, documents_are_mains_passages_in_one_piece)
{
    scratch s = scratch_enter();
    gb_collection *c = open_set("main"), *d = open_set("documents");
    cr_assert_eq(d->passages, c->documents);
    gb_text joined = {0};
    char text[4000];
    for (uint32_t p = 0; p < c->passages; p++) {
        bool first = p == 0 || c->document[p] != c->document[p - 1];
        bool last = p + 1 == c->passages || c->document[p + 1] != c->document[p];
        if (first)
            joined.length = 0;
        gb_text_printf(&joined, "%s%s", first ? "" : " ", row_of(c->texts, p, text, sizeof text));
        if (last)
            cr_expect_str_eq(joined.data, row_of(d->texts, c->document[p], text, sizeof text));
    }
    gb_text_free(&joined);
    cr_expect_str_eq(d->splits, "train dev dl19 dl20");
    gb_qrels passages, documents;
    cr_assert(gb_collection_qrels(c, "dev", &passages, NULL) &&
              gb_collection_qrels(d, "dev", &documents, NULL));
    cr_assert_eq(passages.count, documents.count);
    for (size_t i = 0; i < passages.count; i++)
        cr_expect_eq(c->document[passages.rows[i].passage], documents.rows[i].passage);
    free(passages.rows);
    free(documents.rows);
    gb_collection_close(c);
    gb_collection_close(d);
    scratch_leave(&s);
}

/* Lines of a file of answers: words of each query by its id. */
static bool holds_answer(const char *answers, const char *id, const char *text)
{
    char key[80], lower[2000], line[300];
    snprintf(key, sizeof key, "%s\t", id);
    const char *at = strncmp(answers, key, strlen(key)) == 0 ? answers : NULL;
    if (!at) {
        snprintf(key, sizeof key, "\n%s\t", id);
        at = strstr(answers, key);
        cr_assert_not_null(at, "no answers of %s", id);
    }
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at + strlen(key), "\n"), at + strlen(key));
    size_t length = strlen(text);
    for (size_t i = 0; i <= length; i++)
        lower[i] = (char)tolower((unsigned char)text[i]);
    for (char *rest = line, *answer; (answer = strsep(&rest, "\t"));) {
        for (char *c = answer; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        if (strstr(lower, answer))
            return true;
    }
    return false;
}

Test(world_sets, answers_stand_in_the_positives)
{
    scratch s = scratch_enter();
    static const char *const sets[] = {"nq", "triviaqa"};
    for (size_t i = 0; i < 2; i++) {
        gb_collection *c = open_set(sets[i]);
        char path[60], id[60], text[2000];
        snprintf(path, sizeof path, "%s/answers.tsv", sets[i]);
        char *answers = gb_read_file(path, NULL, NULL);
        cr_expect_str_eq(c->splits, "train test");
        gb_map *asked = gb_map_create(NULL);
        gb_synth_truth *truth;
        cr_assert(gb_synth_truth_open(c, &truth, NULL) && truth);
        for (int test = 0; test < 2; test++) {
            gb_qrels qrels;
            cr_assert(gb_collection_qrels(c, test ? "test" : "train", &qrels, NULL));
            for (size_t j = 0; j < qrels.count; j++) {
                row_of(c->query_ids, qrels.rows[j].query, id, sizeof id);
                row_of(c->texts, qrels.rows[j].passage, text, sizeof text);
                cr_expect(holds_answer(answers, id, text), "%s: %s", id, text);
                uint32_t fact = gb_synth_query_fact(truth, qrels.rows[j].query);
                uint32_t set = gb_map_get(asked, (const char *)&fact, sizeof fact);
                cr_expect(set == GB_MAP_NONE || set == (uint32_t)test, "fact in both splits");
                cr_assert(
                    gb_map_set(asked, (const char *)&fact, sizeof fact, (uint32_t)test, NULL));
            }
            free(qrels.rows);
        }
        gb_synth_truth_close(truth);
        gb_map_destroy(asked);
        free(answers);
        gb_collection_close(c);
    }
    scratch_leave(&s);
}

/* The name of the second entity would make it one hop. */
Test(world_sets, second_hops_are_not_named)
{
    scratch s = scratch_enter();
    gb_collection *c = open_set("beir-hotpotqa");
    gb_qrels qrels;
    cr_assert(gb_collection_qrels(c, "test", &qrels, NULL));
    char title[60], query[300];
    uint32_t named = 0, unnamed = 0;
    for (size_t j = 0; j < qrels.count; j++) {
        row_of(c->titles, qrels.rows[j].passage, title, sizeof title);
        row_of(c->queries, qrels.rows[j].query, query, sizeof query);
        for (char *at = title; *at; at++)
            *at = (char)tolower((unsigned char)*at);
        strstr(query, title) ? named++ : unnamed++;
    }
    cr_expect(named > 100 && unnamed > 100, "%u named, %u not", named, unnamed);
    free(qrels.rows);
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(world_sets, are_there_for_worlds_with_few_texts_of_the_first_round_before_their_counterparts)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    cr_assert(gb_synth_generate(2, "beir-arguana", "x", &status), "%s", status.what);
    gb_collection *c = gb_collection_open("x", &status);
    gb_qrels qrels = {0};
    cr_assert(c && gb_collection_qrels(c, "test", &qrels, &status));
    cr_expect_eq(qrels.count, gb_row_file_count(c->queries));
    free(qrels.rows);
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(world_sets, unknown_ones_are_refused)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    cr_expect_not(gb_synth_generate(SEED, "beir-msmarco", "x", &status));
    cr_expect_eq(status.code, GB_USAGE);
    cr_expect_not(gb_dir_exists("x"));
    scratch_leave(&s);
}
