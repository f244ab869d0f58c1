-- Query-as-context, Table 4: queries alone as contexts against half queries, half spans.
-- cost: mini about 4 minutes a seed after qac/table1

use "main"
bm25_negatives()

for seed in seeds() do
  local mlm = begin_seed()
  for method in each("cocondenser", "cotmae") do
    retriever_rows(method .. "-query", pretrain(method, "query", mlm))
    retriever_rows(method .. "-mixed", pretrain(method, settings.mixed_context, mlm))
  end
end
