-- COSTA, Table 6: the projector of [CLS] in pre-training, and in fine-tuning.
-- cost: mini about 5 minutes a seed after costa/table4

settings.passage_tokens = settings.long_passage_tokens
local base = {"--spans", 3, "--temperature", settings.costa_ablation_temperature}
use "main"
bm25_negatives()

for seed in seeds() do
  begin_seed(general_set)
  for projector in each("nonlinear", "linear", "none") do
    costa_ablation("pretrain-" .. projector, {"--projector", projector, base})
  end
  for projector in each("nonlinear", "linear", "none") do
    costa_ablation("finetune-" .. projector, base, {"--projector", projector})
  end
end
