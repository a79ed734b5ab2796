// SPDX-License-Identifier: MIT
#include "world.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace hpo::virtual_card {

namespace {

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return out + '"';
}

}  // namespace

World& World::instance() {
    static World* const world = new World;
    return *world;
}

World::World()
    : card_{wanted().card}, ledger_{wanted().state, card_.memory_bytes, visible_cards(card_.count)}, memory_{ledger_} {
    card_.count = static_cast<int>(visible_cards(card_.count).size());
    std::atexit(&World::report_end);
}

int& World::current() {
    static thread_local int card = 0;
    return card;
}

bool World::open_context(int card) {
    const std::lock_guard lock{mutex_};
    std::atomic<bool>& open = contexts_[static_cast<std::size_t>(card)];
    if (open) return true;
    if (!ledger_.take(card, this->card().context_bytes)) return false;
    open = true;
    return true;
}

bool World::copy(void* to, const void* from, std::size_t bytes, Direction direction) {
    if (bytes == 0) return true;
    const auto target = reinterpret_cast<std::uintptr_t>(to);
    const auto source = reinterpret_cast<std::uintptr_t>(from);
    const bool to_card = memory_.card_of(target).has_value();
    const bool from_card = memory_.card_of(source).has_value();
    const char* wrong = nullptr;
    if (direction == Direction::to_device && (!to_card || from_card)) wrong = "from host to device";
    if (direction == Direction::to_host && (to_card || !from_card)) wrong = "from device to host";
    if (direction == Direction::on_device && (!to_card || !from_card)) wrong = "from device to device";
    if (direction == Direction::host_to_host && (to_card || from_card)) wrong = "from host to host";
    if ((to_card && !memory_.holds(target, bytes)) || (from_card && !memory_.holds(source, bytes)))
        wrong = "beyond the end of an allocation";
    if (wrong != nullptr) {
        std::fprintf(stderr, "hpo virtual card: error: a copy of %zu bytes %s, to %p (%s) from %p (%s)\n", bytes, wrong, to,
                     to_card ? "device" : "host", from, from_card ? "device" : "host");
        return false;
    }
    if (!to_card && !from_card) std::memmove(to, from, bytes);
    else if (to_card && from_card) pass_written_on(target, source, bytes);
    else if (to_card) remember_written(target, from, bytes);
    else {
        if (read_written(source, to, bytes)) return true;
        std::memset(to, bytes == 1 ? 1 : 0, bytes);
        if (const OnRead listener = on_read_) listener(bytes);
    }
    return true;
}

void World::remember_written(std::uintptr_t at, const void* from, std::size_t bytes) {
    constexpr std::size_t most_pieces = 64;
    const std::lock_guard lock{mutex_};
    // Whatever it lies upon is not there any more.
    auto next = written_.lower_bound(at);
    if (next != written_.begin() && std::prev(next)->first + std::prev(next)->second.size() > at) --next;
    while (next != written_.end() && next->first < at + bytes) next = written_.erase(next);
    if (from == nullptr || bytes > most_written_bytes || written_.size() >= most_pieces) return;
    const auto* const first = static_cast<const std::byte*>(from);
    written_.emplace(at, std::vector<std::byte>{first, first + bytes});
    any_written_ = true;
}

bool World::read_written(std::uintptr_t at, void* to, std::size_t bytes) const {
    if (!any_written_) return false;
    const std::lock_guard lock{mutex_};
    const auto found = written_.find(at);
    if (found == written_.end() || found->second.size() < bytes) return false;
    std::memcpy(to, found->second.data(), bytes);
    return true;
}

void World::pass_written_on(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
    if (!any_written_) return;
    std::vector<std::byte> piece(std::min(bytes, most_written_bytes));
    const bool known = bytes <= most_written_bytes && read_written(from, piece.data(), bytes);
    remember_written(to, known ? piece.data() : nullptr, bytes);
}

void World::forget_written() {
    if (!any_written_) return;
    const std::lock_guard lock{mutex_};
    written_.clear();
    any_written_ = false;
}

bool World::fill(void* at, std::size_t bytes) {
    if (bytes == 0) return true;
    forget_written();
    const auto target = reinterpret_cast<std::uintptr_t>(at);
    if (!memory_.holds(target, bytes)) {
        std::fprintf(stderr, "hpo virtual card: error: %zu bytes are set at %p, which goes beyond device memory\n", bytes, at);
        return false;
    }
    return true;
}

void* World::pin(std::size_t bytes) {
    void* const at =
        ::mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return nullptr;
    const std::lock_guard lock{mutex_};
    pinned_[reinterpret_cast<std::uintptr_t>(at)] = std::max<std::size_t>(bytes, 1);
    return at;
}

bool World::unpin(void* at) {
    const std::lock_guard lock{mutex_};
    const auto found = pinned_.find(reinterpret_cast<std::uintptr_t>(at));
    if (found == pinned_.end()) return false;
    ::munmap(at, found->second);
    pinned_.erase(found);
    return true;
}

bool World::pinned(const void* at) const {
    const std::lock_guard lock{mutex_};
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    auto found = pinned_.upper_bound(address);
    if (found == pinned_.begin()) return false;
    --found;
    return address < found->first + found->second;
}

void World::note_unmodelled(const char* function) {
    if (*function == '\0') return;  // the runtime asks for no function at all to see whether there is a driver
    {
        const std::lock_guard lock{mutex_};
        const auto [known, is_new] = unmodelled_.emplace(function);
        unmodelled_lately_.insert(known->c_str());
        if (!is_new) return;
    }
    report("{\"not_modelled\":" + quoted(function) + "}");
}

void World::note_convolution(std::int64_t bytes) {
    {
        const std::lock_guard lock{mutex_};
        if (bytes <= largest_convolution_) return;
        largest_convolution_ = bytes;
    }
    report("{\"convolution_bytes\":" + std::to_string(bytes) + "}");
}

const char* World::take_unmodelled() {
    const std::lock_guard lock{mutex_};
    return unmodelled_lately_.empty() ? nullptr : unmodelled_lately_.extract(unmodelled_lately_.begin()).value();
}

void World::begin_capture(std::uintptr_t stream) {
    const std::lock_guard lock{mutex_};
    captures_[stream] = ++last_capture_;
}
void World::end_capture(std::uintptr_t stream) {
    const std::lock_guard lock{mutex_};
    captures_.erase(stream);
}
std::uint64_t World::capture_of(std::uintptr_t stream) const {
    const std::lock_guard lock{mutex_};
    const auto found = captures_.find(stream);
    return found == captures_.end() ? 0 : found->second;
}

void World::report(const std::string& line) {
    if (wanted().report.empty()) return;
    const int file = ::open(wanted().report.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) return;  // a program must not fail for the report on it
    const std::string whole = line + "\n";
    [[maybe_unused]] const auto written = ::write(file, whole.data(), whole.size());
    ::close(file);
}

void World::report_end() {
    World& world = instance();
    for (int card = 0; card < world.card().count; ++card) {
        if (!world.has_context(card)) continue;
        world.report("{\"process\":" + std::to_string(::getpid()) + ",\"card\":" + std::to_string(card) + ",\"peak_bytes\":" +
                     std::to_string(world.memory_.peak(card)) + ",\"launches\":" + std::to_string(world.launches_) + "}");
    }
}

}  // namespace hpo::virtual_card
