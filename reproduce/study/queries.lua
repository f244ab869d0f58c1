-- A study of our own: query-as-context by the number of queries of a passage and by who wrote them
-- cost: mini about 25 minutes a seed

figure("Query-as-context: queries of a passage and their generator", "queries of a passage", "dev:MRR@10", "MRR@10")
use "main"
bm25_negatives()

-- A curve over the first 1, 2 ... queries of each passage.
local function by_number(series, mlm)
  for number in each(words(settings.study_queries)) do
    local encoder = pretrain("cocondenser", "query", mlm, "--queries", number)
    point(series, number, finetune(encoder))
  end
end

for seed in seeds() do
  local mlm = begin_seed()
  level("spans of the document", finetune(pretrain("cocondenser", "span", mlm)))
  if run.generator and run.generator ~= "trained" then
    by_number(run.generator:match "([^/]*)/*$", mlm)
  else
    for generator in each(words(settings.study_generators)) do
      local name = "generator " .. generator:gsub("^world%-", "")
      if run.generator then name = "trained generator, " .. generator_size(generator) end
      read(queries(generator))
      by_number(name, mlm)
      use "main"
    end
  end
end
