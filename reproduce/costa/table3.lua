-- COSTA, Table 3: COSTA with plain fine-tuning beside advanced methods of fine-tuning from BERT.
-- cost: mini some minutes a seed after costa/table1

settings.passage_tokens = settings.long_passage_tokens
use "main"
bm25_negatives()

for seed in seeds() do
  local mlm = begin_seed(general_set)
  for system in each("ance", "tct-colbert", "tas-b", "adore-star", "rocketqa") do
    row(system, other_retriever(system, mlm), mlm)
  end
  local encoder = costa_encoder "costa"
  local _, second = costa_retrievers(encoder)
  row("costa-r2", second, encoder)
end
