/* Synth module: the set main of the mini world. */
#include "synth/world.h"
#include "scratch.h"

#include <ctype.h>

static world *make(uint64_t seed)
{
    gb_status status = {0};
    world *w = synth_world_make(synth_world_set_at(0), 0, seed, &status);
    cr_assert_not_null(w, "%s: %s", status.where, status.what);
    return w;
}

static gb_collection *generate(uint64_t seed, const char *folder)
{
    gb_status status = {0};
    cr_assert(gb_synth_generate(seed, "main", folder, &status), "%s: %s", status.where,
              status.what);
    gb_collection *collection = gb_collection_open(folder, &status);
    cr_assert_not_null(collection, "%s: %s", status.where, status.what);
    return collection;
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

/* If this fails the world has changed: raise GB_WORLD_VERSION and make recorded results again. */
Test(world, texts_of_seed_1_stay_as_they_are)
{
    scratch s = scratch_enter();
    gb_collection_close(generate(1, "a"));
    char texts[GB_HASH_SIZE], queries[GB_HASH_SIZE], generated[GB_HASH_SIZE];
    cr_assert(gb_hash_file("a/passages.text.gbt", texts, NULL));
    cr_assert(gb_hash_file("a/queries.text.gbt", queries, NULL));
    cr_assert(gb_hash_file("a/generated.gbt", generated, NULL));
    cr_expect_str_eq(texts, "d9f09630a0c74518d60a16cb3ba27203be4c57e5b20dd70b7eb9fc627a125fc9");
    cr_expect_str_eq(queries, "50a9e4d2762aa941c148648e69d714c8f6692678d0be66a9b53f2a987e62c625");
    cr_expect_str_eq(generated, "783eecbde5d547080251c916a3e3c01291a6b52225bd7a3c53376a4da0c6d149");
    scratch_leave(&s);
}

/* ---- calibration ---- */

static double related(const world *w)
{
    uint32_t same = 0, pairs = 0;
    for (uint32_t i = 0; i < w->passage_count; i++)
        for (uint32_t j = i + 1;
             j < w->passage_count && w->passages[j].document == w->passages[i].document; j++) {
            pairs++;
            same += w->passages[i].entity == w->passages[j].entity;
        }
    return (double)same / pairs;
}

/* Of the first queries of every passage, those whose text asks for a fact that it states. */
static double about(const world *w, uint32_t depth)
{
    double sum = 0;
    for (uint32_t row = 0; row < w->passage_count; row++)
        for (uint32_t k = 0; k < depth; k++) {
            const char *text = w->generated[row * w->generated_count + k];
            sum += synth_world_is_about(w, row, text, strlen(text));
        }
    return sum / w->passage_count / depth;
}

Test(world, is_calibrated_on_the_papers_facts)
{
    static const uint32_t depths[] = {1, 5, 20};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        world *w = make(seed);
        cr_expect_float_eq(related(w), 0.355, 0.005, "seed %d: %.4f", (int)seed, related(w));
        for (size_t d = 0; d < 3; d++) {
            double share = about(w, depths[d]);
            cr_expect_float_eq(share, 0.565, 0.01, "seed %d, first %u: %.4f", (int)seed, depths[d],
                               share);
        }
        gb_synth_destroy(w);
    }
}

/* What docs/design/mini-world.md says of the world, for several seeds. */
Test(world, keeps_within_its_statistics)
{
    static const struct {
        const char *key;    /* of world.json */
        double least, most; /* bounds */
    } bounds[] = {{"passages", 3000, 3400},
                  {"passages_per_entity", 7.5, 8.5},
                  {"words_per_passage", 21, 23},
                  {"words_per_query", 7.5, 9},
                  {"words_per_generated_query", 7.5, 9},
                  {"sentences_per_passage", 2.3, 2.8},
                  {"passages_with_an_aside", 0.12, 0.17},
                  {"passages_with_an_echo", 0.22, 0.30},
                  {"passages_without_a_name", 0.001, 0.05},
                  {"content_words_of_a_query_in_its_positive", 0.55, 0.60},
                  {"queries_without_a_name", 0.10, 0.16},
                  {"queries_of_form_keyword", 0.17, 0.25},
                  {"queries_of_form_theme", 0.12, 0.18},
                  {"queries_of_form_two_facts", 0.09, 0.15},
                  {"generated_about_their_passage", 0.564, 0.566}};
    for (uint64_t seed = 1; seed <= 2; seed++) {
        world *w = make(seed);
        json_t *json = synth_world_describe(w), *measured = json_object_get(json, "measured");
        for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
            double value = json_number_value(json_object_get(measured, bounds[i].key));
            cr_expect(value >= bounds[i].least && value <= bounds[i].most, "seed %d: %s is %g",
                      (int)seed, bounds[i].key, value);
        }
        json_decref(json);
        gb_synth_destroy(w);
    }
}

/* ---- tokens ---- */

Test(world, vocabulary_covers_it_with_names_in_two_pieces)
{
    scratch s = scratch_enter();
    gb_collection *c = generate(1, "a");
    gb_vocab *vocab = gb_vocab_load("a/vocab.txt", NULL);
    gb_tokenizer *tokenizer = gb_tokenizer_create(vocab, GB_TOKENIZER_DEFAULTS, NULL);
    gb_status status = {0};
    gb_tokenize_params lengths = {.max_passage = 48, .max_query = 24};
    cr_assert(gb_collection_tokenize(c, tokenizer, vocab, &lengths, "tok", &status), "%s",
              status.what);
    json_t *json = json_load_file("tok/tokens.json", 0, NULL);
    static const char *const labels[] = {"passages", "queries", "generated"};
    for (size_t i = 0; i < 3; i++) {
        json_t *counts = json_object_get(json, labels[i]);
        cr_expect_eq(json_integer_value(json_object_get(counts, "unknown")), 0, "%s", labels[i]);
        cr_expect_eq(json_integer_value(json_object_get(counts, "truncated")), 0, "%s", labels[i]);
    }
    json_decref(json);
    cr_expect(gb_vocab_size(vocab) > 1900 && gb_vocab_size(vocab) < 2500, "%u tokens",
              gb_vocab_size(vocab));
    world *w = make(1);
    uint32_t cut = 0;
    for (uint32_t e = 0; e < w->entity_count; e++) {
        if (synth_world_kind(w, e)->person || !strcmp(synth_world_kind(w, e)->name, "ship"))
            continue;
        gb_ids ids = {0};
        const char *name = w->entities[e].brief;
        cr_assert(gb_tokenize(tokenizer, name, strlen(name), &ids, NULL));
        cr_expect_eq(ids.count, 2, "%s is %zu tokens", name, ids.count);
        cut++;
        free(ids.data);
    }
    cr_expect_gt(cut, 200);
    gb_synth_destroy(w);
    gb_tokenizer_destroy(tokenizer);
    gb_vocab_destroy(vocab);
    gb_collection_close(c);
    scratch_leave(&s);
}

/* ---- queries and judgements ---- */

Test(world, training_development_and_topics_ask_for_different_facts)
{
    world *w = make(1);
    uint8_t *asked = calloc(w->fact_count, 1);
    gb_map *texts = gb_map_create(NULL);
    uint32_t again = 0;
    cr_assert(asked && texts);
    for (uint32_t split = 0; split < w->split_count; split++)
        for (uint32_t i = 0; i < w->splits[split].count; i++) {
            const world_query *q = &w->splits[split].queries[i];
            cr_expect_eq(asked[q->fact], 0, "fact %u in two queries", q->fact);
            asked[q->fact] = 1;
            again += gb_map_get(texts, q->text, strlen(q->text)) != GB_MAP_NONE;
            cr_assert(gb_map_set(texts, q->text, strlen(q->text), split, NULL));
        }
    cr_expect_eq(again, 0, "%u queries are asked twice", again);
    cr_expect_eq(w->splits[SPLIT_TRAIN].count, 3000);
    cr_expect_eq(w->splits[SPLIT_DEV].count, 1200);
    gb_map_destroy(texts);
    free(asked);
    gb_synth_destroy(w);
}

Test(world, no_generated_query_is_a_judged_question)
{
    world *w = make(1);
    for (uint32_t generator = 0; generator < 2; generator++) {
        uint32_t asked_in_training = 0;
        cr_assert(synth_world_make_generated(w, generator, 20, NULL));
        for (size_t i = 0; i < (size_t)w->passage_count * w->generated_count; i++) {
            uint32_t split = gb_map_get(w->asked, w->generated[i], strlen(w->generated[i]));
            cr_assert(split == GB_MAP_NONE || split == SPLIT_TRAIN, "%s", w->generated[i]);
            asked_in_training += split == SPLIT_TRAIN;
        }
        cr_expect(asked_in_training > 0); /* so that such queries would be seen */
    }
    gb_synth_destroy(w);
}

/* A question of two facts shows both: no other split may ask for the second one in the same way. */
Test(world, questions_of_two_facts_stay_in_their_split)
{
    world *w = make(1);
    uint8_t *split_of = calloc(w->fact_count, 1);
    uint32_t joined = 0;
    for (uint32_t s = 0; s < w->split_count; s++)
        for (uint32_t i = 0; i < w->splits[s].count; i++)
            split_of[w->splits[s].queries[i].fact] = (uint8_t)(s + 1);
    for (uint32_t s = 0; s < w->split_count; s++)
        for (uint32_t i = 0; i < w->splits[s].count; i++) {
            const world_query *q = &w->splits[s].queries[i];
            if (q->form != FORM_TWO)
                continue;
            joined++;
            cr_expect(split_of[q->other] == 0 || split_of[q->other] == s + 1, "%s", q->text);
        }
    cr_expect_gt(joined, 200);
    free(split_of);
    gb_synth_destroy(w);
}

Test(world, labelled_passages_state_the_fact)
{
    scratch s = scratch_enter();
    gb_collection *c = generate(1, "a");
    static const struct {
        const char *split; /* its name */
        uint32_t queries;  /* how many */
    } splits[] = {{"train", 3000}, {"dev", 1200}};
    world *w = make(1);
    gb_synth_truth *truth;
    cr_assert(gb_synth_truth_open(c, &truth, NULL) && truth);
    for (size_t i = 0; i < 2; i++) {
        gb_qrels qrels;
        cr_assert(gb_collection_qrels(c, splits[i].split, &qrels, NULL));
        cr_expect_eq(qrels.count, splits[i].queries);
        for (size_t j = 0; j < qrels.count; j++) {
            gb_qrel row = qrels.rows[j];
            uint32_t fact = gb_synth_query_fact(truth, row.query);
            uint32_t entity = gb_synth_query_entity(truth, row.query);
            cr_assert_eq(row.grade, 1);
            cr_expect_eq(entity, w->facts[fact].entity);
            cr_expect_eq(gb_synth_passage_entity(truth, row.passage), entity);
            cr_expect(synth_world_states(&w->passages[row.passage], fact));
            cr_expect(j == 0 || qrels.rows[j - 1].query != row.query, "two positives");
        }
        free(qrels.rows);
    }
    cr_expect_eq(gb_synth_passage_entity(truth, c->passages), GB_MAP_NONE);
    gb_synth_truth_close(truth);
    gb_synth_destroy(w);
    gb_collection_close(c);
    scratch_leave(&s);
}

/* A passage of the entity, or of another one, that is not `but`. */
static uint32_t find_passage(const gb_synth_truth *truth, uint32_t entity, bool same, uint32_t but)
{
    uint32_t passage = 0;
    while (passage == but || (gb_synth_passage_entity(truth, passage) == entity) != same)
        passage++;
    return passage;
}

/* One query whose positive comes first, and one where others of its entity and of another do. */
Test(world, a_ranking_is_diagnosed)
{
    scratch s = scratch_enter();
    gb_collection *c = generate(1, "a");
    gb_synth_truth *truth;
    gb_split dev;
    gb_run run = {0};
    cr_assert(gb_synth_truth_open(c, &truth, NULL) && gb_split_open(c, "dev", &dev, NULL));
    for (int i = 0; i < 2; i++) {
        uint32_t positive = dev.qrels.rows[i].passage;
        uint32_t entity = gb_synth_passage_entity(truth, positive);
        uint32_t near = find_passage(truth, entity, true, positive);
        uint32_t far = find_passage(truth, entity, false, positive);
        gb_hit hits[] = {{i ? far : positive, 3}, {near, 2}, {i ? positive : far, 1}};
        cr_assert(gb_run_add(&run, dev.qrels.rows[i].query, hits, 3, NULL));
    }
    json_t *facts = json_object();
    gb_synth_diagnose(truth, &dev, &run, facts);
    cr_expect_eq(json_real_value(json_object_get(facts, "right_entity_at_rank_1")), .5);
    cr_expect_eq(json_real_value(json_object_get(facts, "place_inside_entity")), .5);
    json_decref(facts);
    gb_run_free(&run);
    gb_split_free(&dev);
    gb_synth_truth_close(truth);
    gb_collection_close(c);
    scratch_leave(&s);
}

enum { TOPICS = 550 };

Test(world, topics_have_graded_judgements)
{
    world *w = make(1);
    for (uint32_t s = SPLIT_DL19; s <= SPLIT_DL20; s++) {
        const world_split *split = &w->splits[s];
        cr_assert_eq(split->count, TOPICS);
        uint32_t grades[4] = {0}, best[TOPICS] = {0}, second[TOPICS] = {0}, with_second = 0;
        for (size_t i = 0; i < split->judgement_count; i++) {
            gb_qrel j = split->judgements[i];
            const world_query *topic = &split->queries[j.query];
            const world_passage *passage = &w->passages[j.passage];
            bool same = passage->entity == w->facts[topic->fact].entity;
            cr_assert(j.grade >= 0 && j.grade <= 3);
            grades[j.grade]++;
            best[j.query] += j.grade == 3;
            second[j.query] += j.grade == 2;
            if (synth_world_states(passage, topic->fact))
                cr_expect_eq(j.grade, 3);
            if (j.grade == 1)
                cr_expect(same);
            if (same)
                cr_expect_geq(j.grade, 1);
        }
        for (uint32_t i = 0; i < TOPICS; i++) {
            cr_expect_gt(best[i], 0, "topic %u has no answer", i);
            with_second += second[i] > 0;
        }
        for (int g = 0; g < 4; g++)
            cr_expect_geq(grades[g], TOPICS, "grade %d: %u", g, grades[g]);
        cr_expect_gt(with_second, TOPICS * 9 / 10, "%u topics have a second grade", with_second);
    }
    gb_synth_destroy(w);
}

/* ---- reading queries ---- */

static bool reads(const world *w, uint32_t passage, const char *query)
{
    return synth_world_is_about(w, passage, query, strlen(query));
}

/* The reader knows every question that the writer puts, and takes no other for one. */
Test(world, reads_what_it_writes)
{
    world *w = make(1);
    uint32_t wrong[GENERATED_COUNT] = {0}, all[GENERATED_COUNT] = {0};
    for (uint32_t row = 0; row < w->passage_count; row++)
        for (uint32_t k = 0; k < w->generated_count; k++) {
            size_t at = (size_t)row * w->generated_count + k;
            uint8_t kind = w->generated_kinds[at];
            all[kind]++;
            wrong[kind] += reads(w, row, w->generated[at]) != (kind == GENERATED_ABOUT);
        }
    for (int kind = 0; kind < GENERATED_COUNT; kind++)
        cr_expect_lt(wrong[kind], all[kind] / 50 + 1, "kind %d: %u of %u", kind, wrong[kind],
                     all[kind]);
    for (uint32_t s = 0; s < w->split_count; s++)
        for (uint32_t i = 0; i < w->splits[s].count; i++) {
            const world_query *q = &w->splits[s].queries[i];
            cr_expect(reads(w, q->positive, q->text), "%s", q->text);
        }
    cr_expect_not(reads(w, 0, ""));
    cr_expect_not(reads(w, 0, w->passages[0].text));
    cr_expect_not(reads(w, 0, w->entities[w->passages[0].entity].name));
    gb_synth_destroy(w);
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

Test(world, is_made_again_from_its_collection)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    gb_collection *c = generate(7, "a");
    world *w = NULL;
    cr_assert(gb_synth_of_collection(c, &w, &status));
    cr_assert_not_null(w);
    size_t length;
    for (uint32_t p = 0; p < c->passages; p += 100) {
        const char *text = gb_row_file_row(c->texts, p, &length);
        cr_expect(length == strlen(w->passages[p].text) &&
                  !memcmp(text, w->passages[p].text, length));
    }
    gb_synth_destroy(w);
    scratch_write("a/world.json", "{\"version\": 1, \"world_seed\": 7, \"set\": \"main\"}");
    cr_expect_not(gb_synth_of_collection(c, &w, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_null(w);
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(world, refuses_a_folder_with_other_files)
{
    scratch s = scratch_enter();
    scratch_write("mine/notes.txt", "keep");
    gb_status status = {0};
    cr_expect_not(gb_synth_generate(1, "main", "mine", &status));
    cr_expect_eq(status.code, GB_USAGE);
    cr_expect(gb_file_exists("mine/notes.txt"));
    scratch_leave(&s);
}
