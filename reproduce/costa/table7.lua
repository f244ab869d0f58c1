-- COSTA, Table 7: the temperature.
-- cost: mini about 5 minutes a seed after costa/table4

settings.passage_tokens = settings.long_passage_tokens
use "main"
bm25_negatives()

for seed in seeds() do
  begin_seed(general_set)
  for temperature in each("10", "1", "0.1", "0.01") do
    costa_ablation("temperature-" .. temperature, {"--temperature", temperature, "--spans", 3})
  end
end
