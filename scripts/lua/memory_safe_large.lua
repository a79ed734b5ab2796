-- A search that keeps large models (bert-large, roberta-large: some 340 million parameters) inside 24 GB.
--
--   hpo-tune check scripts/lua/memory_safe_large.lua --set model=FOLDER --set data=FILE
--   hpo-tune run   scripts/lua/memory_safe_large.lua --set model=FOLDER --set data=FILE
--
-- FOLDER is a model as it is distributed (config.json, tokenizer files, safetensors). FILE has labelled texts (CSV, TSV, JSON lines).
-- Weights, gradients and AdamW's two states alone take 16 bytes for each parameter: over 5 GB. So attempts begin with a small micro-batch
-- and recomputed activations. Low-rank adaptation is part of the space: it needs gradients and states for only one parameter in a hundred.
-- hpo has not been run on a GPU yet: take these limits as predictions.

local hpo = require "hpo"

local model    = hpo.option("model", "build/models/bert-large-uncased", "folder of the published model")
local data     = hpo.option("data", "build/data/debian_sections", "a file of labelled texts, or a folder with train.* and others")
local text     = hpo.option("text_column", "text", "the column with the texts")
local label    = hpo.option("label_column", "label", "the column with the labels")
local epochs   = hpo.option("epochs", 4, "passes over the training texts at most")
local examples = hpo.option("train_examples", 0, "texts to train on; 0: all of them")
local held_out = hpo.option("validation_examples", 0, "held-out texts that the metric is measured on; 0: all of them")

return hpo.study {
  name      = "memory_safe_large",
  trainer   = { "text_classifier", model = model, data = data, text_column = text, label_column = label, epochs = epochs,
                train_examples = examples, validation_examples = held_out,
                ["train.patience"] = 2, ["optim.schedule"] = "linear", ["optim.warmup"] = 0.1, ["optim.clip_norm"] = 1.0,
                eval_batch = 1 },  -- evaluation takes no more texts at a time than training
  objective = { metric = "macro_f1", direction = "maximize" },
  trials    = 60,

  sampler  = "tpe",
  pruner   = "median",
  guard    = "formula",
  recovery = "shrink_micro_batch",

  -- If the card computes in bf16, add precision = "bf16".
  plan = { micro_batch = 8, activation_checkpointing = true },

  space = function(trial)
    trial:int("tok.max_length", 128, 384, { step = 32 })
    trial:categorical("train.batch_size", { 8, 16, 32, 64 })
    trial:int("head.depth", 0, 1)
    if trial:categorical("train.tuning", { "full", "lora" }) == "lora" then
      trial:categorical("lora.rank", { 4, 8, 16 })
    end
    trial:float("optim.lr", 1e-6, 5e-4, { log = true })
    trial:float("optim.weight_decay", 1e-6, 1e-1, { log = true })
    trial:float("train.dropout", 0.0, 0.3)
    trial:categorical("train.class_weights", { "none", "balanced" })
  end,

  -- If not even one text at a time fits, try a smaller rank. That is another trial, and the trial says so.
  on_oom = function(trial, failure, plan)
    local rank = trial.params["lora.rank"]
    if plan.micro_batch == 1 and rank and rank > 4 then
      return hpo.retry { params = { ["lora.rank"] = 4 }, reason = "smaller LoRA rank" }
    end
  end,
}
