-- Query-as-context, Table 5: how often two passages of a document, and a passage and a generated query,
-- are strongly related. Nothing is trained: the seed draws the pairs.
-- cost: mini a second

local set = use(setting("pretraining_set", "main")) -- where the spans are

for seed in seeds() do
  for of in each("spans", "queries") do
    note_row(of, artifact("related " .. of .. ", seed " .. seed, "relatedness", "--collection", set.collection,
      option("--queries", set.written), "--of", of, "--pairs", settings.annotated_pairs, "--seed", seed))
  end
end
