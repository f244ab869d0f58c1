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
local function development()
  if settings.dev == "none" then return {} end
  return {"--dev", settings.dev, "--dev-measure", settings.dev_measure, "--dev-queries", settings.dev_queries,
    "--dev-passages", settings.dev_passages, "--patience", settings.patience}
end

local encoder = starting_point()
if run.init and settings.scoring == "dense" then row("before", encoder) end

local cuts = settings.matryoshka
local how = {options = {"--scoring", settings.scoring, option("--matryoshka", cuts ~= "-" and cuts), development()}}
local retriever
for round = 1, tonumber(settings.rounds) do
  retriever = round == 1 and finetune_as(how, encoder, here.set.bm25)
    or finetune_as(how, encoder, mine(retriever), here.set.bm25)
  row("round " .. round, retriever)
end
