/* Data room: the mini world. */
#include "data/json.h"
#include "data/world.h"
#include "gabbro/data.h"
#include "scratch.h"

#include <ctype.h>
#include <math.h>

static gb_collection *generate(uint64_t seed, const char *folder)
{
    gb_status status = {0};
    cr_assert(gb_world_generate(seed, folder, &status), "%s: %s", status.where, status.what);
    gb_collection *collection = gb_collection_open(folder, &status);
    cr_assert_not_null(collection, "%s: %s", status.where, status.what);
    return collection;
}

static void make(world *w, uint64_t seed)
{
    gb_world_params params = gb_world_defaults();
    gb_status status = {0};
    cr_assert(gb_world_make(w, &params, seed, &status), "%s", status.what);
}

/* ---- the same seed, the same world ---- */

Test(world, is_a_pure_function_of_its_seed)
{
    scratch s = scratch_enter();
    char first[GB_HASH_SIZE], second[GB_HASH_SIZE], third[GB_HASH_SIZE];
    gb_collection_close(generate(1, "a"));
    gb_collection_close(generate(1, "b"));
    gb_collection_close(generate(2, "c"));
    cr_assert(gb_hash_tree("a", first, NULL) && gb_hash_tree("b", second, NULL) &&
              gb_hash_tree("c", third, NULL));
    cr_expect_str_eq(first, second);
    cr_expect_str_neq(first, third);
    scratch_leave(&s);
}

/* If this fails the world has changed: raise WORLD_VERSION and make recorded results again. */
Test(world, texts_of_seed_1_stay_as_they_are)
{
    scratch s = scratch_enter();
    gb_collection_close(generate(1, "a"));
    char texts[GB_HASH_SIZE], queries[GB_HASH_SIZE], generated[GB_HASH_SIZE];
    cr_assert(gb_hash_file("a/passages.text.gbt", texts, NULL));
    cr_assert(gb_hash_file("a/queries.text.gbt", queries, NULL));
    cr_assert(gb_hash_file("a/generated.gbt", generated, NULL));
    cr_expect_str_eq(texts, "09c7f303e7b94ca19601dd1ee73b0e83ff8830760c4296d3684264d8af261b83");
    cr_expect_str_eq(queries, "6e8cec96b753ea7c3d40f44e41556c521b8aee221c2cd462e2e1a81d3dbdce15");
    cr_expect_str_eq(generated, "93e3a1ea300038278b6e0cf8b001c8adbfee2b68eb2910032e680113a6d47b7c");
    scratch_leave(&s);
}

/* ---- calibration ---- */

static bool holds_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length)
        if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static bool holds_name(const char *text, const char *name)
{
    char lower[32];
    size_t i = 0;
    for (; name[i] && i + 1 < sizeof lower; i++)
        lower[i] = (char)tolower((unsigned char)name[i]);
    lower[i] = '\0';
    return holds_word(text, lower);
}

/* Read from the text alone whether a query asks about a fact of the passage: it names the entity
 * and an attribute of the pair, or both attributes. */
static bool is_about(const world *w, const world_passage *passage, const char *query)
{
    const world_entity *entity = &w->entities[passage->entity];
    bool named = holds_name(query, entity->name) || holds_name(query, entity->alias);
    int attributes = 0;
    for (uint32_t i = 0; i < WORLD_PAIR; i++) {
        bool found = false;
        for (uint32_t j = 0; j < WORLD_WORDINGS; j++)
            found = found ||
                    holds_word(query, w->words.attributes[passage->cluster * WORLD_PAIR + i][j]);
        attributes += found;
    }
    return attributes == 2 || (named && attributes == 1);
}

Test(world, is_calibrated_on_the_papers_facts)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        world w;
        make(&w, seed);
        uint32_t same = 0, pairs = 0;
        for (uint32_t i = 0; i < w.passage_count; i++)
            for (uint32_t j = i + 1;
                 j < w.passage_count && w.passages[j].document == w.passages[i].document; j++) {
                pairs++;
                same += w.passages[i].entity == w.passages[j].entity;
            }
        cr_expect_float_eq((double)same / pairs, 0.355, 0.005, "seed %d: %.4f", (int)seed,
                           (double)same / pairs);
        static const uint32_t depths[] = {1, 5, 10, 20};
        for (size_t d = 0; d < 4; d++) {
            double about = 0;
            for (uint32_t row = 0; row < w.passage_count; row++)
                for (uint32_t k = 0; k < depths[d]; k++)
                    about +=
                        is_about(&w, &w.passages[row], w.generated[row * w.params.generated + k]);
            about /= w.passage_count * depths[d];
            cr_expect_float_eq(about, 0.565, 0.01, "seed %d, first %u: %.4f", (int)seed, depths[d],
                               about);
        }
        gb_world_free(&w);
    }
}

static double measured(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json_object_get(json, "measured"), key);
    cr_assert(json_is_number(value), "no \"%s\"", key);
    return json_number_value(value);
}

Test(world, prints_what_it_is_like)
{
    scratch s = scratch_enter();
    gb_collection_close(generate(1, "a"));
    json_t *json = gb_json_load("a/world.json", NULL);
    cr_assert_not_null(json);
    cr_expect_float_eq(measured(json, "passages_per_entity"), 20, 0.5);
    cr_expect_geq(measured(json, "fewest_passages_of_an_entity"), 10);
    cr_expect_float_eq(measured(json, "queries_sharing_the_attribute_word"), 0.41, 0.05);
    cr_expect_float_eq(measured(json, "queries_without_a_name"), 0.12, 0.03);
    cr_expect_float_eq(measured(json, "conjunctive_queries"), 0.30, 0.03);
    cr_expect_float_eq(measured(json, "passages_with_an_aside"), 0.30, 0.03);
    cr_expect_float_eq(measured(json, "passages_per_pair_of_facts"), 1.05, 0.02);
    json_decref(json);
    scratch_leave(&s);
}

/* ---- words ---- */

typedef struct stem_check {
    const char *word; /* what went in */
    unsigned terms;   /* how many came out */
    bool same;        /* unchanged */
} stem_check;

static bool on_term(void *ctx, const char *bytes, size_t length)
{
    stem_check *check = ctx;
    check->terms++;
    check->same = length == strlen(check->word) && memcmp(bytes, check->word, length) == 0;
    return true;
}

Test(world, stemming_keeps_invented_words_apart)
{
    world w;
    make(&w, 1);
    gb_analyzer *analyzer = gb_analyzer_create(NULL);
    cr_assert_not_null(analyzer);
    for (uint32_t a = 0; a < w.attributes + w.params.entities; a++) {
        const char *words[WORLD_WORDINGS + 2] = {0};
        if (a < w.attributes)
            memcpy(words, w.words.attributes[a], sizeof w.words.attributes[a]);
        if (a < w.attributes && !w.takes_entity[a])
            memcpy(words + WORLD_WORDINGS, w.words.values[a][a % WORLD_VALUES], 2 * sizeof *words);
        char name[32] = "";
        if (a >= w.attributes) {
            snprintf(name, sizeof name, "%s", w.entities[a - w.attributes].name);
            name[0] = (char)tolower((unsigned char)name[0]);
            words[0] = name;
        }
        for (size_t i = 0; i < WORLD_WORDINGS + 2 && words[i]; i++) {
            stem_check check = {.word = words[i]};
            cr_assert(gb_analyze(analyzer, words[i], strlen(words[i]), on_term, &check, NULL));
            cr_expect(check.terms == 1 && check.same, "%s is changed", words[i]);
        }
    }
    gb_analyzer_destroy(analyzer);
    gb_world_free(&w);
}

Test(world, vocabulary_covers_it_with_names_in_two_pieces)
{
    scratch s = scratch_enter();
    gb_collection *c = generate(1, "a");
    gb_vocab *vocab = gb_vocab_load("a/vocab.txt", NULL);
    gb_tokenizer *tokenizer = gb_tokenizer_create(vocab, GB_TOKENIZER_DEFAULTS, NULL);
    gb_status status = {0};
    const gb_tokenize_params lengths = {.max_passage = 44, .max_query = 16};
    cr_assert(gb_collection_tokenize(c, tokenizer, vocab, &lengths, "tok", &status), "%s",
              status.what);
    json_t *json = gb_json_load("tok/tokens.json", NULL);
    static const char *const labels[] = {"passages", "queries", "generated"};
    for (size_t i = 0; i < 3; i++) {
        json_t *counts = json_object_get(json, labels[i]);
        cr_expect_eq(json_integer_value(json_object_get(counts, "unknown")), 0, "%s", labels[i]);
        cr_expect_eq(json_integer_value(json_object_get(counts, "truncated")), 0, "%s", labels[i]);
    }
    json_t *passages = json_object_get(json, "passages");
    double mean = (double)json_integer_value(json_object_get(passages, "tokens")) / c->passages;
    cr_expect_float_eq(mean + 2, 24.5, 1.5, "%.2f tokens a passage", mean + 2);
    json_decref(json);
    world w;
    make(&w, 1);
    for (uint32_t e = 0; e < w.params.entities; e++) {
        gb_ids ids = {0};
        const char *name = w.entities[e].name;
        cr_assert(gb_tokenize(tokenizer, name, strlen(name), &ids, NULL));
        cr_expect_eq(ids.count, 2, "%s is %zu tokens", name, ids.count);
        free(ids.data);
    }
    gb_world_free(&w);
    gb_tokenizer_destroy(tokenizer);
    gb_vocab_destroy(vocab);
    gb_collection_close(c);
    scratch_leave(&s);
}

/* ---- queries and judgements ---- */

Test(world, training_development_and_topics_ask_for_different_facts)
{
    world w;
    make(&w, 1);
    uint32_t facts = w.params.entities * w.attributes;
    uint8_t *asked = calloc(facts, 1), *joined = calloc(facts / WORLD_PAIR, 1);
    gb_map *texts = gb_map_create(NULL);
    cr_assert(asked && joined && texts);
    for (int split = 0; split < SPLIT_COUNT; split++) {
        uint8_t set = split < SPLIT_DL19 ? (uint8_t)(1 + split) : 3;
        for (uint32_t i = 0; i < w.query_count[split]; i++) {
            const world_query *q = &w.queries[split][i];
            uint32_t fact = q->entity * w.attributes + q->attribute;
            cr_expect(asked[fact] == 0 || asked[fact] == set, "fact %u in two sets", fact);
            asked[fact] = set;
            if (q->style == STYLE_CONJUNCTIVE) {
                uint8_t *pair = &joined[fact / WORLD_PAIR];
                cr_expect(*pair == 0 || *pair == set, "one question in two sets: %s", q->text);
                *pair = set;
            }
            uint32_t before = gb_map_get(texts, q->text, strlen(q->text));
            cr_expect(before == GB_MAP_NONE || before == set, "\"%s\" in two sets", q->text);
            cr_assert(gb_map_set(texts, q->text, strlen(q->text), set, NULL));
        }
    }
    /* no pair of facts of a topic is asked for in training */
    for (uint32_t fact = 0; fact < facts; fact++)
        cr_expect(asked[fact] != 3 || asked[fact ^ 1] == 0 || asked[fact ^ 1] == 3);
    cr_expect_eq(w.query_count[SPLIT_TRAIN], 3000);
    cr_expect_eq(w.query_count[SPLIT_DEV], 1500);
    gb_map_destroy(texts);
    free(asked);
    free(joined);
    gb_world_free(&w);
}

Test(world, labelled_passages_state_the_fact)
{
    scratch s = scratch_enter();
    gb_collection *c = generate(1, "a");
    cr_expect_str_eq(c->splits, "train dev dl19 dl20");
    static const struct {
        const char *split;
        uint32_t queries;
    } splits[] = {{"train", 3000}, {"dev", 1500}};
    uint32_t attributes = gb_world_defaults().clusters * WORLD_PAIR;
    for (size_t i = 0; i < 2; i++) {
        gb_qrels qrels;
        cr_assert(gb_collection_qrels(c, splits[i].split, &qrels, NULL));
        cr_expect_eq(qrels.count, splits[i].queries);
        for (size_t j = 0; j < qrels.count; j++) {
            gb_qrel row = qrels.rows[j];
            uint32_t fact = gb_collection_truth(c, GB_TRUTH_QUERY_FACT, row.query);
            cr_assert_eq(row.grade, 1);
            cr_expect_eq(gb_collection_truth(c, GB_TRUTH_QUERY_ENTITY, row.query),
                         fact / attributes);
            cr_expect_eq(gb_collection_truth(c, GB_TRUTH_PASSAGE_ENTITY, row.passage),
                         fact / attributes);
            cr_expect_eq(gb_collection_truth(c, GB_TRUTH_PASSAGE_CLUSTER, row.passage),
                         fact % attributes / WORLD_PAIR);
            cr_expect(j == 0 || qrels.rows[j - 1].query != row.query, "two positives");
        }
        free(qrels.rows);
    }
    cr_expect_eq(gb_collection_truth(c, GB_TRUTH_PASSAGE_ENTITY, c->passages), GB_MAP_NONE);
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(world, topics_have_graded_judgements)
{
    world w;
    make(&w, 1);
    static const uint32_t counts[] = {[SPLIT_DL19] = 43, [SPLIT_DL20] = 54};
    for (int split = SPLIT_DL19; split <= SPLIT_DL20; split++) {
        cr_assert_eq(w.query_count[split], counts[split]);
        uint32_t grades[4] = {0}, *best = calloc(counts[split], sizeof *best);
        for (size_t i = 0; i < w.judgement_count[split]; i++) {
            gb_qrel j = w.judgements[split][i];
            const world_query *topic = &w.queries[split][j.query];
            const world_passage *passage = &w.passages[j.passage];
            cr_assert(j.grade >= 0 && j.grade <= 3);
            grades[j.grade]++;
            best[j.query] += j.grade == 3;
            bool same = passage->entity == topic->entity;
            bool states = passage->cluster == topic->attribute / WORLD_PAIR;
            if (same)
                cr_expect_eq(j.grade == 3, states, "topic %u passage %u", j.query, j.passage);
            if (j.grade == 1)
                cr_expect(same && !states);
        }
        for (uint32_t i = 0; i < counts[split]; i++)
            cr_expect_gt(best[i], 0, "topic %u has no answer", i);
        for (int g = 0; g < 4; g++)
            cr_expect_gt(grades[g], 20, "grade %d: %u", g, grades[g]);
        free(best);
    }
    gb_world_free(&w);
}

/* ---- files ---- */

Test(world, beir_folder_holds_the_same_collection)
{
    scratch s = scratch_enter();
    gb_collection *c = generate(1, "a");
    gb_import_params params = GB_IMPORT_DEFAULTS;
    gb_status status = {0};
    params.path = "a/beir";
    params.queries = "a/beir/generated.jsonl";
    cr_assert(gb_collection_import(&params, "b", &status), "%s: %s", status.where, status.what);
    static const char *const files[] = {
        "passages.id.gbt", "passages.title.gbt", "passages.text.gbt", "passages.document.gbt",
        "queries.id.gbt",  "queries.text.gbt",   "generated.gbt",     "qrels/train.tsv",
        "qrels/dev.tsv",   "qrels/dl19.tsv",     "qrels/dl20.tsv"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[2][100], hash[2][GB_HASH_SIZE];
        snprintf(path[0], sizeof path[0], "a/%s", files[i]);
        snprintf(path[1], sizeof path[1], "b/%s", files[i]);
        cr_assert(gb_hash_file(path[0], hash[0], NULL) && gb_hash_file(path[1], hash[1], NULL));
        cr_expect_str_eq(hash[0], hash[1], "%s differs", files[i]);
    }
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(world, refuses_a_folder_with_other_files)
{
    scratch s = scratch_enter();
    scratch_write("mine/notes.txt", "keep");
    gb_status status = {0};
    cr_expect_not(gb_world_generate(1, "mine", &status));
    cr_expect_eq(status.code, GB_USAGE);
    cr_expect(gb_file_exists("mine/notes.txt"));
    scratch_leave(&s);
}
