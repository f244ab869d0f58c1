-- COSTA, Table 4: what each granularity of spans adds. As in the paper, a text has 12 spans: 3 of each
-- granularity, or 4 of each that is left.
-- cost: mini about 9 minutes a seed

settings.passage_tokens = settings.long_passage_tokens
use "main"
bm25_negatives()

for seed in seeds() do
  begin_seed(general_set)
  costa_ablation("all", {"--spans", 3, "--temperature", settings.costa_ablation_temperature})
  for level in each("word", "phrase", "sentence", "paragraph") do
    local others = {}
    for other in each("word", "phrase", "sentence", "paragraph") do
      if other ~= level then others[#others + 1] = other end
    end
    costa_ablation("without-" .. level, {"--granularities", table.concat(others, ","), "--spans", 4, "--temperature",
      settings.costa_ablation_temperature})
  end
end
