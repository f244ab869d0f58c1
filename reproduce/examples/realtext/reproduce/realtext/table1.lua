-- Systems that start from one published encoder and learn from SciFact's training questions, judged on SciFact and,
-- without further training, on CACM and on passages of SQuAD.
-- cost: two to three hours a seed on two CPU cores, with all-MiniLM-L6-v2 and the settings beside

if not run.init then refuse "give an encoder to start from: --init MODEL" end

use "main"
bm25_negatives()
for seed in seeds() do
  local encoder = begin_seed()
  local cross = cross_encoder(encoder)
  local sparse = splade_doc(pretrain("mlm", "none", encoder)) -- makes the masked-LM head, which the encoder may lack
  local late = late_interaction("tokens", encoder)
  for set in each("main", "beir-cacm", "beir-squad") do
    use(set)
    row_on(set, "bm25", "bm25")
    row_on(set, "init", encoder)
    reranked_row("bm25-cross", cross, "bm25", "--depth", settings.bm25_depth)
    row_on(set, "splade-doc", sparse)
    row_on(set, "colbert", late)
    fused_row("fused", "bm25", encoder, sparse, late)
    use "main"
  end
end
