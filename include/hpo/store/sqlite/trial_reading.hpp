// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/study.hpp"
#include "hpo/store/sqlite/attempt_reading.hpp"
#include "hpo/store/sqlite/connection.hpp"
#include "hpo/store/sqlite/optuna_shape.hpp"

namespace hpo::store {

inline constexpr std::string_view constraint_prefix = "constraints:";
inline constexpr std::string_view constraint_list = "constraints";

/// Moves the constraints out of a trial's system attributes. These are `constraints:NAME`, each a number, and the entries of the list
/// `constraints`, which get the names "0", "1", ... The list does not count if it has the same numbers as the names, in the order of the
/// names: hpo itself writes both forms. An attribute that cannot be read stays.
void extract_constraints(Trial& trial);

/// The values that an enqueued trial must have, from its system attribute `fixed_params` and in its order. Empty if there is none.
[[nodiscard]] std::vector<std::pair<std::string, Value>> fixed_params(const Attributes& system_attributes);

[[nodiscard]] TrialState parse_state(std::string_view place, std::string_view text);

/// Which parts of trials are read, for questions that do not need all of them. The other parts stay empty.
struct TrialParts {
    bool params = true;
    bool reports = true;  ///< intermediate values, also superseded ones of attempts
    /// If false, less is read of a trial whose attempts all went well: no attributes but why it was pruned, and no
    /// constraints that hold. Of its attempts it reads only how they ended, their peaks and predictions, the plan, and the memory that was
    /// held before and after them. Failed trials, and trials of other programs, are read whole.
    bool details = true;
};

/// Reads studies and trials of a file of any of Optuna's revisions. Call everything inside Connection::read or write.
class TrialReader {
public:
    TrialReader(Connection& connection, OptunaShape shape) : connection_{connection}, shape_{std::move(shape)} {}

    [[nodiscard]] const OptunaShape& shape() const noexcept { return shape_; }
    [[nodiscard]] DistributionCache& distributions() noexcept { return distributions_; }

    /// All studies, ordered by id. Optuna's NOT_SET counts as minimize. Throws Error{Errc::store} for a study without a direction, or with
    /// an unknown one. With `asked`, it throws for the study of this name alone, and others have then no directions.
    [[nodiscard]] std::vector<Study> studies(std::optional<std::string_view> asked = std::nullopt);

    /// The trials of `range` with everything that belongs to them, ordered by id, which is also the order of their numbers.
    [[nodiscard]] std::vector<Trial> trials(const TrialRange& range, const TrialParts& parts = {});
    /// The trials of `range`, ordered by id, with number, state and times alone.
    [[nodiscard]] std::vector<Trial> heads(const TrialRange& range);
    /// Adds the other parts to trials of one study that were read by `heads`. They are ordered by id.
    void read_parts(std::int64_t study_id, std::span<Trial> trials, const TrialParts& parts);
    /// Adds the parameters to trials of one study that were read without them. They are ordered by id.
    void read_params(std::int64_t study_id, std::span<Trial> trials);

private:
    void read_params_of_stretch(std::int64_t study_id, std::span<Trial> stretch);
    void read_reports(std::int64_t study_id, std::span<Trial> trials);
    /// Reads the user attributes of trials that are `wanted`.
    template <class Wanted>
    void read_attributes(std::int64_t study_id, std::span<Trial> trials, const Wanted& wanted);
    /// Reads the system attributes whose text is `wanted`, with constraints and fixed values.
    template <class Wanted>
    void read_constraints(std::int64_t study_id, std::span<Trial> trials, const Wanted& wanted);
    [[nodiscard]] bool is_most_of_file(std::span<const Trial> trials);
    void read_values(std::int64_t study_id, std::span<Trial> trials);
    /// Reads the directions. Throws UnreadableColumn for an unknown one, or if there is none.
    void read_directions(Study& study);
    /// The value in the row's third column. It must be a choice for a categorical parameter, and a number for an integer one.
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
