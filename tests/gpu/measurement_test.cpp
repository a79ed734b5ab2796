// SPDX-License-Identifier: MIT
// What `hpo-tune doctor --device cuda` measures, on a GPU or on a virtual card.
#include <torch/torch.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gpu/jobs.hpp"
#include "hpo/torch/attempt.hpp"
#include "image_classifier/image_classifier.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "torch/prediction/virtual_card.hpp"

TEST_CASE("a GPU is measured: it counts, copies, multiplies, adds, refuses and gives back") {
    hpo::image_classifier::ImageClassifier trainer;
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

TEST_CASE("a study for a GPU is checked with a real step, and on a virtual card no value of it is judged") {
    const hpo::tests::TemporaryDirectory place;
    gpu::write_images(place.path(), 200);
    hpo::TrainerJob job;
    job.metric = "accuracy";
    job.params = {{"model.kind", std::string{"mlp"}}, {"train.batch_size", std::int64_t{16}}};
    job.options = {{"data", place.path().string()}, {"train_examples", std::int64_t{100}}, {"validation_examples", std::int64_t{50}}};
    job.plan.device = "cuda:0";
    hpo::image_classifier::ImageClassifier trainer;
    for (const hpo::TrainerProblem& problem : trainer.check(job)) FAIL_CHECK(problem.where << ": " << problem.what);
}
