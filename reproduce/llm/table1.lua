-- LLM document expansion, Table 1: contrastive pre-training with queries of three generators as contexts
-- against spans of the document; the encoder as it comes from pre-training, without fine-tuning.
-- cost: mini about 7 minutes a seed

use "main"

for seed in seeds() do
  row("bm25", "bm25")
  local mlm = begin_seed()
  row("mlm", mlm)
  for name in each("simcse", "cocondenser", "contriever") do
    row(name, other_system(name))
  end
  row("contrast-span", pretrain("cocondenser", "span", mlm))
  for generator in each("3b", "7b", "13b") do
    read(queries("world-" .. generator))
    row("contrast-" .. generator, pretrain("cocondenser", "query", mlm, "--queries", settings.generated_queries))
  end
  use "main"
end
