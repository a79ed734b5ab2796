-- Fine-tune a published encoder, MiniLM (6 layers, 22.7 million parameters), on Debian's package descriptions.
--
--   scripts/prepare-debian-sections                        the data, once (15 MB)
--   scripts/prepare-minilm                                 the model, once (84 MB)
--   hpo-tune run scripts/lua/minilm_sections.lua
--
-- You can use any folder of a BERT or RoBERTa model as it is distributed: `--set model=FOLDER`.

local hpo = require "hpo"

-- With the defaults, the study takes about two hours on two cores.
local model    = hpo.option("model", "build/models/minilm", "folder of the published model")
local data     = hpo.option("data", "build/data/debian_sections", "a file of labelled texts, or a folder with train.* and others")
local text     = hpo.option("text_column", "text", "the column with the texts")
local label    = hpo.option("label_column", "label", "the column with the labels")
local metric   = hpo.option("metric", "accuracy", "what is optimised: accuracy or macro_f1")
local epochs   = hpo.option("epochs", 4, "passes over the training texts")
local examples = hpo.option("train_examples", 2000, "texts to train on; 0: all of them")
local held_out = hpo.option("validation_examples", 1000, "held-out texts that the metric is measured on; 0: all of them")
local test     = hpo.option("report_test", false, "also measure the test texts, once, after training")

return hpo.study {
  name      = "minilm_sections",
  trainer   = { "text_classifier", model = model, data = data, text_column = text, label_column = label, epochs = epochs,
                train_examples = examples, validation_examples = held_out, report_test = test,
                eval_batch = 4, ["optim.schedule"] = "linear", ["optim.warmup"] = 0.1 },
  objective = { metric = metric, direction = "maximize" },
  trials    = 12,

  -- Weights, gradients and AdamW's states take 0.35 GiB. The rest is for a micro-batch (the texts in memory at once).
  device        = "cpu",
  device_memory = "1GiB",

  sampler  = "tpe",
  pruner   = "median",
  guard    = "formula",
  recovery = "shrink_micro_batch",

  space = function(trial)
    trial:categorical("tok.max_length", { 48, 96, 192 })
    -- What learns: all weights, low-rank additions to them (LoRA), or the head alone, on what the encoder knows already.
    local tuning = trial:categorical("train.tuning", { "full", "lora", "probe" })
    if tuning == "lora" then
      trial:categorical("lora.rank", { 4, 8, 16, 32 })
      trial:categorical("lora.targets", { "query,value", "query,key,value,dense" })
    elseif tuning == "full" then
      trial:categorical("optim.layer_decay", { 1.0, 0.9, 0.8 })
    end
    trial:int("head.depth", 0, 1)
    trial:float("train.dropout", 0.0, 0.3)
    trial:categorical("train.class_weights", { "none", "balanced" })
    trial:categorical("train.batch_size", { 16, 32, 64 })
    -- Published weights should move only a little. Weights that start from scratch need longer steps.
    trial:float("optim.lr", 2e-5, 1e-2, { log = true, max = tuning == "full" and 1e-3, min = tuning ~= "full" and 2e-4 })
    trial:float("optim.weight_decay", 1e-6, 1e-1, { log = true })
  end,
}
