// SPDX-License-Identifier: MIT
#include "adding_problem.hpp"

#include "hpo/trainer/plugin.hpp"

HPO_TRAINER_PLUGIN(adding_problem::AddingProblem);
