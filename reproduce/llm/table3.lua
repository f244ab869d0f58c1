-- LLM document expansion, Table 3: the encoders of Table 1, without fine-tuning, on fourteen sets of
-- other domains.
-- cost: mini a minute after llm/table1

use "main"
local sets = words(settings.beir_sets)

for seed in seeds() do
  local mlm = begin_seed()
  row_on(sets, "bm25", "bm25")
  for name in each("simcse", "cocondenser", "contriever") do
    row_on(sets, name, other_system(name))
  end
  row_on(sets, "contrast-span", pretrain("cocondenser", "span", mlm))
  for generator in each("3b", "7b", "13b") do
    read(queries("world-" .. generator))
    row_on(sets, "contrast-" .. generator, pretrain("cocondenser", "query", mlm, "--queries", settings.generated_queries))
  end
  use "main"
end
