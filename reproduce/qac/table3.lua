-- Query-as-context, Table 3: the number of generated queries of a passage from which contexts are drawn.
-- cost: mini about 9 minutes a seed after qac/table1

settings.queries_per_passage = 20 -- of a collection without queries: as many as the last row reads
use "main"
bm25_negatives()

for seed in seeds() do
  local mlm = begin_seed()
  for method in each("cocondenser", "cotmae") do
    for number in each(1, 5, 10, 20) do
      retriever_rows(method .. "-" .. number, pretrain(method, "query", mlm, "--queries", number))
    end
  end
end
