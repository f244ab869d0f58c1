-- LLM document expansion, Figure 4: contrastive pre-training with a curriculum, without fine-tuning
-- cost: mini about 6 minutes a seed after llm/table1

figure("Curriculum of contrastive pre-training, without fine-tuning", "passages with generated queries", "dev:MRR@10",
  "MRR@10")
use "main"

for seed in seeds() do
  local mlm = begin_seed()
  level("baseline: spans, all steps", pretrain("cocondenser", "span", mlm), "baseline")
  read(queries "world-13b")
  local full = pretrain("cocondenser", "query", mlm, "--queries", settings.generated_queries)
  level("queries of Alpaca 13b for all passages, all steps", full, "full")
  local coarse = curriculum("cocondenser", "span")
  for i, passages in ipairs(words(settings.curriculum_passages)) do
    local encoder = curriculum_end("cocondenser", coarse, passages)
    local row = paper_row({"400k", "1m", "2m", "4m", "8.8m"}, i, "curriculum_passages")
    point("curriculum: spans, then queries of Alpaca 13b", passages, encoder, "curriculum-" .. row)
  end
  use "main"
end
