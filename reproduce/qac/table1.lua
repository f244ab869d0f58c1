-- Query-as-context, Table 1: generated queries against spans of the same document as context, for
-- coCondenser and CoT-MAE; two rounds of fine-tuning. Beside it the same encoder without contextual
-- pre-training, random initialisation, and BM25. Systems of other papers that the table quotes are made
-- with --rows NAME, --rows all or reproduce all (retriever 2).
-- cost: mini about 13 minutes a seed, two commands at once on two CPU cores

use "main"
bm25_negatives()

for seed in seeds() do
  row("bm25", "bm25")
  local mlm, random = begin_seed()
  if run.init then row("init", mlm) end
  retriever_rows("random", random)
  retriever_rows("mlm", mlm)
  for method in each("cocondenser", "cotmae") do
    for context in each("span", "query") do
      retriever_rows(method .. "-" .. context, pretrain(method, context, mlm))
    end
  end
  on_request(function()
    local written = here.set.written -- else the collection's own
    bm25_row("doct5query", "--queries-per-passage", 40, option("--generated", written))
    bm25_row("bm25-rm3", "--rm3")
  end)
  for name in each("seed", "costa", "condenser", "simlm", "retromae", "cocondenser", "cotmae") do
    on_request(function()
      local encoder = other_system(name)
      local _, second = retrievers(encoder)
      row(name, second, encoder)
    end)
  end
  on_request(function() deepct_row("deepct", mlm) end)
  for name in each("nprinc", "ance", "tas-b", "coil", "colbert", "rocketqa", "pair", "led") do
    on_request(function() row(name, other_retriever(name, mlm), mlm) end)
  end
  -- Not in the paper: what one would try on a collection of one's own.
  on_request(function() reranked_row("bm25-cross", cross_encoder(mlm), "bm25") end)
  local function lexical() -- an encoder of --init may lack the masked-LM head, which is then made on the passages
    return splade_doc(run.init and pretrain("mlm", "none", mlm) or mlm)
  end
  on_request(function() row("splade-doc", lexical(), mlm) end)
  on_request(function()
    fused_row("fused", "bm25", finetune(mlm), late_interaction("tokens", mlm), lexical())
  end)
end
