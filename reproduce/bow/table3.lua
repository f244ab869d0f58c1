-- Bag-of-word prediction, Table 3: the main results (retriever 2) on passages and on questions with
-- answers, beside the systems that the paper quotes and this project has.
-- cost: mini about 11 minutes a seed after bow/table1 and bow/table2

settings.passage_tokens = settings.long_passage_tokens
for seed in seeds() do
  use "main"
  bm25_negatives()
  row("bm25", "bm25")
  row_on({"nq", "triviaqa"}, "bm25", "bm25")
  local mlm = begin_seed(general_set)
  row("splade", other_retriever("splade", mlm), mlm)
  for system in each("dpr", "ance", "rocketqa") do
    for set in each("main", "nq", "triviaqa") do
      use(set)
      bm25_negatives()
      row_on(set, system, other_retriever(system, mlm), mlm)
    end
  end
  for system in each("seed", "condenser", "cocondenser", "simlm", "enhanced", "bow") do
    local function encoder_for(set)
      if system ~= "bow" then return other_system(system == "enhanced" and "retromae" or system, set) end
      use(set)
      return pretrain_scheme(system, mlm)
    end
    local encoder = encoder_for "main"
    use "main"
    bm25_negatives()
    local _, second = retrievers(encoder)
    row(system, second, encoder)
    encoder = encoder_for "wikipedia"
    for questions in each("nq", "triviaqa") do
      use(questions)
      bm25_negatives()
      local _, second = retrievers(encoder)
      row_on(questions, system, second, encoder)
    end
  end
end
