// SPDX-License-Identifier: MIT
#include "image_classifier.hpp"

#include "hpo/trainer/plugin.hpp"

HPO_TRAINER_PLUGIN(hpo::image_classifier::ImageClassifier);
