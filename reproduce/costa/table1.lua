-- COSTA, Table 1: contrastive span prediction against other tasks of pre-training on long articles;
-- fine-tuned with BM25's negatives (r1), then continued with mined ones (r2).
-- cost: mini about 13 minutes a seed

settings.passage_tokens = settings.long_passage_tokens
use "main"
bm25_negatives()

for seed in seeds() do
  row("bm25", "bm25")
  bm25_row("bm25-rm3", "--rm3")
  deepct_row("deepct", begin_seed(general_set))
  for task in each("bert", "ict", "prop", "bprop", "seed", "costa") do
    local encoder = costa_encoder(task)
    local first, second = costa_retrievers(encoder)
    row(task .. "-r1", first, encoder)
    row(task .. "-r2", second, encoder)
  end
end
