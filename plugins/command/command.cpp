// SPDX-License-Identifier: MIT
#include "command_trainer.hpp"

#include "hpo/trainer/plugin.hpp"

HPO_TRAINER_PLUGIN(hpo::command::CommandTrainer);
