// SPDX-License-Identifier: MIT
#include "hpo/tuner/asking/expected_space.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace hpo;

namespace {

const std::vector<Value> kinds{std::string{"mlp"}, std::string{"cnn"}, std::string{"attention"}};

/// A trial that asked for a kind, a batch, and what that kind has.
Trial asked(double kind, double batch) {
    Trial trial;
    trial.state = TrialState::complete;
    trial.params.set("kind", CategoricalDistribution{kinds}, kind);
    trial.params.set("batch", IntDistribution{.low = 8, .high = 128}, batch);
    const IntDistribution size{.low = 1, .high = 9};
    if (kind == 0) trial.params.set("width", size, 3);
    if (kind == 1) trial.params.set("channels", size, 3);
    if (kind == 2) trial.params.set("length", size, 3), trial.params.set("heads", size, 3);
    return trial;
}

/// Draws the values that it is told to, and 2 for all others.
struct Chosen final : ParamSource {
    std::map<std::string, double> values{};
    double draw(const std::string& name, const Distribution&, const Narrowing&, const ParamSet&) override {
        const auto found = values.find(name);
        return found == values.end() ? 2 : found->second;
    }
};

std::set<std::string> expected_names(const std::vector<Trial>& earlier, double kind, double batch) {
    Chosen chosen;
    chosen.values = {{"kind", kind}, {"batch", batch}};
    SpaceTrial trial{chosen};
    tuner::ask_expected(trial, earlier);
    std::set<std::string> names;
    for (const Param& param : trial.params()) names.insert(param.name);
    return names;
}

}  // namespace

TEST_CASE("a trial is expected to ask for what its kind asks for, whatever the batch of the trials before") {
    // The only attention had another batch than what is drawn, and mlps of that batch came later.
    const std::vector<Trial> earlier{asked(2, 8),  asked(0, 16),  asked(1, 32), asked(0, 64),
                                     asked(1, 16), asked(2, 128), asked(0, 16), asked(0, 32)};
    for (const double batch : {8., 16., 32., 64., 100.}) {
        CHECK(expected_names(earlier, 0, batch) == std::set<std::string>{"kind", "batch", "width"});
        CHECK(expected_names(earlier, 1, batch) == std::set<std::string>{"kind", "batch", "channels"});
        CHECK(expected_names(earlier, 2, batch) == std::set<std::string>{"kind", "batch", "length", "heads"});
    }
}

TEST_CASE("without branches, all parameters are expected") {
    CHECK(expected_names({asked(0, 8), asked(0, 16)}, 0, 100) == std::set<std::string>{"kind", "batch", "width"});
    CHECK(expected_names({}, 0, 100).empty());
}
