-- Bag-of-word prediction, Table 1: what masked auto-encoding with three kinds of decoders, on long articles,
-- does to the masked-LM loss on passages that it has not seen and to retrieval (retriever 2).
-- cost: mini about 4 minutes a seed

settings.passage_tokens = settings.long_passage_tokens
use "main"
bm25_negatives()

for seed in seeds() do
  local mlm = begin_seed(general_set)
  for scheme in each("bert", "mlm", "autoencoding", "autoregression", "enhanced") do
    use(general_set)
    local encoder = pretrain_scheme(scheme, mlm)
    use "main"
    note_row(scheme, mlm_loss(encoder), "main")
    local _, second = retrievers(encoder)
    row(scheme, second, encoder)
  end
end
