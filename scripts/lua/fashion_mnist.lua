-- Classify the Fashion-MNIST images with an MLP, a small CNN or a ResNet. The device's memory is too small for part of the
-- search space.
--
--   hpo-tune run scripts/lua/fashion_mnist.lua
--   hpo-analyze oom --study fashion_mnist
--
-- Some trials run out of memory. They are retried with half the micro-batch (what is in memory at once) and the same
-- effective batch (what the optimizer sees). So they are still the trials that the sampler suggested.
-- `hpo-analyze oom` then says what happened, and where in the space.

local hpo = require "hpo"

-- Options. Set each with `--set NAME=VALUE`. With the defaults, the study takes a few minutes on two processor cores.
local data     = hpo.option("data", "/usr/share/datasets/fashion-mnist", "folder of the images (Debian: dataset-fashion-mnist)")
local epochs   = hpo.option("epochs", 3, "passes over the training images")
local examples = hpo.option("train_examples", 5000, "images to train on; 0: all of them")
local held_out = hpo.option("validation_examples", 2000, "images held out for the accuracy that is optimised")
local test     = hpo.option("report_test", false, "also measure the test images, once, after training")

return hpo.study {
  name      = "fashion_mnist",
  -- A trainer is a name, or a table: the name first, then options that are the same in every trial.
  trainer   = { "image_classifier", data = data, epochs = epochs, train_examples = examples, validation_examples = held_out,
                report_test = test },
  objective = { metric = "accuracy", direction = "maximize" },
  trials    = 40,

  -- How much one device may hold. The largest configurations below need several times as much.
  device        = "cpu",
  device_memory = "128MiB",

  sampler  = "tpe",
  pruner   = "median",
  guard    = "unlimited",           -- no predictions: this study shows failures
  recovery = "shrink_micro_batch",  -- and how trials survive them

  space = function(trial)
    -- Later parameters may depend on earlier ones. These exist only for their kind of model.
    local kind = trial:categorical("model.kind", { "mlp", "cnn", "resnet" })
    if kind == "mlp" then
      trial:int("model.width", 64, 512, { step = 64 })
      trial:int("model.depth", 1, 3)
    else
      trial:categorical("model.channels", { 4, 8, 16, 32 })
      -- A parameter has one distribution. `max` narrows it for models that would take too long.
      trial:int("model.depth", 1, 3, { max = kind == "resnet" and 2 })
    end
    trial:float("train.dropout", 0.0, 0.5)

    -- The effective batch: how many images one step of the optimizer averages over. The micro-batch is not searched. It is
    -- part of the plan, and recovery may change it.
    trial:categorical("train.batch_size", { 64, 128, 256, 512, 1024, 2048 })

    local optimizer = trial:categorical("optim.kind", { "sgd", "adamw" })
    trial:float("optim.lr", 1e-4, 1e-1, { log = true })
    trial:float("optim.weight_decay", 1e-6, 1e-2, { log = true })
    if optimizer == "sgd" then
      trial:float("optim.momentum", 0.0, 0.95)
    end

    -- A hard constraint. A proposal that breaks it is drawn again and never runs.
    trial:require(not (kind == "resnet" and trial.params["model.channels"] == 32), "too slow without a GPU")
  end,
}
