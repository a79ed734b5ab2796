// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "hpo/base/heap_optional.hpp"
#include "hpo/base/utf8.hpp"
#include "hpo/core/fields.hpp"
#include "hpo/core/history.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/store/sqlite/attempt_rows.hpp"
#include "hpo/store/sqlite/connection.hpp"
#include "hpo/store/sqlite/distribution_json.hpp"
#include "hpo/store/sqlite/stored_time.hpp"
#include "hpo/store/store.hpp"

namespace hpo::store {

// A record as columns of a table. They follow from its `fields`, in that order, for the table, for what is written and for what is read. A
// member that is a record itself takes the columns of its own members. A member that has rows in another table takes none.

namespace detail {

/// Members with rows of their own.
template <class T>
inline constexpr bool has_own_rows =
    std::is_same_v<T, HeapOptional<Failure>> || std::is_same_v<T, std::vector<MemoryMark>> || std::is_same_v<T, StepValues>;

template <class T>
struct WithoutOptional {
    using Type = T;
};
template <class T>
struct WithoutOptional<std::optional<T>> {
    using Type = T;
};
template <class T>
struct WithoutOptional<HeapOptional<T>> {
    using Type = T;
};
/// What a member holds, if it holds something.
template <class T>
using Inside = typename WithoutOptional<T>::Type;

template <class T>
constexpr std::string_view type_of_column() {
    if constexpr (std::is_integral_v<Inside<T>>) return "INTEGER";
    else if constexpr (std::is_floating_point_v<Inside<T>>) return "REAL";
    else return "TEXT";
}

/// False for what may be absent, for NaN, and for lists, where NULL stands for an empty one.
template <class T>
inline constexpr bool is_always_known =
    std::is_integral_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string> || std::is_same_v<T, Time> || std::is_same_v<T, ParamSet>;

}  // namespace detail

/// A column of a record's table.
struct RecordColumn {
    std::string name;
    std::string_view type;  ///< INTEGER, REAL, TEXT
    bool is_always_known = false;
    std::string_view since{};  ///< FieldNames::since
};

template <Described R>
[[nodiscard]] std::vector<RecordColumn> columns_of() {
    std::vector<RecordColumn> columns;
    each_field<R>([&]<class T>(const Field<R, T>& field) {
        if constexpr (detail::has_own_rows<T>) {
        } else if constexpr (Described<detail::Inside<T>>) {
            for (RecordColumn& column : columns_of<detail::Inside<T>>()) {
                column.is_always_known = false;
                columns.push_back(std::move(column));
            }
        } else {
            const bool is_known = detail::is_always_known<T> && !field.names.empty_is_null && field.names.since.empty();
            columns.push_back({field.column(), detail::type_of_column<T>(), is_known, field.names.since});
        }
    });
    return columns;
}

/// The statements for a record's table, whose first columns are the keys of its rows.
struct RecordTable {
    std::string name;
    std::vector<std::string> keys;
    std::vector<RecordColumn> columns;

    /// "key INTEGER NOT NULL, column TEXT NOT NULL, ...": what stands in CREATE TABLE.
    [[nodiscard]] std::string definition() const;
    /// "key, column, ..."
    [[nodiscard]] std::string names() const;
    /// "?1, ?2, ...", for each of the names.
    [[nodiscard]] std::string places() const;
    /// "INSERT INTO table (key, column, ...) VALUES (?1, ?2, ...)"
    [[nodiscard]] std::string insert() const;
    /// What follows ON CONFLICT: each column as it would have been inserted.
    [[nodiscard]] std::string updates() const;
    /// "a.key, a.column, ...", with NULL for a column that the file lacks or that `wanted` leaves out.
    [[nodiscard]] std::string selection(const Connection& connection, std::string_view alias,
                                        std::optional<std::vector<std::string_view>> wanted = std::nullopt) const;
};

[[nodiscard]] const RecordTable& attempts_table();
[[nodiscard]] const RecordTable& failures_table();
[[nodiscard]] const RecordTable& memory_table();
[[nodiscard]] const RecordTable& rejections_table();
[[nodiscard]] const RecordTable& runs_table();
[[nodiscard]] inline std::array<const RecordTable*, 5> record_tables() {
    return {&attempts_table(), &failures_table(), &memory_table(), &rejections_table(), &runs_table()};
}

/// Binds the columns of a record, in their order.
template <Described R>
void bind_columns(const R* record, StatementBinder& bind) {
    each_field<R>([&]<class T>(const Field<R, T>& field) {
        if constexpr (detail::has_own_rows<T>) {
        } else if constexpr (Described<T>) {
            bind_columns<T>(record ? &(record->*field.member) : nullptr, bind);
        } else if constexpr (Described<detail::Inside<T>>) {
            const bool is_there = record && record->*field.member;
            bind_columns<detail::Inside<T>>(is_there ? &*(record->*field.member) : nullptr, bind);
        } else if (!record) {
            bind(std::nullopt);
        } else {
            const T& value = record->*field.member;
            if constexpr (std::is_same_v<T, std::string>) {
                if (value.empty() && field.names.empty_is_null) bind(std::nullopt);
                else bind(valid_utf8(value));
            } else if constexpr (std::is_same_v<T, Time>) {
                bind(time_text(value));
            } else if constexpr (std::is_same_v<T, std::optional<Time>>) {
                bind(maybe_time_text(value));
            } else if constexpr (std::is_enum_v<T>) {
                bind(to_text(value));
            } else if constexpr (std::is_enum_v<detail::Inside<T>>) {
                if (value) bind(to_text(*value));
                else bind(std::nullopt);
            } else if constexpr (std::is_same_v<T, ParamSet>) {
                bind(params_text(value));
            } else if constexpr (std::is_same_v<T, HeapOptional<ParamSet>>) {
                if (value) bind(params_text(*value));
                else bind(std::nullopt);
            } else if constexpr (std::is_same_v<T, std::vector<EstimatePart>>) {
                bind(parts_text(value));
            } else if constexpr (std::is_same_v<T, std::vector<MemoryNeighbour>>) {
                bind(neighbours_text(value));
            } else {
                bind(value);
            }
        }
    });
}

/// Reads the columns of records from a row. NULL leaves a member as it is, but for a number: NULL is NaN.
class RecordReader {
public:
    /// `first` is the column after the keys. Without `distributions`, parameters are not read.
    RecordReader(const Rows& row, int first, std::string_view place = {}, DistributionCache* distributions = nullptr)
        : row_{row}, at_{first}, place_{place}, distributions_{distributions} {}

    template <Described R>
    void read(R& record) {
        read_members(record, true);
    }

private:
    /// An enumeration's name that is not known is refused in the record itself, and leaves a nested one as it is.
    template <Described R>
    void read_members(R& record, bool is_outermost) {
        each_field<R>([&]<class T>(const Field<R, T>& field) {
            T& member = record.*field.member;
            if constexpr (detail::has_own_rows<T>) {
            } else if constexpr (Described<T>) {
                read_members(member, false);
            } else if constexpr (Described<detail::Inside<T>>) {
                static const int width = static_cast<int>(columns_of<detail::Inside<T>>().size());
                bool is_there = false;
                for (int i = 0; i < width; ++i) is_there = is_there || !row_.is_null(at_ + i);
                if (is_there) read_members(member.emplace(), false);
                else at_ += width;
            } else {
                read_value(member, is_outermost);
                ++at_;
            }
        });
    }

    template <class T>
    void read_value(T& value, bool is_outermost) {
        if constexpr (std::is_same_v<T, double>) {
            value = row_.real(at_).value_or(std::numeric_limits<double>::quiet_NaN());
        } else if constexpr (std::is_enum_v<T>) {
            read_name(value, is_outermost);
        } else if (row_.is_null(at_)) {
            return;
        } else if constexpr (std::is_same_v<T, bool>) {
            value = row_.integer(at_) != 0;
        } else if constexpr (std::is_integral_v<T>) {
            value = static_cast<T>(row_.integer(at_));
        } else if constexpr (std::is_same_v<T, std::string>) {
            value = row_.text(at_);
        } else if constexpr (std::is_same_v<T, Time>) {
            value = parse_time(row_.text_view(at_)).value_or(Time{});
        } else if constexpr (std::is_same_v<T, std::optional<Time>>) {
            value = parse_time(row_.text_view(at_));
        } else if constexpr (std::is_same_v<T, std::optional<double>>) {
            value = row_.real(at_);
        } else if constexpr (std::is_enum_v<detail::Inside<T>>) {
            value = enum_of<detail::Inside<T>>(row_.text_view(at_));
        } else if constexpr (std::is_integral_v<detail::Inside<T>>) {
            value = static_cast<detail::Inside<T>>(row_.integer(at_));
        } else if constexpr (std::is_same_v<detail::Inside<T>, ParamSet>) {
            if (distributions_) value = parse_params(place_, row_.text_view(at_), *distributions_);
        } else if constexpr (std::is_same_v<T, std::vector<EstimatePart>>) {
            value = parse_parts(row_.text_view(at_));
        } else {
            static_assert(std::is_same_v<T, std::vector<MemoryNeighbour>>, "a type that no column holds yet");
            value = parse_neighbours(row_.text_view(at_));
        }
    }

    template <class Enum>
    void read_name(Enum& value, bool is_outermost) const {
        const auto named = enum_of<Enum>(row_.text_view(at_));
        if (named) value = *named;
        if (named || !is_outermost) return;
        std::string known;
        for (const std::string_view name : EnumNames<Enum>::names) known += (known.empty() ? "one of " : ", ") + std::string{name};
        row_.refuse(at_, known);
    }

    const Rows& row_;
    int at_;
    std::string_view place_;
    DistributionCache* distributions_;
};

}  // namespace hpo::store
