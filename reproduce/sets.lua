-- The words of recipes, 1 of 3: sets of the world, their texts, and who writes queries for them.
--
-- A recipe says how a table is made: each function declares artifacts, by artifact(LABEL, COMMAND,
-- ARGUMENTS...), and gives what later ones are made from. Nothing runs while a recipe is read; what is
-- declared twice is made once. The host (src/reproduce/recipe.c) gives artifact, result, on_request, figure, page,
-- notice, at_hand, setting, settings, public, there, refuse and run. settings.NAME is a setting that must
-- be there, setting(NAME, OTHERWISE) one that may be missing.

-- What the functions below work on.
here = setmetatable({
  set = nil, -- the set at hand, see declare_set
  tokens = nil, -- ids of its texts, with its own generated queries or others (read)
  seed = run.seeds[1],
  vocabulary = nil, -- of all sets: that of main
  mlm = nil, -- where all other pre-training of a seed starts (begin_seed)
}, {__index = function(_, name)
  if name == "set" or name == "tokens" then error('no set is in use yet: begin with use "main"', 0) end
end})

initial_encoder = run.init or setting("initial_encoder", false)
-- What BERT and its further pre-training read, as against the passages that are searched.
local only_main = run.collection or setting "data_main" and not setting "data_wikipedia"
general_set = only_main and "main" or "wikipedia"

local sets = {} -- by name
local pretraining_set = setting "pretraining_set"

-- ---- words ---------------------------------------------------------------------------------------

-- The words of a text, as a list.
function words(text)
  local list = {}
  for word in text:gmatch "%S+" do list[#list + 1] = word end
  return list
end

-- for item in each("a", "b"), or of a list
function each(first, ...)
  local list, i = type(first) == "table" and first or {first, ...}, 0
  return function()
    i = i + 1
    return list[i]
  end
end

-- for seed in seeds(): all that is declared in the loop has this seed
function seeds()
  local next = each(run.seeds)
  return function()
    local given = next()
    here.seed = given or here.seed
    return given
  end
end

-- An option where there is a value, else nothing.
function option(name, value)
  return value and {name, value} or {}
end

-- The setting WHOSE_NAME, e.g. of an objective or a set, else NAME.
function own_setting(whose, name)
  return setting(whose .. "_" .. name) or settings[name]
end

function with_seed(label)
  return label .. ", seed " .. here.seed
end

-- ---- sets and their texts ------------------------------------------------------------------------

-- A set's name as a part of settings' names.
function key_of(set)
  return (set:gsub("[-/]", "_"))
end

-- The public collection that a set is at this scale; nothing: a set of the mini world.
function public_name(set)
  if set:find "^beir%-" then return setting "data_beir" and set end
  return setting("data_" .. key_of(set))
end

local function collection_of(set)
  local per_passage = {"--queries-per-passage", settings.queries_per_passage}
  if run.collection then
    return artifact("collection", "collection", "--from", run.collection, option("--queries", run.queries), per_passage)
  end
  local label = "collection " .. set
  local name = public_name(set)
  if not name and setting "data_main" then refuse("this scale has no texts of the set " .. set) end
  if not name then
    return artifact(label, "collection", "--world", settings.world_seed, option("--set", set ~= "main" and set))
  end
  local folder = public(name)
  local queries = folder .. ".queries.jsonl"
  -- BEIR's sets only judge, articles are only read.
  local keep = (set:find "^beir%-" or set == "wikipedia") and "--keep-splits" or {}
  return artifact(label, "collection", "--from", folder, option("--queries", there(queries) and queries), keep,
    option("--span-words", setting(key_of(set) .. "_span_words")), per_passage)
end

-- The documents cut into spans, for pre-training where passages have no documents.
local function spans()
  local documents = collection_of "documents"
  local queries = public(public_name "documents") .. ".spans.queries.jsonl"
  return artifact("spans of documents", "collection", "--cut", documents, "--span-words", settings.spans_span_words,
    option("--queries", there(queries) and queries), "--queries-per-passage", settings.queries_per_passage)
end

local function vocabulary_of(collection)
  if run.vocabulary then return artifact("vocabulary", "vocabulary", "--from", run.vocabulary) end
  if initial_encoder then
    return artifact("vocabulary", "vocabulary", "--from", public(initial_encoder) .. "/vocab.txt")
  end
  return artifact("vocabulary", "vocabulary", "--collection", collection, "--size", settings.vocabulary_tokens)
end

-- A prompt of the settings: "-" or none given: not said; "none": there is none.
local function prompt(side)
  local text = setting(side .. "_prompt", "-")
  return option("--" .. side .. "-prompt", text ~= "-" and (text == "none" and "" or text .. " "))
end

-- Ids of a set's texts, with other generated queries than its own, and of another length.
function tokens_of(set, queries, length)
  return artifact("tokens " .. set.name, "tokenize", "--collection", set.collection, "--vocabulary", here.vocabulary,
    "--passage-tokens", length or own_setting(set.key, "passage_tokens"), "--query-tokens", settings.query_tokens,
    option("--generated", queries), prompt "query", prompt "passage")
end

-- A T5 trained on the training queries of a set (collection and plain, its tokens): small, medium or large.
function train_generator(set, size)
  local width = setting("generator_" .. size .. "_hidden")
  if not setting "generator_epochs" then refuse "this scale has no settings of generators to train" end
  if not width then refuse('a generator is small, medium or large, not "' .. size .. '"') end
  return artifact("train generator, " .. size, "train-generator", "--collection", set.collection, "--tokens", set.plain,
    "--vocabulary", here.vocabulary, "--layers", settings["generator_" .. size .. "_layers"], "--hidden", width, "--heads",
    width // 16, "--ffn", 4 * width, "--epochs", settings.generator_epochs, "--batch", settings.generator_batch_pairs,
    "--learning-rate", settings.generator_learning_rate)
end

-- So many queries a passage by --generator, and how often they are about it.
local function written_by(set, size, number)
  local trained = run.generator == "trained"
  local model = trained and train_generator(set, size) or run.generator
  local how = trained and {"--name", "trained-" .. size, "--max-tokens", settings.query_tokens, "--prompt-tokens",
    settings.passage_tokens, "--batch", 128} or {}
  local wrote = artifact("queries, generator " .. size, "generate", "--model", model, "--collection", set.collection,
    "--queries", number, how, option("--prompt", setting "generator_prompt"))
  local related = artifact("relatedness, generator " .. size, "relatedness", "--collection", set.collection, "--queries",
    wrote, "--of", "queries", "--pairs", settings.annotated_pairs)
  notice(related, "generator " .. size .. ": ",
    " of " .. settings.annotated_pairs .. " queries are strongly related to their passage")
  return wrote
end

-- In ArguAna and Quora a query is a passage too; MS MARCO's ids are numbers that mean nothing.
function identical_passages(name)
  local asked = setting("drop_identical", "no")
  if asked ~= "yes" and asked ~= "no" then refuse('drop_identical is yes or no, not "' .. asked .. '"') end
  local dropped = here.set.name:find "^beir%-" and setting "data_beir" or asked == "yes"
  return dropped and (name or "--drop-identical") or {}
end

local function declare_set(name)
  if name ~= "main" and run.collection then refuse(run.table .. " needs sets that only the mini world has") end
  local set = {name = name, key = key_of(name)}
  set.collection = name == "spans" and spans() or collection_of(name)
  here.vocabulary = here.vocabulary or vocabulary_of(set.collection)
  set.plain = tokens_of(set)
  set.tokens = set.plain
  if run.generator and name == (pretraining_set or "main") then
    set.written = written_by(set, settings.generator_size, settings.generator_queries)
    set.tokens = tokens_of(set, set.written)
  end
  return set
end

-- Work on this set of the world from here on: main, wikipedia, nq, beir-scifact ...
function use(name)
  sets[name] = sets[name] or declare_set(name)
  here.set = sets[name]
  here.tokens = here.set.tokens
  at_hand(here.set.collection)
  return here.set
end

-- The three sizes in the place of the stand-ins for three language models.
function generator_size(name)
  local sizes = {["world-13b"] = "large", ["world-7b"] = "medium"}
  return sizes[name] or "small"
end

-- Queries that a generator writes for the passages at hand.
function queries(generator)
  if run.generator == "trained" then return written_by(here.set, generator_size(generator), settings.generated_queries) end
  if run.generator then refuse(run.table .. " compares generators: --generator trained") end
  if run.collection and generator:find "^world%-" then
    refuse(run.table .. " compares generators of the mini world: --generator trained makes others")
  end
  local name = public_name(here.set.name)
  local source = {"--generator", generator}
  if name and run.plan then
    source = {"--generator", "extractive"}
  elseif name then
    source = {"--from", public(name) .. "." .. generator:gsub("^world%-", "") .. ".jsonl"}
  end
  return artifact("queries " .. generator, "queries", "--collection", here.set.collection, source, "--queries-per-passage",
    settings.generated_queries)
end

-- The texts at hand have these generated queries, until another set is used.
function read(written)
  here.tokens = tokens_of(here.set, written)
end

-- The texts that encoders are pre-trained on, and their ids: those at hand, or in the place of main's those
-- of another set of the scale. Other queries than main's own, which some tables compare, were written for
-- main's passages.
function texts_to_pretrain_on(context)
  local set = here.set
  local others = here.tokens ~= set.tokens and (context == "query" or context:find "^mixed")
  if set.name ~= "main" or not pretraining_set or others then return set, here.tokens end
  local other = sets[pretraining_set] or declare_set(pretraining_set)
  return other, other.tokens
end
