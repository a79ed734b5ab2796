-- A search that keeps base models (BERT, RoBERTa: about 110 million parameters) well inside 24 GB.
--
--   hpo-tune check scripts/lua/memory_safe_base.lua --set model=FOLDER --set data=FILE
--   hpo-tune run   scripts/lua/memory_safe_base.lua --set model=FOLDER --set data=FILE
--
-- FOLDER is a model as it is distributed (config.json, tokenizer files, safetensors). FILE has labelled texts (CSV, TSV, JSON lines).
-- The study searches the effective batch (what the optimizer sees). The micro-batch (what is in memory at once) begins at 32 at most. If a
-- trial does not fit, it is halved. That changes no parameter, so the lengths need no limit below the models' 512 positions.
-- hpo has not been run on a GPU yet: take these limits as predictions.

local hpo = require "hpo"

local model    = hpo.option("model", "build/models/bert-base-uncased", "folder of the published model")
local data     = hpo.option("data", "build/data/debian_sections", "a file of labelled texts, or a folder with train.* and others")
local text     = hpo.option("text_column", "text", "the column with the texts")
local label    = hpo.option("label_column", "label", "the column with the labels")
local epochs   = hpo.option("epochs", 5, "passes over the training texts at most")
local examples = hpo.option("train_examples", 0, "texts to train on; 0: all of them")
local held_out = hpo.option("validation_examples", 0, "held-out texts that the metric is measured on; 0: all of them")

return hpo.study {
  name      = "memory_safe_base",
  trainer   = { "text_classifier", model = model, data = data, text_column = text, label_column = label, epochs = epochs,
                train_examples = examples, validation_examples = held_out,
                ["train.patience"] = 2, ["optim.schedule"] = "linear", ["optim.warmup"] = 0.1, ["optim.clip_norm"] = 1.0,
                eval_batch = 1 },  -- evaluation takes no more texts at a time than training
  objective = { metric = "macro_f1", direction = "maximize" },
  trials    = 100,

  sampler  = "tpe",
  pruner   = "median",
  guard    = "formula",
  recovery = "shrink_micro_batch",

  plan = { micro_batch = 32 },

  space = function(trial)
    trial:int("tok.max_length", 128, 512, { step = 64 })
    trial:categorical("train.batch_size", { 8, 16, 32, 64, 128, 256 })
    -- A head of up to three hidden layers costs little beside a base model.
    if trial:int("head.depth", 0, 3) > 0 then trial:categorical("head.width", { 128, 256, 512 }) end
    trial:float("optim.lr", 1e-6, 1e-3, { log = true })
    trial:float("optim.weight_decay", 1e-6, 1e-1, { log = true })
    trial:float("train.dropout", 0.0, 0.3)
    trial:categorical("train.class_weights", { "none", "balanced" })
  end,
}
