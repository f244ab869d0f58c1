-- The words of recipes, 3 of 3: evaluation, rows of tables and points of figures.

-- ---- evaluation and results ----------------------------------------------------------------------

-- main's columns do not name their set.
local function columns_of(set)
  return set ~= "main" and set or nil
end

-- All measures on all evaluation splits of the set at hand, of a retriever or "bm25"; options behind.
local function evaluate(retriever, ...)
  local identical = identical_passages()
  local depth = {"--depth", settings.search_depth, ...}
  if retriever == "bm25" then
    return artifact("evaluate bm25", "evaluate", "--bm25", "--collection", here.set.collection, depth, identical)
  end
  local set = columns_of(here.set.name)
  return artifact(with_seed("evaluate" .. (set and " on " .. set or "")), "evaluate", "--model", retriever, "--collection",
    here.set.collection, "--tokens", here.tokens, depth, run.ranks, identical)
end

-- The same, with whole rankings for what goes on from them.
local function rankings(retriever)
  return evaluate(retriever, "--keep", settings.search_depth)
end

local function mean_of(label, evaluations)
  local of = {}
  for i, evaluation in ipairs(evaluations) do of[i] = {"--of", evaluation} end
  return artifact(with_seed("mean of " .. label), "mean", of)
end

-- On another set, which is then at hand. A set of several collections (parts_SET: CQADupStack's forums)
-- counts with the mean of theirs; its plan is that of one collection.
local function evaluate_on(set, retriever)
  local parts = words(setting("parts_" .. key_of(set), ""))
  if #parts == 0 or run.plan then
    use(set)
    return evaluate(retriever)
  end
  local evaluations = {}
  for i, part in ipairs(parts) do
    use(set .. "/" .. part)
    evaluations[i] = evaluate(retriever)
  end
  return mean_of(set, evaluations)
end

local function note(fields, retriever)
  fields.seed = here.seed
  fields.model = retriever ~= "bm25" and retriever or ""
  result(fields)
end

-- A row whose values are in an artifact; set: of the columns, where it is not the table's.
function note_row(key, evaluation, set)
  note {row = key, evaluation = evaluation, set = set}
end

-- A row of what a cross-encoder, which the row trained, makes of the first passages of a retriever or of "bm25".
function reranked_row(key, cross, first, ...)
  local evaluation = artifact(with_seed("evaluate " .. key), "evaluate", "--runs", rerank(cross, rankings(first), ...),
    "--collection", here.set.collection, "--depth", settings.search_depth, identical_passages())
  note({row = key, evaluation = evaluation, set = columns_of(here.set.name)}, cross)
end

-- A row of the rankings of several retrievers, or "bm25", fused by reciprocal ranks.
function fused_row(key, ...)
  local fused = {}
  for retriever in each(...) do fused[#fused + 1] = {"--fuse", rankings(retriever)} end
  note_row(key, artifact(with_seed("evaluate " .. key), "evaluate", fused, "--collection", here.set.collection, "--depth",
    settings.search_depth, identical_passages()), columns_of(here.set.name))
end

-- What an encoder finds before it is fine-tuned: a column of our own.
function row_before(key, encoder, set)
  note {row = key, evaluation = evaluate(encoder), set = "before" .. (set and "/" .. set or "")}
end

-- A row of the table: a retriever or "bm25", with the encoder that it was fine-tuned from.
function row(key, retriever, encoder)
  note({row = key, evaluation = evaluate(retriever)}, retriever)
  if encoder then row_before(key, encoder) end
end

-- A row of GAR: rankings of BM25 by questions with what generators wrote for them (of gar), taken in turn.
function gar_row(key, ...)
  local all = {}
  for _, written in ipairs {...} do
    all[#all + 1] = {"--fuse", artifact("evaluate " .. key .. ", one text", "evaluate", "--bm25", "--collection",
      here.set.collection, "--expansions", written, "--depth", settings.search_depth, "--keep", settings.search_depth)}
  end
  note_row(key, artifact("evaluate " .. key, "evaluate", all, "--fusion", "turns", "--collection", here.set.collection,
    "--depth", settings.search_depth, identical_passages()), columns_of(here.set.name))
end

-- A row of BM25 with options, e.g. "--rm3", on the set at hand.
function bm25_row(key, ...)
  note_row(key, artifact("evaluate " .. key, "evaluate", "--bm25", "--collection", here.set.collection, {...}, "--depth",
    settings.search_depth, identical_passages()), columns_of(here.set.name))
end

-- BM25 with the frequencies of words that an encoder gives once it has learned DeepCT's weights.
function deepct_row(key, encoder)
  bm25_row(key, "--term-weights", deepct(encoder), "--k1", "10", "--b", "0.9")
end

-- A row on other sets of the world, a list or one.
function row_on(names, key, retriever, encoder)
  local before = here.set.name
  for name in each(names) do
    note({row = key, evaluation = evaluate_on(name, retriever), set = columns_of(name)}, retriever)
    if encoder then row_before(key, encoder, columns_of(name)) end
  end
  use(before)
end

-- Rows NAME-r1 and NAME-r2.
function retriever_rows(name, encoder)
  local first, second = retrievers(encoder)
  row(name .. "-r1", first, encoder)
  row(name .. "-r2", second, encoder)
end

-- A row of COSTA's ablations: 3 spans of a granularity and the ablations' temperature unless options of
-- the task differ, pre-trained half as long as elsewhere.
function costa_ablation(key, options, finetuning)
  use(general_set)
  local encoder = pretrain_as({steps = steps_here "costa" // 2}, "costa", "none", here.mlm, options or {})
  use "main"
  row(key, finetune_as({options = finetuning}, encoder, here.set.bm25), encoder)
end

-- A point of a curve, or without x a dashed line; key: it is a row of the figure's table too.
local function mark(series, x, evaluation, retriever, key)
  note({series = series, x = x, evaluation = evaluation, row = key}, retriever)
end

function point(series, x, retriever, key)
  mark(series, x, evaluate(retriever), retriever, key)
end

function level(series, retriever, key)
  mark(series, nil, evaluate(retriever), retriever, key)
end

-- The row of the paper that the i-th number of a setting stands for.
function paper_row(rows, i, setting_name)
  return rows[i] or refuse(setting_name .. " has " .. #rows .. " numbers at most, as the figure has points")
end

-- The mean over three samples of so many queries, and over batches and rates.
function few_point(series, number, encoder, key)
  local evaluations, seed = {}, here.seed
  if seed > math.maxinteger // 10 - 1 then refuse "the seed is too large: each sample has ten times it and its number" end
  for sample = 1, 3 do
    here.seed = seed * 10 + sample -- of fine-tuning: it draws the sample
    for batch in each(words(settings.few_batches)) do
      for rate in each(words(settings.few_learning_rates)) do
        evaluations[#evaluations + 1] = evaluate(few(encoder, number, batch, rate))
      end
    end
  end
  here.seed = seed
  mark(series, number, mean_of("samples of " .. number .. " queries", evaluations), nil, key)
end

-- From here on a name must be known to be used, and what a recipe names is local.
setmetatable(_G, {
  __index = function(_, name) error("there is no " .. name, 2) end,
  __newindex = function(_, name) error("say: local " .. name, 2) end,
})
