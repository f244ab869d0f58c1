-- Bag-of-word prediction, Table 6: the encoder's mask ratio, and what remains without bag-of-word
-- prediction, on eighteen sets of other domains.
-- cost: mini about 4 minutes a seed

settings.passage_tokens = settings.long_passage_tokens
local sets = words(settings.beir_sets .. " " .. settings.beir_private_sets)

local function rows(key, encoder)
  use "main"
  local _, second = retrievers(encoder)
  row_on(sets, key, second)
  row_before(key, encoder)
end

for seed in seeds() do
  use "main"
  bm25_negatives()
  local mlm = begin_seed(general_set)
  rows("bert", mlm)
  for percent in each("15", "30", "45") do
    use "wikipedia"
    rows("bow-" .. percent, pretrain_scheme("bow", mlm, "none", "0." .. percent))
  end
  use "wikipedia"
  rows("mlm", pretrain_scheme("mlm", mlm, "none", "0.15")) -- the ratio of the row that it takes the task from
end
