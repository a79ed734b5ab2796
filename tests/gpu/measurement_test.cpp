// SPDX-License-Identifier: MIT
// What `hpo-tune doctor --device cuda` measures, on a GPU or on a virtual card.
#include <torch/torch.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hpo/torch/attempt.hpp"
#include "hpo/torch/prediction/virtual_card.hpp"
#include "image_classifier/image_classifier.hpp"
#include "support/catch.hpp"

TEST_CASE("a GPU is measured: it counts, copies, multiplies, adds, refuses and gives back") {
    image_classifier::ImageClassifier trainer;
    hpo::TrainerJob job;
    job.plan.device = "cuda:0";
    hpo::libtorch::Silence silence;
    const std::vector<hpo::DeviceFinding> findings = trainer.measure(job, silence);
    std::vector<std::string> names;
    for (const hpo::DeviceFinding& each : findings) {
        names.push_back(each.what);
        CAPTURE(each.what, each.detail);
        CHECK(each.level != hpo::DeviceFinding::Level::bad);
        const bool is_value = each.what == "copy" || each.what == "product" || each.what == "reduction";
        if (is_value) CHECK((each.detail.find("neither compared nor timed") != std::string::npos) == hpo::libtorch::is_on_virtual_card());
        if (each.what == "allocation" || each.what == "refusal") CHECK(each.level == hpo::DeviceFinding::Level::ok);
    }
    CHECK(names ==
          std::vector<std::string>{"runtime", "allocation", "copy", "product", "reduction", "refusal", "release", "expandable segments"});
}
