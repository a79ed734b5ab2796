// SPDX-License-Identifier: MIT
#include "allocator/snapshot/pickle.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpo::allocator {

namespace pickle_code {
// The instructions of plain data, as Python's module pickletools lists them.
inline constexpr unsigned char protocol = 0x80, frame = 0x95, stop = '.', mark = '(', drop = '0', drop_marked = '1', duplicate = '2';
inline constexpr unsigned char none = 'N', true_ = 0x88, false_ = 0x89, int4 = 'J', int1 = 'K', int2 = 'M', long1 = 0x8a, long4 = 0x8b;
inline constexpr unsigned char real = 'G', text1 = 0x8c, text4 = 'X', text8 = 0x8d, old_text1 = 'U', old_text4 = 'T';
inline constexpr unsigned char bytes1 = 'C', bytes4 = 'B', bytes8 = 0x8e, bytearray8 = 0x96;
inline constexpr unsigned char empty_list = ']', append = 'a', appends = 'e', list = 'l', empty_dictionary = '}', dictionary = 'd';
inline constexpr unsigned char set_item = 's', set_items = 'u', empty_tuple = ')', tuple = 't', tuple1 = 0x85, tuple2 = 0x86, tuple3 = 0x87;
inline constexpr unsigned char empty_set = 0x8f, add_items = 0x90, frozen_set = 0x91;
inline constexpr unsigned char put1 = 'q', put4 = 'r', put_next = 0x94, get1 = 'h', get4 = 'j';
/// Those that make an object, or need one: GLOBAL, STACK_GLOBAL, REDUCE, BUILD, INST, OBJ, NEWOBJ, NEWOBJ_EX, EXT1, EXT2, EXT4, PERSID,
/// BINPERSID, NEXT_BUFFER, READONLY_BUFFER.
inline constexpr std::string_view objects{"c\x93Rbio\x81\x92\x82\x83\x84PQ\x97\x98"};
/// Those that only a pickle of protocol 0 needs: INT, LONG, FLOAT, STRING, UNICODE, PUT, GET.
inline constexpr std::string_view lines{"ILFSVpg"};
}  // namespace pickle_code

/// What a file is that is no pickle.
[[nodiscard]] static std::string_view name_of_other(std::string_view bytes) {
    if (bytes.empty()) return "empty";
    if (bytes.starts_with("\x1f\x8b")) return "packed by gzip: unpack it with gunzip";
    const auto first = bytes.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && (bytes[first] == '{' || bytes[first] == '[')) return "JSON";
    return "not a pickle of protocol 2 or later";
}

PickledData PickleReader::read() {
    budget_ = std::min((std::size_t{64} << 20U) + 6 * data_.bytes_.size(), std::size_t{4} << 30U);
    const std::string_view bytes{data_.bytes_};
    if (bytes.size() < 2 || static_cast<unsigned char>(bytes.front()) != pickle_code::protocol)
        throw Error{Errc::bad_value, place_ + ": " + std::string{name_of_other(bytes)} +
                                         "; expected the pickle that torch.cuda.memory._dump_snapshot() writes"};
    if (const auto version = static_cast<unsigned char>(bytes[1]); version < 2 || version > 5) {
        throw Error{Errc::bad_value, place_ + ": a pickle of protocol " + std::to_string(version) +
                                         "; 2 to 5 can be read: write it with pickle.dump(snapshot, file, protocol=4)"};
    }
    at_ = 2;
    do {
        if (at_ == bytes.size()) throw damaged("it ends early: the file was cut off");
    } while (step(static_cast<unsigned char>(bytes[at_++])));
    stack_ = {};
    memo_ = {};
    return std::move(data_);
}

bool PickleReader::step(unsigned char code) {
    using namespace pickle_code;
    if (code == stop) {
        data_.root_ = pop();
        return false;
    }
    if (code == protocol) {
        static_cast<void>(number(1));
    } else if (code == frame) {
        static_cast<void>(number(8));
    } else if (!step_memo(code) && !step_container(code) && !step_scalar(code)) {
        --at_;
        if (objects.find(static_cast<char>(code)) != std::string_view::npos)
            throw damaged("it holds a Python object, which is never made: a memory snapshot has plain data only");
        if (lines.find(static_cast<char>(code)) != std::string_view::npos) throw damaged("an instruction of protocol 0");
        throw damaged("unknown instruction " + std::to_string(code));
    }
    return true;
}

bool PickleReader::step_memo(unsigned char code) {
    using namespace pickle_code;
    switch (code) {
        case put_next: remember(remembered_); break;
        case put1: remember(number(1)); break;
        case put4: remember(number(4)); break;
        case get1: recall(number(1)); break;
        case get4: recall(number(4)); break;
        case mark: push(value(Kind::mark)); break;
        case drop:
            if (stack_.empty()) throw damaged("it takes a value where there is none");
            stack_.pop_back();
            break;
        case drop_marked: close_mark(above_mark()); break;
        case duplicate: {
            const PickleValue top = pop();
            push(top);
            push(top);
            break;
        }
        default: return false;
    }
    return true;
}

bool PickleReader::step_container(unsigned char code) {
    using namespace pickle_code;
    const auto of_marked = [&](Kind kind) {
        const std::size_t from = above_mark();
        push_container(kind, from);
        stack_[from - 1] = stack_.back();  // the mark's place
        stack_.pop_back();
    };
    const auto of_last = [&](std::size_t count) {
        if (stack_.size() < count) throw damaged("it takes a value where there is none");
        push_container(Kind::list, stack_.size() - count);
    };
    switch (code) {
        case empty_list:
        case empty_tuple:
        case empty_set: of_last(0); break;
        case empty_dictionary: push_container(Kind::dictionary, stack_.size()); break;
        case tuple1: of_last(1); break;
        case tuple2: of_last(2); break;
        case tuple3: of_last(3); break;
        case list:
        case tuple:
        case frozen_set: of_marked(Kind::list); break;
        case dictionary: of_marked(Kind::dictionary); break;
        case append: extend(Kind::list, stack_.size() - std::min<std::size_t>(stack_.size(), 1), false); break;
        case appends:
        case add_items: extend(Kind::list, above_mark(), true); break;
        case set_item: extend(Kind::dictionary, stack_.size() - std::min<std::size_t>(stack_.size(), 2), false); break;
        case set_items: extend(Kind::dictionary, above_mark(), true); break;
        default: return false;
    }
    return true;
}

bool PickleReader::step_scalar(unsigned char code) {
    using namespace pickle_code;
    switch (code) {
        case none: push(value(Kind::none)); break;
        case true_: push(value(Kind::boolean, 1)); break;
        case false_: push(value(Kind::boolean, 0)); break;
        case int1: push_integer(static_cast<std::int64_t>(number(1))); break;
        case int2: push_integer(static_cast<std::int64_t>(number(2))); break;
        case int4: push_integer(static_cast<std::int32_t>(static_cast<std::uint32_t>(number(4)))); break;
        case long1: push_long(number(1)); break;
        case long4: push_long(number(4)); break;
        case real: {
            std::uint64_t bits = number(8);  // highest byte first, unlike all others
            std::uint64_t turned = 0;
            for (int i = 0; i < 8; ++i, bits >>= 8U) turned = turned << 8U | (bits & 0xFFU);
            spend(sizeof(double));
            data_.reals_.push_back(std::bit_cast<double>(turned));
            push(value(Kind::real, data_.reals_.size() - 1));
            break;
        }
        case text1:
        case old_text1:
        case bytes1: push_text(number(1)); break;
        case text4:
        case old_text4:
        case bytes4: push_text(number(4)); break;
        case text8:
        case bytes8:
        case bytearray8: push_text(number(8)); break;
        default: return false;
    }
    return true;
}

std::uint64_t PickleReader::number(std::size_t bytes) {
    if (data_.bytes_.size() - at_ < bytes) throw damaged("it ends early: the file was cut off");
    std::uint64_t result = 0;
    for (std::size_t i = bytes; i > 0; --i) result = result << 8U | static_cast<unsigned char>(data_.bytes_[at_ + i - 1]);
    at_ += bytes;
    return result;
}

void PickleReader::push(PickleValue pushed) {
    if (stack_.size() == stack_.capacity()) spend(sizeof(PickleValue) * std::max<std::size_t>(stack_.size(), 64));
    stack_.push_back(pushed);
}

PickleValue PickleReader::pop() {
    if (stack_.empty() || stack_.back().kind() == Kind::mark) throw damaged("it takes a value where there is none");
    const PickleValue top = stack_.back();
    stack_.pop_back();
    return top;
}

void PickleReader::push_integer(std::int64_t integer) {
    constexpr std::int64_t bound = std::int64_t{1} << 59;
    if (integer >= -bound && integer < bound) return push(value(Kind::integer, static_cast<std::uint64_t>(integer)));
    spend(sizeof(PickledData::LargeInteger));
    data_.integers_.push_back({.low = static_cast<std::uint64_t>(integer), .negative = integer < 0});
    push(value(Kind::large_integer, data_.integers_.size() - 1));
}

void PickleReader::push_long(std::uint64_t bytes) {
    if (bytes > data_.bytes_.size() - at_) throw damaged("it ends early: the file was cut off");
    const std::size_t begin = at_;
    at_ += bytes;
    if (bytes == 0) return push_integer(0);
    const auto byte = [&](std::uint64_t i) { return static_cast<unsigned char>(data_.bytes_[begin + i]); };
    PickledData::LargeInteger read{.low = 0, .negative = byte(bytes - 1) >= 0x80};
    for (std::uint64_t i = 0; i < bytes; ++i) {
        if (i < 8) read.low |= std::uint64_t{byte(i)} << 8U * i;
        else if (byte(i) != (read.negative ? 0xFF : 0)) read.fits = false;
    }
    if (read.negative && bytes < 8) read.low |= ~std::uint64_t{0} << 8U * bytes;
    if (read.fits && (static_cast<std::int64_t>(read.low) < 0) == read.negative) return push_integer(static_cast<std::int64_t>(read.low));
    spend(sizeof(PickledData::LargeInteger));
    data_.integers_.push_back(read);
    push(value(Kind::large_integer, data_.integers_.size() - 1));
}

void PickleReader::push_text(std::uint64_t bytes) {
    if (bytes > data_.bytes_.size() - at_) throw damaged("it ends early: the file was cut off");
    if (bytes > 0xFFFFFU) throw damaged("a text of " + std::to_string(bytes) + " bytes: a memory snapshot has none of more than 1 MiB");
    if (at_ >> 40U != 0) throw damaged("more than 1 TiB");
    push(value(Kind::text, std::uint64_t{at_} << 20U | bytes));
    at_ += bytes;
}

void PickleReader::push_container(Kind kind, std::size_t from) {
    const std::span<const PickleValue> values = std::span{stack_}.subspan(from);
    if (kind == Kind::dictionary && values.size() % 2 != 0) throw damaged("a key without a value");
    if (std::ranges::any_of(values, [](PickleValue each) { return each.kind() == Kind::mark; })) throw damaged("a mark inside a value");
    spend(sizeof(std::vector<PickleValue>) + values.size() * sizeof(PickleValue) + 16);  // 16: of the heap
    data_.containers_.emplace_back(values.begin(), values.end());
    stack_.resize(from);
    push(value(kind, data_.containers_.size() - 1));
}

std::size_t PickleReader::above_mark() const {
    for (std::size_t i = stack_.size(); i > 0; --i) {
        if (stack_[i - 1].kind() == Kind::mark) return i;
    }
    throw damaged("the end of a list that has no beginning");
}

void PickleReader::extend(Kind kind, std::size_t from, bool marked) {
    const std::size_t below = from - (marked ? 1 : 0);
    if (below == 0 || stack_[below - 1].kind() != kind)
        throw damaged(kind == Kind::list ? "it adds to what is no list" : "it adds to what is no dictionary");
    const std::span<const PickleValue> values = std::span{stack_}.subspan(from);
    if (kind == Kind::dictionary && values.size() % 2 != 0) throw damaged("a key without a value");
    if (!marked && std::ranges::any_of(values, [](PickleValue each) { return each.kind() == Kind::mark; }))
        throw damaged("a mark inside a value");
    std::vector<PickleValue>& container = data_.containers_[stack_[below - 1].payload()];
    if (container.capacity() - container.size() < values.size()) {
        const std::size_t wanted = container.empty() ? values.size() : std::max(2 * container.size(), container.size() + values.size());
        spend((wanted - container.size()) * sizeof(PickleValue));
        container.reserve(wanted);
    }
    container.insert(container.end(), values.begin(), values.end());
    stack_.resize(below);
}

void PickleReader::remember(std::uint64_t place) {
    if (stack_.empty() || stack_.back().kind() == Kind::mark) throw damaged("it remembers a value where there is none");
    if (place > at_) throw damaged("it remembers value " + std::to_string(place) + " of fewer");
    if (place >= memo_.size()) {
        if (place >= memo_.capacity()) {
            const std::size_t wanted = std::max<std::size_t>({place + 1, 2 * memo_.capacity(), 64});
            spend((wanted - memo_.capacity()) * sizeof(PickleValue));
            memo_.reserve(wanted);
        }
        memo_.resize(place + 1, value(Kind::mark));
    }
    memo_[place] = stack_.back();
    ++remembered_;
}

void PickleReader::recall(std::uint64_t place) {
    if (place >= memo_.size() || memo_[place].kind() == Kind::mark)
        throw damaged("it recalls value " + std::to_string(place) + ", which it never remembered");
    push(memo_[place]);
}

void PickleReader::spend(std::size_t bytes) {
    if (bytes > budget_) {
        throw damaged(
            "its values take more memory than is allowed, 64 MiB and 6 bytes for each byte, at most 4 GiB: no memory snapshot "
            "of less than 1 GiB does");
    }
    budget_ -= bytes;
}

Error PickleReader::damaged(const std::string& what) const {
    return {Errc::bad_value, place_ + ": byte " + std::to_string(at_) + ": damaged pickle: " + what};
}

}  // namespace hpo::allocator
