-- LLM document expansion, Table 2: contrastive pre-training and bottlenecked query generation with
-- queries of three generators, fine-tuned in two rounds.
-- cost: mini about 9 minutes a seed after llm/table1

use "main"
bm25_negatives()

local function second_row(name, encoder)
  local _, second = retrievers(encoder, name)
  row(name .. "-r2", second, encoder)
end

for seed in seeds() do
  local mlm = begin_seed()
  for name in each("contriever", "condenser", "cocondenser", "simlm", "retromae", "cotmae") do
    second_row(name, other_system(name))
  end
  second_row("contrast-span", pretrain("cocondenser", "span", mlm))
  second_row("bottleneck-self", pretrain("bottleneck", "self", mlm))
  for generator in each("3b", "7b", "13b") do
    read(queries("world-" .. generator))
    local contrast = pretrain("cocondenser", "query", mlm, "--queries", settings.generated_queries)
    local bottleneck = pretrain("bottleneck", "query", mlm, "--queries", settings.generated_queries)
    use "main"
    second_row("contrast-" .. generator, contrast)
    second_row("bottleneck-" .. generator, bottleneck)
  end
end
