// SPDX-License-Identifier: MIT
#include "text_classifier.hpp"

#include "hpo/trainer/plugin.hpp"

HPO_TRAINER_PLUGIN(hpo::text_classifier::TextClassifier);
