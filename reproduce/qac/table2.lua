-- Query-as-context, Table 2: the encoders of Table 1, fine-tuned with hard negatives that are the same for all,
-- on fourteen sets of other domains that they never saw.
-- cost: mini a minute after qac/table1

use "main"
bm25_negatives()

for seed in seeds() do
  local mlm = begin_seed()
  local hard, bm25 = hard_negatives()
  for method in each("cocondenser", "cotmae") do
    for context in each("span", "query") do
      local encoder = pretrain(method, context, mlm)
      local retriever = finetune(encoder, hard, bm25)
      row_on(words(settings.beir_sets), method .. "-" .. context, retriever)
      row_before(method .. "-" .. context, encoder)
    end
  end
end
