-- Fine-tune BERT-like models on one GPU with 24 GB. There, large models do not fit with long texts in large batches.
--
--   hpo-tune space scripts/lua/bert_24gb.lua                           how many combinations, for each model
--   hpo-tune space scripts/lua/bert_24gb.lua --set limits=effective --by model.name
--   hpo-tune run   scripts/lua/bert_24gb.lua --set models=FOLDER --set data=FILE --device cuda --device-memory 23.56GiB
--
-- FOLDER has a folder for each model, as it is distributed: FOLDER/roberta-base with config.json, tokenizer files, safetensors.
-- If only one model is there, choose it with `--fix model.name=roberta-base`.
-- FILE has labelled texts (CSV, TSV, JSON lines). `space` needs neither of them.
--
-- There are two ways to keep large models inside the memory. The script has both.
--
--   limits = "narrow"     The usual way. Large models get smaller batches, less accumulation and shorter texts.
--                         A base model has 7 x 6 x 13 = 546 combinations, a large one 3 x 4 x 9 = 108.
--                         So four fifths of the space are never tried with the better models.
--   limits = "effective"  The optimizer sees the effective batch: batch x accumulation. The study searches that.
--                         The micro-batch is the part of it that is in memory at once. The guard and the recovery
--                         policy choose it. They can halve it without changing the trial.
--                         Base and large models then have the same space. If a text length fits with no
--                         micro-batch, the trial is infeasible.
--
-- hpo has not been run on a GPU yet: take these limits as predictions.

local hpo = require "hpo"

local limits = hpo.option("limits", "narrow", "how large models are kept inside the memory: narrow or effective")
if limits ~= "narrow" and limits ~= "effective" then
  error("limits: got '" .. limits .. "'; expected narrow or effective")
end

local folder = hpo.option("models", "build/models", "the folder with the models' folders")
local data   = hpo.option("data", "", "a file of labelled texts, or a folder with train.* and others")
local text   = hpo.option("text_column", "text", "the column with the texts")
local label  = hpo.option("label_column", "label", "the column with the labels")
local epochs = hpo.option("epochs", 3, "passes over the training texts")

local models = {
  "bert-base-uncased", "roberta-base", "microsoft/deberta-v3-base",
  "bert-large-uncased", "roberta-large", "microsoft/deberta-v3-large", "xlm-roberta-base",
}

-- Models of more than 250 million parameters. XLM-RoBERTa is one even as a base model, because of its many words.
local function is_heavy(model)
  return model:find("large", 1, true) ~= nil or model:find("xlm-roberta", 1, true) ~= nil
end

local batches = { 8, 12, 16, 24, 32, 48, 64 }
local accumulations = { 1, 2, 3, 4, 6, 8 }

-- The different products of the 42 pairs, in ascending order.
local function effective_batches()
  local seen, products = {}, {}
  for _, batch in ipairs(batches) do
    for _, steps in ipairs(accumulations) do
      local product = batch * steps
      if not seen[product] then
        seen[product] = true
        table.insert(products, product)
      end
    end
  end
  table.sort(products)
  return products
end

return hpo.study {
  name      = "bert-24gb",
  trainer   = { "text_classifier", models = folder, data = data ~= "" and data or nil, text_column = text, label_column = label,
                epochs = epochs },
  objective = { metric = "macro_f1", direction = "maximize" },
  sampler   = "tpe",
  pruner    = "median",
  guard     = "dry_run",
  recovery  = "shrink_micro_batch",

  space = function(trial)
    local heavy = is_heavy(trial:categorical("model.name", models))
    if limits == "narrow" then
      -- `max` and `only` narrow this trial alone. The parameter has one distribution for all models, so what the sampler
      -- learns from one model helps with the others. For a base model, `heavy and 384` is false: it is not narrowed.
      trial:int("tok.max_length", 128, 512, { step = 32, max = heavy and 384 })
      trial:categorical("train.batch_size", batches, { only = heavy and { 8, 12, 16 } })
      trial:categorical("train.grad_accum", accumulations, { only = heavy and { 1, 2, 3, 4 } })
    else
      trial:int("tok.max_length", 128, 512, { step = 32 })
      trial:categorical("train.batch_size", effective_batches())
    end
    trial:float("optim.lr", 1e-6, 1e-3, { log = true })
    trial:float("optim.weight_decay", 1e-6, 1e-1, { log = true })
    trial:float("train.dropout", 0.0, 0.5)
  end,

  -- hpo calls this before the recovery policy. If it returns nil, the recovery policy decides.
  on_oom = function(trial, failure, plan)
    -- The allocator holds much memory that is free, but in pieces. A new process with growing segments gets it back.
    if failure.fragmentation > 0.2 and failure.attempt == 1 then
      return hpo.retry { fresh_worker = true, expandable_segments = true, reason = "memory is fragmented" }
    end
    -- Not even one text at a time fits. Recomputing activations is slower, but it is still the same trial.
    if plan.micro_batch == 1 and not plan.activation_checkpointing then
      return hpo.retry { activation_checkpointing = true, reason = "does not fit at micro-batch 1" }
    end
  end,
}
