-- COSTA, Figure 3: a query and its hundred best passages for SEED and COSTA, by t-SNE and in space
-- Both are fine-tuned with few queries (the paper's 1,000).
-- cost: mini a minute after costa/fig4; one seed

settings.passage_tokens = settings.long_passage_tokens
local set = use "main"
local seed = run.seeds[1]
bm25_negatives()
begin_seed(general_set)
local number = words(settings.few_queries)[2]
local weak = few(costa_encoder "seed", number)
local strong = few(costa_encoder "costa", number)
page(artifact("map of a query, seed " .. seed, "tsne", "--collection", set.collection, "--tokens", set.tokens, "--model",
  "SEED=" .. weak, "--model", "COSTA=" .. strong, "--seed", seed), "tsne.html")
