-- A retriever for a collection of one's own (`gabbro train`): from its texts to the test. train.settings has all settings.
-- cost: by the collection, the model and the device

here.seed = settings.seed
use "main"
bm25_negatives()
row("bm25", "bm25")

-- What fine-tuning starts from: the model, or a fresh one, after masked language modelling.
local function starting_point()
  local steps = tonumber(settings.mlm_steps)
  if not run.init and steps == 0 then refuse "give a model, or mlm_steps for a fresh one to be trained" end
  local model = run.init or random_encoder()
  if steps == 0 then return model end
  return artifact("pretrain mlm", "pretrain", "mlm", "--collection", here.set.collection, "--tokens", here.tokens,
    "--vocabulary", here.vocabulary, "--init", model, "--steps", steps, "--batch", settings.mlm_batch_passages,
    "--learning-rate", settings.mlm_learning_rate, "--mask-ratio", settings.mlm_mask_ratio, "--weight-decay",
    settings.pretrain_weight_decay, "--warmup", settings.warmup_ratio, "--dropout", settings.dropout, "--seed", here.seed,
    run.ranks, run.shards)
end

-- What is measured on the way.
local function development(cross)
  if settings.dev == "none" then return {} end
  return {"--dev", settings.dev, "--dev-measure", settings.dev_measure, "--dev-queries", settings.dev_queries,
    cross and {} or {"--dev-passages", settings.dev_passages}, "--patience", settings.patience,
    identical_passages "--dev-drop-identical"}
end

local encoder = starting_point()

-- A cross-encoder ranks what BM25 finds; the negatives of a later round are of the half that the one of the round before
-- ranks first: of all of it they would be those of the first round. It is measured on the way where a split for it is named.
local function train_cross()
  local dev = settings.dev
  local measured = dev ~= "auto" and dev ~= "none" and dev ~= "train" and {development(true), "--dev-run",
    artifact("bm25-run, " .. dev, "bm25-run", "--collection", here.set.collection, "--split", dev, "--depth", settings.bm25_depth,
    identical_passages())}
  local ranked = settings.bm25_depth // 1
  local cross
  for round = 1, tonumber(settings.rounds) do
    local how = {command = "finetune-cross", options = {"--extend-positions", measured or {}}}
    if round > 1 then
      how.label = "finetune-cross, negatives reranked"
      how.depth = math.min(settings.finetune_negative_depth // 1, math.max(ranked // 2, 1))
    end
    cross = finetune_as(how, encoder, round == 1 and here.set.bm25 or rerank(cross, here.set.bm25, "--depth", ranked))
    reranked_row("round " .. round, cross, "bm25", "--depth", settings.bm25_depth)
  end
end

local function train_retriever()
  if run.init and settings.scoring == "dense" then row("before", encoder) end
  local cuts = settings.matryoshka
  local how = {options = {"--scoring", settings.scoring, option("--matryoshka", cuts ~= "-" and cuts), development()}}
  local retriever
  for round = 1, tonumber(settings.rounds) do
    retriever = round == 1 and finetune_as(how, encoder, here.set.bm25)
      or finetune_as(how, encoder, mine(retriever), here.set.bm25)
    row("round " .. round, retriever)
  end
end

if settings.scoring == "cross" and settings.matryoshka ~= "-" then
  refuse "matryoshka is of vectors, which scoring = cross does not make"
end
if settings.scoring == "cross" then train_cross() else train_retriever() end
