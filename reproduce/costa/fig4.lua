-- COSTA, Figure 4: fine-tuning with few queries, three samples of each number
-- cost: mini about 5 minutes a seed after costa/table1

settings.passage_tokens = settings.long_passage_tokens
figure("Fine-tuning with few training queries", "training queries", "dev:MRR@10", "MRR@10")
use "main"
bm25_negatives()

for seed in seeds() do
  begin_seed(general_set)
  level("BM25", "bm25", "bm25")
  for name in each("SEED", "COSTA") do
    local encoder = costa_encoder(name:lower())
    for i, number in ipairs(words(settings.few_queries)) do
      local row = paper_row({500, 1000, 2000, 5000}, i, "few_queries") -- of 500,000 training queries
      few_point(name, number, encoder, name:lower() .. "-" .. row)
    end
  end
end
