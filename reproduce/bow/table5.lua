-- Bag-of-word prediction, Table 5: six schemes of pre-training, BM25's negatives (retriever 1) against
-- mined ones (retriever 2), on passages and on questions with answers.
-- cost: mini about six minutes a seed after bow/table1, 2 and 3

settings.passage_tokens = settings.long_passage_tokens
for seed in seeds() do
  local mlm = begin_seed(general_set)
  for scheme in each("bert", "mlm", "autoencoding", "autoregression", "enhanced", "bow") do
    use "main"
    bm25_negatives()
    retriever_rows(scheme, pretrain_scheme(scheme, mlm))
    use "wikipedia"
    local encoder = pretrain_scheme(scheme, mlm)
    for questions in each("nq", "triviaqa") do
      use(questions)
      bm25_negatives()
      local first, second = retrievers(encoder)
      row_on(questions, scheme .. "-r1", first, encoder)
      row_on(questions, scheme .. "-r2", second, encoder)
    end
  end
end
