-- Bag-of-word prediction, Figures 2 to 5: which tokens of a text the [CLS] vectors of six encoders hold
-- cost: mini about 5 minutes after bow/table1 and bow/table3

settings.passage_tokens = settings.long_passage_tokens
local set, models, mlm

-- Of models "NAME=encoder", with the last seed that was begun.
local function coverage(label, seed, models, ...)
  return artifact(label .. ", seed " .. seed, "coverage", "--collection", set.collection, "--tokens", set.tokens, models,
    "--reference", mlm, {...}, "--seed", seed)
end

local last
for seed in seeds() do
  mlm, models, last = begin_seed(general_set), {}, seed
  for scheme in each("bert", "mlm", "autoencoding", "autoregression", "enhanced", "bow") do
    use(general_set)
    local encoder = pretrain_scheme(scheme, mlm)
    set = use "main"
    local model = {"--model", scheme .. "=" .. encoder}
    note_row(scheme, coverage("coverage of " .. scheme, seed, model))
    models[#models + 1] = model
  end
end
page(coverage("token coverage", last, models, "--variants"), "coverage.html")
