-- A search for DeBERTa models (v3 base: 184 million parameters), which need much memory.
--
--   hpo-tune check scripts/lua/memory_safe_deberta.lua --set model=FOLDER --set data=FILE
--   hpo-tune run   scripts/lua/memory_safe_deberta.lua --set model=FOLDER --set data=FILE
--
-- FOLDER is a model as it is distributed (config.json, tokenizer files, safetensors). FILE has labelled texts (CSV, TSV, JSON lines).
-- Disentangled attention keeps several tensors for each pair of tokens, so length costs more than in BERT. Texts therefore stay short, and
-- activations are recomputed. All is computed in fp32, because these models are known to overflow in half precision.
-- hpo has not been run on a GPU yet: take these limits as predictions.

local hpo = require "hpo"

local model    = hpo.option("model", "build/models/deberta-v3-base", "folder of the published model")
local data     = hpo.option("data", "build/data/debian_sections", "a file of labelled texts, or a folder with train.* and others")
local text     = hpo.option("text_column", "text", "the column with the texts")
local label    = hpo.option("label_column", "label", "the column with the labels")
local epochs   = hpo.option("epochs", 5, "passes over the training texts at most")
local examples = hpo.option("train_examples", 0, "texts to train on; 0: all of them")
local held_out = hpo.option("validation_examples", 0, "held-out texts that the metric is measured on; 0: all of them")

return hpo.study {
  name      = "memory_safe_deberta",
  trainer   = { "text_classifier", model = model, data = data, text_column = text, label_column = label, epochs = epochs,
                train_examples = examples, validation_examples = held_out,
                ["train.patience"] = 2, ["optim.schedule"] = "linear", ["optim.warmup"] = 0.1, ["optim.clip_norm"] = 1.0,
                eval_batch = 1 },  -- in evaluation, two micro-batches at once were too much
  objective = { metric = "macro_f1", direction = "maximize" },
  trials    = 60,

  sampler  = "tpe",
  pruner   = "median",
  guard    = "formula",
  recovery = "shrink_micro_batch",

  plan = { micro_batch = 16, activation_checkpointing = true },

  space = function(trial)
    trial:categorical("tok.max_length", { 128, 192, 256 })
    trial:categorical("train.batch_size", { 16, 32, 64, 128 })
    if trial:int("head.depth", 0, 2) > 0 then trial:categorical("head.width", { 128, 256, 512 }) end
    -- Embeddings are more than half of the parameters. Frozen ones need no gradients and no optimizer states.
    trial:categorical("train.frozen_embeddings", { true, false })
    trial:float("optim.lr", 1e-6, 5e-4, { log = true })
    trial:float("optim.weight_decay", 1e-6, 1e-1, { log = true })
    trial:float("train.dropout", 0.0, 0.3)
    trial:categorical("train.class_weights", { "none", "balanced" })
  end,
}
