-- LLM document expansion, Figure 3: bottlenecked query generation with a curriculum, fine-tuned
-- cost: mini about 12 minutes a seed after llm/table2

figure("Curriculum of bottlenecked query generation, fine-tuned (retriever 2)", "passages with generated queries",
  "dev:MRR@10", "MRR@10")
use "main"
bm25_negatives()

for seed in seeds() do
  local mlm = begin_seed()
  local _, second = retrievers(pretrain("bottleneck", "self", mlm))
  level("baseline: the passage itself, all steps", second, "baseline")
  local written = queries "world-13b"
  read(written)
  local full = pretrain("bottleneck", "query", mlm, "--queries", settings.generated_queries)
  local coarse = curriculum("bottleneck", "self")
  for i, passages in ipairs(words(settings.curriculum_passages)) do
    read(written)
    local encoder = curriculum_end("bottleneck", coarse, passages)
    use "main"
    local _, second = retrievers(encoder)
    local row = paper_row({"400k", "1m", "2m", "4m", "8.8m"}, i, "curriculum_passages")
    point("curriculum: the passage itself, then queries of Alpaca 13b", passages, second, "curriculum-" .. row)
  end
  use "main"
  local _, second = retrievers(full)
  level("queries of Alpaca 13b for all passages, all steps", second, "full")
end
