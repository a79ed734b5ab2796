// SPDX-License-Identifier: MIT
#include "hpo/device/ledger.hpp"

#include <time.h>
#include <unistd.h>
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "hpo/base/error.hpp"

namespace hpo::device {

Ledger::Answer Ledger::ask(const Request& request) {
    if (request.bytes < 0) throw bad_value("ledger", std::to_string(request.bytes) + " bytes", "0 or more");
    if (request.bytes > request.budget_bytes) {
        give_back(request.trial);
        return Answer::never;
    }
    return record_.with([&](Content& content) {
        forget_dead(content);
        const double now = clock_();
        Entry& entry = entry_of(content, request.trial, now);
        if (entry.granted) return Answer::granted;
        entry.bytes = request.bytes;
        entry.repeated_at = now;
        entry.patience = patience_seconds_;
        if (!has_room(content, entry, request.budget_bytes, now)) return Answer::waits;
        entry.since = now;
        entry.granted = true;
        return Answer::granted;
    });
}

bool Ledger::raise(const Request& request) {
    return record_.with([&](Content& content) {
        forget_dead(content);
        Entry* const own = own_entry(content, request.trial);
        if (!own || !own->granted) return false;
        const double now = clock_();
        std::int64_t left = request.budget_bytes - request.bytes;
        for (const Entry& other : content.entries) {
            if (other.number == 0 || &other == own) continue;
            if (!other.granted && asks(other, now)) return false;
            left -= other.granted ? other.bytes : 0;
        }
        if (left < 0 || request.bytes < own->bytes) return false;
        own->bytes = request.bytes;
        return true;
    });
}

void Ledger::lower(std::int64_t trial, std::int64_t bytes) {
    record_.with([&](Content& content) {
        if (Entry* const own = own_entry(content, trial); own && own->granted) own->bytes = std::min(own->bytes, bytes);
    });
}

void Ledger::give_back(std::int64_t trial) {
    record_.with([&](Content& content) {
        if (Entry* const own = own_entry(content, trial)) own->number = 0;
    });
}

std::vector<LedgerEntry> Ledger::entries() const {
    std::vector<Entry> all = record_.with([&](Content& content) {
        forget_dead(content);
        return std::vector<Entry>{content.entries.begin(), content.entries.end()};
    });
    std::erase_if(all, [](const Entry& entry) { return entry.number == 0; });
    std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.number < b.number; });
    const double now = clock_();
    std::vector<LedgerEntry> shown;
    for (const Entry& entry : all) shown.push_back({entry.owner.pid, entry.trial, entry.bytes, entry.granted, now - entry.since});
    return shown;
}

double Ledger::host_seconds() {
    ::timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

bool Ledger::has_room(const Content& content, const Entry& entry, std::int64_t budget_bytes, double now) {
    std::vector<const Entry*> older;
    std::int64_t left = budget_bytes;
    for (const Entry& other : content.entries) {
        if (other.number == 0) continue;
        if (other.granted) left -= other.bytes;
        else if (other.number < entry.number && asks(other, now)) older.push_back(&other);
    }
    std::sort(older.begin(), older.end(), [](const Entry* a, const Entry* b) { return a->number < b->number; });
    for (const Entry* const other : older) {
        if (other->bytes <= left) left -= other->bytes;
        else if (now - other->since >= other->patience) return false;
    }
    return entry.bytes <= left;
}

void Ledger::require_same_id_space(Content& content) const {
    if (content.id_space == id_space_) return;
    if (std::ranges::any_of(content.entries, [](const Entry& entry) { return entry.number != 0; })) {
        throw Error{Errc::no_device,
                    file().string() +
                        ": a ledger of processes that this one cannot see, such as those of another container; name another "
                        "file, or remove it when no study runs"};
    }
    content.id_space = id_space_;
}

void Ledger::forget_dead(Content& content) const {
    require_same_id_space(content);
    std::vector<ProcessIdentity> alive{own_identity()};
    for (Entry& entry : content.entries) {
        if (entry.number == 0 || std::find(alive.begin(), alive.end(), entry.owner) != alive.end()) continue;
        if (is_alive(entry.owner)) alive.push_back(entry.owner);
        else entry.number = 0;
    }
}

Ledger::Entry* Ledger::own_entry(Content& content, std::int64_t trial) const {
    const ProcessIdentity self = own_identity();
    const auto found = std::find_if(content.entries.begin(), content.entries.end(), [&](const Entry& entry) {
        return entry.number != 0 && entry.owner == self && entry.user == user_ && entry.trial == trial;
    });
    return found == content.entries.end() ? nullptr : &*found;
}

Ledger::Entry& Ledger::entry_of(Content& content, std::int64_t trial, double now) const {
    if (Entry* const own = own_entry(content, trial)) return *own;
    const auto free = std::find_if(content.entries.begin(), content.entries.end(), [](const Entry& entry) { return entry.number == 0; });
    if (free == content.entries.end())
        throw Error{Errc::no_device, file().string() + ": " + std::to_string(max_entries) + " attempts are on this device already"};
    *free = Entry{.owner = own_identity(), .user = user_, .trial = trial, .since = now, .repeated_at = now, .patience = patience_seconds_};
    free->number = ++content.asked;
    return *free;
}

}  // namespace hpo::device
