-- Bag-of-word prediction, Table 2: the same schemes, pre-trained on long articles, on two sets of
-- questions with answers.
-- cost: mini about 11 minutes a seed

settings.passage_tokens = settings.long_passage_tokens
for seed in seeds() do
  local mlm = begin_seed(general_set)
  for scheme in each("bert", "mlm", "autoencoding", "autoregression", "enhanced") do
    use "wikipedia"
    local encoder = pretrain_scheme(scheme, mlm)
    use "nq" -- whose passages stand for those of Wikipedia that are searched: not what was read
    note_row(scheme, mlm_loss(encoder), "nq")
    for questions in each("nq", "triviaqa") do
      use(questions)
      bm25_negatives()
      local _, second = retrievers(encoder)
      row_on(questions, scheme, second, encoder)
    end
  end
end
