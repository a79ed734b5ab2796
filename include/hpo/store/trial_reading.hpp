// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/study.hpp"
#include "hpo/store/attempt_reading.hpp"
#include "hpo/store/optuna_shape.hpp"
#include "hpo/store/sqlite_connection.hpp"

namespace hpo::store {

inline constexpr std::string_view constraint_prefix = "constraints:";
inline constexpr std::string_view constraint_list = "constraints";

/// Takes the constraints out of a trial's system attributes: `constraints:NAME`, each a number, or, when there are none of
/// these, the list `constraints`, whose entries are then named "0", "1", ... What cannot be read stays an attribute.
void extract_constraints(Trial& trial);

/// The values that an enqueued trial must have: its system attribute `fixed_params`, in its order; empty when there is none.
[[nodiscard]] std::vector<std::pair<std::string, Value>> fixed_params(const Attributes& system_attributes);

[[nodiscard]] TrialState parse_state(std::string_view place, std::string_view text);

/// What is read of trials, for questions that do not need all of it; what is left out stays empty.
struct TrialParts {
    bool params = true;
    bool reports = true;  ///< intermediate values, and those that attempts superseded
    /// False: of a trial whose attempts all went well no attributes, no constraints that hold, and of its attempts only how they ended,
    /// what they took, what was predicted, the plan, and what was held before and after them. Failures, and trials of other programs, are
    /// read whole.
    bool details = true;
};

/// Reads studies and trials of a file of any of Optuna's revisions. Everything belongs inside Connection::read or write.
class TrialReader {
public:
    TrialReader(Connection& connection, OptunaShape shape) : connection_{connection}, shape_{std::move(shape)} {}

    [[nodiscard]] const OptunaShape& shape() const noexcept { return shape_; }
    [[nodiscard]] DistributionCache& distributions() noexcept { return distributions_; }

    /// All studies, ordered by id. A direction that was never set counts as minimize.
    [[nodiscard]] std::vector<Study> studies();

    /// The trials of `range` with everything that belongs to them, ordered by id, which is also the order of their numbers.
    [[nodiscard]] std::vector<Trial> trials(const TrialRange& range, const TrialParts& parts = {});
    /// The trials of `range`, ordered by id, with number, state and times alone.
    [[nodiscard]] std::vector<Trial> heads(const TrialRange& range);
    /// Adds what belongs to trials of one study, ordered by id, of which the heads are known.
    void read_parts(std::int64_t study_id, std::span<Trial> trials, const TrialParts& parts);
    /// Adds the parameters to trials of one study that were read without them, ordered by id.
    void read_params(std::int64_t study_id, std::span<Trial> trials);

private:
    void read_params_of_stretch(std::int64_t study_id, std::span<Trial> stretch);
    void read_reports(std::int64_t study_id, std::span<Trial> trials);
    /// The user attributes of those trials that are `wanted`.
    template <class Wanted>
    void read_attributes(std::int64_t study_id, std::span<Trial> trials, const Wanted& wanted);
    /// The system attributes whose text is `wanted`, constraints and fixed values among them.
    template <class Wanted>
    void read_constraints(std::int64_t study_id, std::span<Trial> trials, const Wanted& wanted);
    [[nodiscard]] bool is_most_of_file(std::span<const Trial> trials);
    void read_values(std::int64_t study_id, std::span<Trial> trials);
    /// What stands in the row's third column, which must be a choice of a categorical parameter and a number for a whole one.
    static double internal_value(const Distribution& distribution, const Rows& row);
    template <class Take>
    void each(std::int64_t study_id, std::span<Trial> trials, std::string_view table, const char* sql, Take&& take) {
        each_row(connection_, study_id, trials, table, sql, take);
    }
    void read_attributes(const char* sql, std::int64_t study_id, Attributes& attributes) {
        Rows row = connection_.query(sql, study_id);
        while (row.next()) attributes[row.text(0)] = row.text(1);
    }

    Connection& connection_;
    OptunaShape shape_;
    DistributionCache distributions_;
};

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/trial_reading_inl.hpp"
#endif
