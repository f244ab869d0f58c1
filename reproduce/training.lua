-- The words of recipes, 2 of 3: pre-training and fine-tuning.

-- ---- pre-training --------------------------------------------------------------------------------

-- An encoder that was not trained.
function random_encoder(ids)
  return artifact(with_seed "random encoder", "pretrain", "none", "--collection", here.set.collection, "--tokens",
    ids or here.tokens, "--vocabulary", here.vocabulary, "--layers", settings.encoder_layers, "--hidden", settings.encoder_hidden,
    "--heads", settings.encoder_heads, "--ffn", settings.encoder_ffn, "--init-std", settings.encoder_init_std, "--steps", 0,
    "--seed", here.seed)
end

-- A published encoder to start from. For a plan an untrained one of its size, with 512 positions, will do.
local function initial_model(name)
  if run.plan and not run.init then return random_encoder(tokens_of(here.set, nil, 512)) end
  return public(name)
end

-- how: steps, batch, rate and mask, and warmup and decoder where they are not the scale's; alone: by one process
local function train(set, ids, objective, context, encoder, how, ...)
  -- SimCSE's two views differ by nothing but dropout.
  local dropout = objective == "simcse" and settings.simcse_dropout or settings.dropout
  local own, decoder = {}, {}
  if objective == "condenser" or objective == "cocondenser" then
    own = {"--head-layers", settings.condenser_head_layers}
  elseif objective == "contriever" then
    own = {"--queue", settings.contriever_queue, "--momentum", settings.contriever_momentum}
  elseif objective == "simlm" then
    own = {"--generator", here.mlm}
  elseif objective == "cotmae" then
    decoder = how.decoder or {"--decoder", settings.cotmae_decoder, "--decoder-layers", settings.cotmae_decoder_layers}
  end
  -- Contriever's queue wants a batch at once.
  local divided = objective ~= "contriever" and
    {option("--micro-batch", setting "micro_batch"), how.alone and {} or run.ranks, run.shards} or {}
  return artifact(with_seed("pretrain " .. objective .. ", context " .. context), "pretrain", objective, {...},
    "--collection", set.collection, "--tokens", ids, "--vocabulary", here.vocabulary, "--context", context, "--steps", how.steps,
    "--batch", how.batch, "--learning-rate", how.rate, "--mask-ratio", how.mask, "--weight-decay",
    settings.pretrain_weight_decay, "--warmup", how.warmup or settings.warmup_ratio, "--dropout", dropout, "--init-std",
    settings.encoder_init_std, "--seed", here.seed, "--init", encoder, own, divided, decoder)
end

-- Steps on the set at hand: others on long articles (at scale mini fewer: texts are three times as long).
function steps_here(objective)
  return here.set.name == "wikipedia" and settings.article_steps or own_setting(objective, "context_steps")
end

-- As pretrain; how: steps, mask, warmup, decoder and alone where they are others than the scale's.
function pretrain_as(how, objective, context, encoder, ...)
  local start = not run.init and setting(objective .. "_encoder")
  if start and encoder == here.mlm then encoder = initial_model(start) end
  local set, ids = texts_to_pretrain_on(context)
  local schedule = setting "pretrain_schedule"
  return train(set, ids, objective, context, encoder, {
    steps = how.steps or steps_here(objective),
    batch = own_setting(objective, "context_batch_pairs"),
    rate = own_setting(objective, "context_learning_rate"),
    mask = how.mask or settings[objective .. "_mask_ratio"],
    warmup = how.warmup or setting(here.set.key .. "_warmup_ratio"),
    alone = how.alone,
    decoder = how.decoder,
  }, {...}, schedule and {"--schedule", schedule, "--final-rate", settings.pretrain_final_rate} or {})
end

-- An encoder trained further, with options of the objective behind. All objectives of a table share
-- steps, batch and rate; the mask ratio is the objective's own.
function pretrain(objective, context, encoder, ...)
  return pretrain_as({}, objective, context, encoder, ...)
end

-- Objectives that take a step each in turn, by one process, so that their times can be compared (cost).
function pretrain_interleaved(objective, context, encoder, others)
  local mask = objective == "mlm" and settings.bow_mask_ratio or nil
  return pretrain_as({mask = mask, alone = true}, objective, context, encoder, "--interleave-with", others)
end

-- The encoder trained by masked LM on that set (main), where all other pre-training of a seed starts, and
-- the random one that it is trained from; the set at hand is then main.
function begin_seed(set)
  use "main"
  local random = random_encoder()
  if initial_encoder then
    here.mlm = initial_model(initial_encoder)
    return here.mlm, random
  end
  use(set or "main")
  here.mlm = train(here.set, here.tokens, "mlm", "none", random, {
    steps = settings.mlm_steps,
    batch = settings.mlm_batch_passages,
    rate = settings.mlm_learning_rate,
    mask = settings.mlm_mask_ratio,
  })
  use "main"
  return here.mlm, random
end

-- The first 75% of the steps, with a cosine schedule.
function curriculum(objective, context)
  return pretrain_as({steps = steps_here(objective) * 3 // 4}, objective, context, here.mlm, "--schedule", "cosine")
end

-- The last 25% at a constant rate, on generated queries of so many passages.
function curriculum_end(objective, coarse, passages)
  return pretrain_as({steps = steps_here(objective) // 4, warmup = 0}, objective, "query", coarse, "--schedule", "constant",
    "--passages", passages, "--queries", settings.generated_queries)
end

-- One of the schemes that the bag-of-word paper compares; plain masked LM is the same pre-training
-- without anything beside it, bert the encoder as it is.
function pretrain_scheme(scheme, encoder, context, mask)
  if scheme == "bert" then return encoder end
  if scheme == "mlm" then mask = mask or settings.bow_mask_ratio end
  return pretrain_as({mask = mask}, scheme, context or "none", encoder)
end

-- A task of the COSTA paper, on the long articles: bert, the encoder as it is, or pre-training with
-- options of the task behind. The set at hand is then main.
function costa_encoder(task, ...)
  if task == "bert" then return here.mlm end
  if task == "seed" then return other_system "seed" end
  use(general_set)
  local encoder = pretrain(task, "none", here.mlm, ...)
  use "main"
  return encoder
end

-- A system of another paper as that paper trained it, as far as it goes here, for a set (main): its
-- published weights where the scale names their folder (NAME_model, unless it is "train"), which are for
-- main where they are for one set; else from mlm. The set at hand is then main.
function other_system(name, set)
  set = set or "main"
  local general = name == "condenser" or name == "seed" or name == "costa" -- trained once, for all sets
  local published = setting(name .. "_model", "train")
  if published ~= "train" and (general or set == "main") then return initial_model(published) end
  local encoder
  if general then
    use(general_set)
    encoder = pretrain(name, "none", here.mlm)
  elseif name == "cocondenser" then -- begins as a Condenser, which no row of coCondenser trained here does
    use(general_set)
    encoder = pretrain("condenser", "none", here.mlm)
    use(set)
    encoder = pretrain("cocondenser", "span", encoder)
  else
    use(set)
    if name == "cotmae" then -- 1,200,000 steps of 1,024 are half as many spans again as 50,000 of 16,384
      encoder = pretrain_as({steps = steps_here "cotmae" * 3 // 2, decoder = {"--decoder", "masked", "--decoder-layers", 2}},
        "cotmae", "span", here.mlm)
    else
      encoder = pretrain(name == "retromae" and "enhanced" or name, "none", here.mlm)
    end
  end
  use "main"
  return encoder
end

-- What an objective of pretrain_interleaved cost.
function cost(label, times, objective)
  return artifact(with_seed(label), "efficiency", "--of", times, "--objective", objective)
end

-- An encoder's masked-LM loss on passages of the set at hand.
function mlm_loss(encoder)
  return artifact(with_seed "masked-LM loss", "mlm-loss", "--model", encoder, "--collection", here.set.collection, "--tokens",
    here.tokens, "--vocabulary", here.vocabulary, "--mask-ratio", settings.mlm_mask_ratio)
end

-- ---- fine-tuning ---------------------------------------------------------------------------------

-- BM25's run over the training queries at hand, whose passages are the first negatives.
function bm25_negatives()
  here.set.bm25 = artifact("bm25 train", "bm25-run", "--collection", here.set.collection, "--split", "train", "--depth",
    settings.bm25_depth, identical_passages())
  return here.set.bm25
end

-- how: epochs, queries, batch, rate, negatives per query, the command, a label and
-- options where they are others than the scale's.
function finetune_as(how, encoder, run_of, other_run)
  local schedule = setting "finetune_schedule"
  local command = how.command or "finetune"
  local label = how.label or command .. ", negatives " .. (other_run and "mined and from BM25" or "from BM25")
  return artifact(with_seed(label), command, "--init", encoder, "--tokens", here.tokens, "--collection", here.set.collection,
    option("--negatives", run_of), option("--negatives", other_run), "--epochs",
    how.epochs or own_setting(here.set.key, "finetune_epochs"), "--train-queries", how.queries or settings.finetune_train_queries,
    "--batch", how.batch or settings.finetune_batch_queries, "--negatives-per-query",
    how.negatives or settings.finetune_negatives_per_query, "--depth", how.depth or settings.finetune_negative_depth,
    "--learning-rate", how.rate or own_setting(here.set.key, "finetune_learning_rate"), "--weight-decay",
    settings.finetune_weight_decay, "--warmup", setting("finetune_warmup_ratio") or settings.warmup_ratio, "--dropout",
    settings.dropout, schedule and {"--schedule", schedule, "--final-rate", settings.finetune_final_rate} or {}, "--seed",
    here.seed, how.options or {}, option("--micro-batch", setting(how.micro_batch or "finetune_micro_batch")), run.ranks, run.shards)
end

-- As finetune_as, for epochs and at a rate of the system's own (NAME_finetune_epochs, NAME_finetune_learning_rate) where
-- the scale has them.
local function finetune_own(name, how, encoder, ...)
  how.epochs = setting(name .. "_finetune_epochs")
  how.rate = setting(name .. "_finetune_learning_rate")
  return finetune_as(how, encoder, ...)
end

-- A retriever trained with negatives from BM25's run, or from one or two others.
function finetune(encoder, negatives, other_negatives)
  return finetune_as({}, encoder, negatives or here.set.bm25, other_negatives)
end

-- A retriever by late interaction, of the scoring "tokens" (ColBERT) or "coil", trained like a dense one; evaluations
-- and mine take it as they take any retriever.
function late_interaction(scoring, encoder, negatives, other_negatives)
  local widths = scoring == "tokens" and {option("--token-width", setting "colbert_token_width"),
    option("--query-length", setting "colbert_query_tokens")} or {}
  return finetune_own(scoring == "tokens" and "colbert" or scoring, {options = {"--scoring", scoring, widths}}, encoder,
    negatives or here.set.bm25, other_negatives)
end

-- A cross-encoder trained like a retriever. What its --micro-batch counts are queries with all pairs.
function cross_encoder(encoder, negatives, other_negatives)
  return finetune_own("cross", {command = "finetune-cross", micro_batch = "cross_micro_batch", options = {"--extend-positions"}},
    encoder, negatives or here.set.bm25, other_negatives)
end

-- What a run, or an evaluation, has for each query, ranked by a cross-encoder; options, such as --depth,
-- behind. Over ranks, which changes no result.
function rerank(cross, of, ...)
  return artifact(with_seed "rerank", "rerank", "--model", cross, "--run", of, "--collection", here.set.collection, "--tokens",
    here.tokens, {...}, run.ranks)
end

-- A retriever's run over the training queries. Over ranks, which changes no result.
function mine(retriever, depth)
  return artifact(with_seed "mine", "mine", "--model", retriever, "--collection", here.set.collection, "--tokens", here.tokens,
    "--split", "train", "--depth", depth or settings.finetune_negative_depth, identical_passages(), run.ranks)
end

-- A teacher's scores of passages for the training queries, for finetune's --scores and --teacher. The setting teacher is cross,
-- a cross-encoder that scores what a run (of) has and the positives, or tokens: late interaction, which scores
-- what it finds first, much deeper than negatives are drawn.
function teacher_scores(encoder, of)
  if settings.teacher ~= "tokens" and settings.teacher ~= "cross" then
    refuse('teacher is tokens or cross, not "' .. settings.teacher .. '"')
  end
  if settings.teacher == "tokens" then return mine(late_interaction("tokens", encoder), settings.teacher_depth) end
  return rerank(cross_encoder(encoder), of, "--judged", "train", "--depth", settings.finetune_negative_depth)
end

-- The first retriever learns from BM25's negatives, the second from the mistakes of the first. Both
-- start from the encoder. name: the system, if it may have epochs and a rate of its own.
function retrievers(encoder, name)
  local function train(...)
    return name and finetune_own(name, {}, encoder, ...) or finetune(encoder, ...)
  end
  local first = train(here.set.bm25)
  return first, train(mine(first), here.set.bm25)
end

-- The same, but the second continues from the first, with mined negatives alone.
function costa_retrievers(encoder)
  local first = finetune(encoder)
  return first, finetune(first, mine(first))
end

-- The runs that all rows of a table learn from: the public file of hard negatives where the scale has
-- it, else those that mlm finds once it is fine-tuned, and BM25's.
function hard_negatives()
  local file = setting "data_hard_negatives"
  if file and run.plan then return here.set.bm25 end
  if file then
    return artifact("hard negatives", "negatives", "--collection", here.set.collection, "--from", public(file))
  end
  return mine(finetune(here.mlm)), here.set.bm25
end

-- A sparse encoder trained with negatives from BM25's run: SPLADE, with options of the loss, the regularisers or others.
function splade(encoder, ...)
  return finetune_own("splade", {options = {"--scoring", "sparse", ...}}, encoder, here.set.bm25)
end

-- The same, but queries are the terms that they have.
function splade_doc(encoder, ...)
  return splade(encoder, "--query-tokens", ...)
end

-- SPLADE++: learns a teacher's margins.
local function splade_distilled(encoder)
  return splade(encoder, "--loss", "margin-mse", "--teacher", teacher_scores(encoder, here.set.bm25), "--drop-unscored",
    option("--flops-queries", setting "splade_flops_queries"), option("--flops-passages", setting "splade_flops_passages"))
end

-- Words of the passages at hand with DeepCT's weights.
function deepct(encoder)
  local model = artifact(with_seed "deepct", "pretrain", "deepct", "--init", encoder, "--collection", here.set.collection,
    "--tokens", here.tokens, "--vocabulary", here.vocabulary, "--steps", settings.deepct_steps, "--batch",
    settings.deepct_batch_passages, "--learning-rate", settings.deepct_learning_rate, "--dropout", settings.dropout, "--warmup",
    settings.warmup_ratio, "--train-queries", settings.finetune_train_queries, "--seed", here.seed)
  return artifact(with_seed "weigh words", "weigh-words", "--model", model, "--collection", here.set.collection, "--tokens",
    here.tokens, run.ranks)
end

-- What a generator of that size writes for the questions at hand once it has learned answers, sentences or titles of the
-- training questions, for bm25_row(KEY, "--expansions", WRITTEN) and gar_row.
function gar(target, size)
  local of = {name = "questions, " .. target}
  of.collection = artifact(of.name, "collection", "--questions-of", here.set.collection, "--target", target)
  of.plain = artifact("tokens " .. of.name, "tokenize", "--collection", of.collection, "--vocabulary", here.vocabulary,
    "--passage-tokens", settings.query_tokens, "--query-tokens", settings.passage_tokens)
  return artifact("generate " .. target, "generate", "--model", train_generator(of, size), "--collection", of.collection,
    "--queries", 1, "--top-k", 1, "--max-tokens", settings.passage_tokens, "--prompt-tokens", settings.query_tokens, "--batch",
    128, option("--prompt", setting "generator_prompt"))
end

-- A retriever trained with so many of the training queries, in as many steps as with all.
function few(encoder, number, batch, rate)
  if tonumber(number) < 1 then refuse "few_queries are whole numbers above 0" end
  return finetune_as({
    epochs = settings.finetune_epochs * settings.few_queries_most // number,
    queries = number,
    batch = batch or words(settings.few_batches)[1],
    rate = rate or words(settings.few_learning_rates)[1],
  }, encoder, here.set.bm25)
end

-- ---- retrievers as other papers train them -------------------------------------------------------

-- Queries have an encoder of their own. Each of the two sees half of what a shared one sees, so there are twice
-- the epochs.
local function two_towers(encoder, how, ...)
  how.epochs = 2 * own_setting(here.set.key, "finetune_epochs")
  how.options = {"--two-towers", how.options or {}}
  return finetune_as(how, encoder, ...)
end

-- DPR: two towers.
function dpr(encoder)
  return two_towers(encoder, {}, here.set.bm25)
end

-- ANCE: goes on in rounds, each with pairs of positives and of negatives that it mines itself.
function ance(encoder, rounds)
  local retriever = finetune(encoder)
  for _ = 1, rounds do
    retriever = finetune_as({options = {"--loss", "pairwise", "--own-negatives"}}, retriever, mine(retriever))
  end
  return retriever
end

-- STAR: goes on with negatives that a first retriever mined once, in all pairs of the batch.
function star(encoder)
  local first = finetune(encoder)
  return finetune_as({options = {"--loss", "pairwise", "--mask-copies"}}, first, mine(first))
end

-- ADORE: the encoder of queries goes on from a retriever such as STAR's, whose passages stay as they are; each step learns
-- from the best of so many (depth) that its queries find.
function adore(retriever, depth)
  local vectors = artifact(with_seed "vectors of the passages", "encode", "--model", retriever, "--collection",
    here.set.collection, "--tokens", here.tokens)
  return finetune_as({label = "finetune, passages fixed", depth = depth, options = {"--passage-vectors", vectors, "--loss",
    "lambdarank", "--rank-cut", depth}}, retriever)
end

-- NPRINC: two towers and negatives of four kinds, in the batch, random, of BM25 and of a first retriever; of
-- the last two as many together as random ones.
function nprinc(encoder)
  local number = settings.finetune_negatives_per_query
  return two_towers(encoder, {negatives = 2 * number, options = {"--random-negatives", number}}, mine(dpr(encoder)),
    here.set.bm25)
end

-- TAS-B: batches of one cluster of queries, by the vectors of a first retriever; a teacher's margins, by which negatives
-- are balanced in so many bins (nil: not).
function topics(encoder, clusters, teacher, bins)
  local vectors = artifact(with_seed "vectors of the training queries", "encode", "--model", finetune(encoder), "--collection",
    here.set.collection, "--tokens", here.tokens, "--split", "train")
  return finetune_own("tasb", {options = {"--loss", "margin-mse", "--in-batch-weight", "0.75", "--teacher", teacher,
    "--query-vectors", vectors, "--clusters", clusters, option("--margin-bins", bins), "--drop-unscored"}}, encoder,
    here.set.bm25)
end

-- TCT-ColBERT: a late-interaction model (of late_interaction("tokens", ...)) teaches a dense one over all passages of the
-- batch, by its vectors. The student may start from the teacher's encoder.
function tct(encoder, teacher)
  local of = {"--model", teacher, "--collection", here.set.collection, "--tokens", here.tokens}
  local queries = artifact(with_seed "teacher's vectors of the training queries", "encode", of, "--split", "train")
  local passages = artifact(with_seed "teacher's vectors of the passages", "encode", of)
  return finetune_as({options = {"--loss", "kl", "--all-passages", "--teacher-temperature", "0.25", "--teacher-queries", queries,
    "--teacher-passages", passages}}, encoder, here.set.bm25)
end

-- LED: a sparse model (of splade), the lexicon, orders the passages that it or a first retriever mined; what is not among
-- its first (depth) has no score and is left out.
function led(encoder, lexicon, depth)
  local scored = mine(lexicon, depth)
  return finetune_as({options = {"--loss", "ordered", "--teacher", scored, "--drop-unscored"}}, encoder, scored,
    mine(finetune(encoder)))
end

-- PAIR, on the same labels: passages against passages too, then queries against passages alone.
function passage_centred(encoder)
  local first = finetune_as({options = {"--loss", "passage-centred"}}, encoder, here.set.bm25)
  return finetune(first)
end

-- RocketQA, without its labels of more queries: the second retriever's negatives are mined, less those that a teacher takes
-- for relevant, scores like the positive's or larger ones.
function denoised(encoder)
  local mined = mine(finetune(encoder))
  return finetune_as({options = {"--scores", teacher_scores(encoder, mined), "--margin", 0}}, encoder, mined)
end

-- Learns a teacher's scores of the positives and negatives: a run of them, e.g. of teacher_scores.
function distil(loss, encoder, teacher, negatives, ...)
  return finetune_as({options = {"--loss", loss, "--teacher", teacher, ...}}, encoder, negatives or here.set.bm25)
end

local other_retrievers = {
  dpr = dpr,
  nprinc = nprinc,
  pair = passage_centred,
  rocketqa = denoised,
  splade = splade_distilled,
  ance = function(encoder) return ance(encoder, settings.ance_rounds) end,
  coil = function(encoder) return late_interaction("coil", encoder) end,
  colbert = function(encoder) return late_interaction("tokens", encoder) end,
  ["tct-colbert"] = function(encoder) return tct(encoder, late_interaction("tokens", encoder)) end,
  ["adore-star"] = function(encoder) return adore(star(encoder), settings.adore_depth) end,
  led = function(encoder) return led(encoder, splade(encoder), setting "teacher_depth" or settings.bm25_depth) end,
  ["tas-b"] = function(encoder)
    return topics(encoder, settings.tasb_clusters, teacher_scores(encoder, here.set.bm25), settings.tasb_margin_bins)
  end,
}

-- A retriever of another paper, trained from an encoder as that paper trains it.
function other_retriever(name, encoder)
  local train = other_retrievers[name] or error("there is no retriever " .. name, 2)
  return train(encoder)
end
