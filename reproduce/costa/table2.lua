-- COSTA, Table 2: the models of Table 1, after both of their stages, on documents: two rounds of mined
-- negatives, each continuing.
-- cost: mini about 15 minutes a seed after costa/table1

settings.passage_tokens = settings.long_passage_tokens
use "main"
bm25_negatives()

for seed in seeds() do
  row_on("documents", "bm25", "bm25")
  local bert = begin_seed(general_set)
  use "documents"
  bm25_row("bm25-rm3", "--rm3")
  deepct_row("deepct", bert)
  use "main"
  for task in each("bert", "ict", "prop", "bprop", "seed", "costa") do
    local encoder = costa_encoder(task)
    local _, model = costa_retrievers(encoder)
    use "documents"
    for round in each("i1", "i2") do
      model = finetune(model, mine(model))
      row_on("documents", task .. "-" .. round, model, encoder)
    end
    use "main"
  end
end
