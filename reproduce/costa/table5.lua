-- COSTA, Table 5: the number of spans of a granularity.
-- cost: mini about 5 minutes a seed after costa/table4

settings.passage_tokens = settings.long_passage_tokens
use "main"
bm25_negatives()

for seed in seeds() do
  begin_seed(general_set)
  for spans in each(3, 5, 10, 20) do
    costa_ablation("spans-" .. spans, {"--spans", spans, "--temperature", settings.costa_ablation_temperature})
  end
end
