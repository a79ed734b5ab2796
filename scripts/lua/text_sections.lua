-- Which section does a Debian package belong to? Small transformer encoders, trained from scratch, learn it from the descriptions.
--
--   scripts/prepare-debian-sections                        the data, once (15 MB)
--   hpo-tune check scripts/lua/text_sections.lua           what is wrong, and how unequal the sections are
--   hpo-tune run scripts/lua/text_sections.lua
--
-- The largest encoders do not fit the device with a whole batch. They are retried with a smaller micro-batch (the texts in memory at once).

local hpo = require "hpo"

-- You can use any file of labelled texts: CSV, TSV or JSON lines. With the defaults, the study takes about half an hour on two cores.
local data     = hpo.option("data", "build/data/debian_sections", "a file of labelled texts, or a folder with train.* and others")
local text     = hpo.option("text_column", "text", "the column with the texts")
local label    = hpo.option("label_column", "label", "the column with the labels")
local metric   = hpo.option("metric", "accuracy", "what is optimised: accuracy or macro_f1")
local epochs   = hpo.option("epochs", 6, "passes over the training texts")
local examples = hpo.option("train_examples", 5000, "texts to train on; 0: all of them")
local held_out = hpo.option("validation_examples", 2000, "held-out texts that the metric is measured on; 0: all of them")
local test     = hpo.option("report_test", false, "also measure the test texts, once, after training")

return hpo.study {
  name      = "text_sections",
  trainer   = { "text_classifier", data = data, text_column = text, label_column = label, epochs = epochs,
                train_examples = examples, validation_examples = held_out, report_test = test,
                -- Evaluation needs no memory for gradients, so more texts fit at a time than in training.
                eval_batch = 4, ["optim.schedule"] = "linear", ["optim.warmup"] = 0.1 },
  objective = { metric = metric, direction = "maximize" },
  trials    = 20,

  device        = "cpu",
  device_memory = "512MiB",

  sampler  = "tpe",
  pruner   = "median",
  guard    = "formula",
  recovery = "shrink_micro_batch",

  space = function(trial)
    local layers = trial:int("model.layers", 1, 4)
    local hidden = trial:categorical("model.hidden", { 64, 128, 256 })
    trial:categorical("model.heads", { 2, 4 })
    trial:categorical("model.intermediate", { 256, 512, 1024 })
    trial:categorical("model.vocabulary", { 4000, 8000, 16000 })
    trial:require(layers * hidden <= 512, "too slow on two cores")

    -- Longer texts are cut off. Half of the descriptions are shorter than 340 characters, about 75 tokens.
    trial:categorical("tok.max_length", { 48, 96, 192 })
    trial:categorical("head.pooling", { "first", "mean" })
    trial:float("train.dropout", 0.0, 0.4)
    trial:float("train.label_smoothing", 0.0, 0.2)
    trial:categorical("train.class_weights", { "none", "balanced" })

    trial:categorical("train.batch_size", { 16, 32, 64, 128 })
    trial:float("optim.lr", 1e-4, 5e-3, { log = true })
    trial:float("optim.weight_decay", 1e-6, 1e-1, { log = true })
  end,
}
