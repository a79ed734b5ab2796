// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpo::tests {

/// Plain data, to be pickled.
struct Plain {
    enum Kind { nothing, flag, number, word, list, tuple, table } kind = nothing;
    std::int64_t integer = 0;
    std::string text{};
    std::vector<Plain> items{};  ///< of a table: keys and values in turn

    static Plain of(std::int64_t value) { return {.kind = number, .integer = value}; }
    static Plain of(std::uint64_t value) { return {.kind = number, .integer = static_cast<std::int64_t>(value)}; }
    static Plain of(std::string_view value) { return {.kind = word, .text = std::string{value}}; }
    static Plain yes(bool value) { return {.kind = flag, .integer = value ? 1 : 0}; }
    static Plain listed(std::vector<Plain> values = {}) { return {.kind = list, .items = std::move(values)}; }
    static Plain tupled(std::vector<Plain> values) { return {.kind = tuple, .items = std::move(values)}; }
    static Plain tabled(std::vector<std::pair<std::string_view, Plain>> entries) {
        Plain result{.kind = table};
        for (auto& [key, value] : entries) {
            result.items.push_back(of(key));
            result.items.push_back(std::move(value));
        }
        return result;
    }
};

/// Pickles plain data as Python does in a protocol from 2 to 5.
class PickleWriter {
public:
    explicit PickleWriter(int protocol) : protocol_{protocol} {}

    [[nodiscard]] std::string write(const Plain& value) {
        bytes_ = {'\x80', static_cast<char>(protocol_)};
        add(value);
        bytes_ += '.';
        return bytes_;
    }

private:
    void little_endian(std::uint64_t value, int count) {
        for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> (8 * i));
    }
    void remember() {
        if (protocol_ >= 4) {
            bytes_ += '\x94';
        } else {
            bytes_ += 'r';
            little_endian(remembered_++, 4);
        }
    }
    void add_number(std::int64_t value) {
        if (value >= 0 && value < 256) {
            bytes_ += 'K';
            little_endian(static_cast<std::uint64_t>(value), 1);
        } else if (value >= 0 && value < 65536) {
            bytes_ += 'M';
            little_endian(static_cast<std::uint64_t>(value), 2);
        } else if (value >= -(std::int64_t{1} << 31) && value < (std::int64_t{1} << 31)) {
            bytes_ += 'J';
            little_endian(static_cast<std::uint64_t>(value), 4);
        } else {
            bytes_ += "\x8a\x08";
            little_endian(static_cast<std::uint64_t>(value), 8);
        }
    }
    void add_text(const std::string& text) {
        if (protocol_ >= 4 && text.size() < 256) {
            bytes_ += '\x8c';
            little_endian(text.size(), 1);
        } else {
            bytes_ += 'X';
            little_endian(text.size(), 4);
        }
        bytes_ += text;
        remember();
    }
    void add(const Plain& value) {
        switch (value.kind) {
            case Plain::nothing: bytes_ += 'N'; break;
            case Plain::flag: bytes_ += value.integer != 0 ? '\x88' : '\x89'; break;
            case Plain::number: add_number(value.integer); break;
            case Plain::word: add_text(value.text); break;
            case Plain::tuple:
                bytes_ += '(';
                for (const Plain& each : value.items) add(each);
                bytes_ += 't';
                remember();
                break;
            case Plain::list:
            case Plain::table:
                bytes_ += value.kind == Plain::list ? ']' : '}';
                remember();
                for (std::size_t i = 0; i < value.items.size(); i += 2000) {  // Python adds at most 1000 at a time, too
                    bytes_ += '(';
                    for (std::size_t j = i; j < value.items.size() && j < i + 2000; ++j) add(value.items[j]);
                    bytes_ += value.kind == Plain::list ? 'e' : 'u';
                }
                break;
        }
    }

    int protocol_;
    std::string bytes_;
    std::uint64_t remembered_ = 0;
};

}  // namespace hpo::tests
