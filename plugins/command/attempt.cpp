// SPDX-License-Identifier: MIT
#include "attempt.hpp"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <utility>

#include "hpo/base/bytes.hpp"
#include "hpo/base/wait_until.hpp"
#include "hpo/core/device_word.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/framework_message.hpp"
#include "hpo/failure/orphaned_copy.hpp"
#include "hpo/failure/python_error.hpp"
#include "hpo/worker/supervisor/oom_killer.hpp"

namespace hpo::command {
namespace {

constexpr std::size_t longest_line = std::size_t{64} << 10U;
constexpr std::size_t longest_report = std::size_t{1} << 20U;
constexpr int poll_milliseconds = 20;

/// The larger of two figures that may be unknown.
std::optional<std::int64_t> larger(const std::optional<std::int64_t>& a, const std::optional<std::int64_t>& b) {
    return a && b ? std::max(*a, *b) : a ? a : b;
}

}  // namespace

Attempt::Attempt(const ProgramStart& start, Settings settings, hpo::Progress& progress)
    : settings_{std::move(settings)},
      progress_{progress},
      program_{start},
      output_{program_.output(), longest_line},
      error_output_{program_.error_output(), longest_line},
      reports_{program_.reports(), longest_report},
      output_log_{progress},
      error_log_{progress},
      tree_{program_.keeper(), settings_.device, program_.copy()} {
    if (!settings_.account.empty()) account_.emplace(hpo::device::MeteredDevice::open(settings_.account));
}

hpo::AttemptOutcome Attempt::run() {
    const std::optional<std::int64_t> kills_before = hpo::worker::oom_kills();
    limit_memory();
    for (bool ended = false; !ended;) {
        std::array<pollfd, 4> watched{};
        watched[0] = {program_.ended(), POLLIN, 0};
        std::size_t count = 1;
        for (const LineStream* stream : {&output_, &error_output_, &reports_}) {
            if (!stream->at_end()) watched[count++] = {stream->descriptor(), POLLIN, 0};
        }
        ::poll(watched.data(), count, poll_milliseconds);
        ended = watched[0].revents != 0;
        read_all();
        if (!ended) {
            stop_if_asked();
            look_at_memory();
        }
    }
    const ProgramEnd end = program_.wait();
    if (end.keeper_was_killed) tree_.kill_seen();
    if (account_ && charged_ > 0) account_->release(charged_);
    see_group();
    read_rest();
    output_log_.finish();
    error_log_.finish();
    return outcome(end, hpo::worker::oom_killed_since(kills_before));
}

std::optional<std::int64_t> Attempt::share() { return settings_.cap_bytes || !account_ ? settings_.cap_bytes : account_->own_cap(); }

void Attempt::limit_memory() {
    const auto cap = share();
    if (!settings_.hard_limit || !hpo::is_cpu(settings_.device) || !cap) return;
    // A look ends what takes more than its share. The group ends what takes much more between two looks. It counts what a look does not:
    // the kernel's own memory for the program.
    group_.emplace(*cap + *cap / 16 + (std::int64_t{32} << 20U));
    for (const pid_t process : process_tree(program_.keeper())) {
        if (process != program_.keeper()) group_->add(process);
    }
}

void Attempt::see_group() {
    if (!group_ || too_much_ || !group_->has_killed()) return;
    ended_for_memory("the program took more than the " + hpo::format_bytes(*share()) + " of its device that it may take", "the kernel",
                     {.reserved = larger(share(), seen_peak_), .limit = share()});
}

void Attempt::read_rest() {
    // The writers are gone, so this ends at once. Only a process that the program did not start may still hold one of the pipes.
    const auto is_read = [this] {
        read_all();
        return output_.at_end() && error_output_.at_end() && reports_.at_end();
    };
    static_cast<void>(hpo::wait_until(is_read, {.most_seconds = 1, .pause_seconds = 0.001}));
}

void Attempt::read_all() {
    output_log_.new_round();
    error_log_.new_round();
    // Reports first, as OutputLog::survived wants it.
    reports_.read([this](std::string_view line, bool whole) { hear_line(line, whole); });
    output_.read([this](std::string_view line, bool whole) {
        if (whole && line.starts_with(line_mark)) hear_line(line.substr(line_mark.size()), whole);
        else output_log_.line(line);
    });
    error_output_.read([this](std::string_view line, bool) { error_log_.line(line); });
    // A progress bar ends no line for a long time.
    const std::uint64_t bytes = output_.bytes() + error_output_.bytes() + reports_.bytes();
    if (bytes != std::exchange(heard_bytes_, bytes)) tell_alive();
}

void Attempt::tell_alive() {
    constexpr double pause = 0.2;  // seconds: enough for any limit, and cheap for a program that prints much
    if (told_alive_ && watch_.seconds() < *told_alive_ + pause) return;
    told_alive_ = watch_.seconds();
    progress_.alive();
}

void Attempt::hear_line(std::string_view text, bool whole) {
    if (!whole) return malformed("a line above 1 MiB");
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) return;
    try {
        hear(parse_program_line(text));
    } catch (const hpo::Error& error) {
        malformed(error.what());
    }
}

void Attempt::hear(const ProgramLine& said) {
    for (const auto& [name, json] : said.attributes) attributes_[name] = json;
    for (const auto& [name, value] : said.constraints) constraints_[name] = value;
    if (said.memory) {
        progress_.memory({"step", watch_.seconds(), last_report_ ? std::optional{last_report_->step} : std::nullopt, *said.memory});
        told_ = *said.memory;
        if (!told_peak_) told_peak_.emplace();
        told_peak_->peak_allocated = larger(larger(told_peak_->peak_allocated, said.memory->peak_allocated), said.memory->allocated);
        told_peak_->peak_reserved = larger(larger(told_peak_->peak_reserved, said.memory->peak_reserved), said.memory->reserved);
    }
    if (!said.values.empty()) values_ = said.values;
    pruned_ = pruned_ || said.pruned;
    if (!said.prune_reason.empty()) prune_reason_ = said.prune_reason;
    if (said.suggest) program_.answer(answer_to(*said.suggest));
    if (said.report) {
        last_report_ = said.report;
        output_log_.survived();
        error_log_.survived();
        goes_on_ = progress_.report(said.report->step, said.report->value);
    }
    if (!said.wants_answer) return;
    asks_ = true;
    heard_verdict_ = !goes_on_ || progress_.stop_requested();
    program_.answer(heard_verdict_ ? "{\"prune\": true}\n" : "{\"prune\": false}\n");
}

std::string Attempt::answer_to(const ProgramLine::Question& question) {
    try {
        return "{\"value\": " + hpo::json_text(progress_.suggest(question.name, question.distribution)) + "}\n";
    } catch (const hpo::Error& error) {
        const char* const stopped = progress_.stop_requested() ? ", \"stopped\": true" : "";
        return "{\"error\": " + hpo::json_quote(error.what()) + stopped + "}\n";
    }
}

void Attempt::malformed(const std::string& what) {
    constexpr std::int64_t most_told = 20;
    if (malformed_++ == 0) first_malformed_ = what;
    if (malformed_ <= most_told) progress_.log("hpo: a report cannot be read: " + what);
    if (malformed_ == most_told) progress_.log("hpo: further ones are only counted");
}

void Attempt::stop_if_asked() {
    if (!progress_.stop_requested()) return;
    if (!since_stop_) since_stop_.emplace();
    const double grace = std::chrono::duration<double>(settings_.grace).count();
    // A program that asks gets the answer first, and the same time to end by itself.
    const double asked_after = asks_ ? grace : 0;
    if (signals_sent_ == 0 && since_stop_->seconds() >= asked_after) {
        program_.signal(SIGTERM);
        ++signals_sent_;
    }
    if (signals_sent_ == 1 && since_stop_->seconds() >= asked_after + grace) {
        program_.signal(SIGKILL);
        ++signals_sent_;
    }
}

void Attempt::look_at_memory() {
    // A look costs a millisecond or more, so it takes at most a twentieth of the time.
    constexpr double share = 0.05;
    const double begin = watch_.seconds();
    if (begin < next_look_) return;
    const auto look = tree_.now();
    const double end = watch_.seconds();
    next_look_ = end + std::max(least_pause, (end - begin) / share);
    if (!look) return;
    seen_peak_ = larger(seen_peak_, look->most);
    take(*look);
    if (sampling_times_.due(end))
        progress_.memory({"step", end, last_report_ ? std::optional{last_report_->step} : std::nullopt, {.reserved = look->bytes}});
}

void Attempt::take(const TreeMemory::Look& look) {
    if (too_much_) return;
    const std::int64_t bytes = look.bytes;
    const std::string took = "the program took " + hpo::format_bytes(look.most) + " of its device";
    std::optional<std::int64_t> cap = settings_.cap_bytes;
    if (account_) {
        using Answer = hpo::device::Charge::Answer;
        const Answer answer = bytes > charged_ ? account_->charge(bytes - charged_).answer : Answer::taken;
        if (bytes < charged_) account_->release(charged_ - bytes);
        if (answer == Answer::taken) charged_ = bytes;
        else cap = account_->own_cap();
        const bool beyond_cap = cap && look.most > *cap;  // who takes more than its share is refused for that
        if (!beyond_cap && (answer == Answer::full || look.most > bytes)) {
            const hpo::device::Occupancy now = account_->occupancy();
            const hpo::MemoryReading full{
                .allocated = charged_, .reserved = charged_, .free = now.capacity_bytes - now.used_bytes, .capacity = now.capacity_bytes};
            if (answer == Answer::full || look.most > now.capacity_bytes) {
                return end_for_memory(took + ", which has " + hpo::format_bytes(now.capacity_bytes) + ". Beside it, others hold " +
                                          hpo::format_bytes(now.used_bytes - charged_),
                                      full);
            }
        }
    }
    if (cap && look.most > *cap)
        end_for_memory(took + ", more than the " + hpo::format_bytes(*cap) + " that it may take", {.reserved = look.most, .limit = cap});
}

void Attempt::ended_for_memory(const std::string& why, const std::string& who, hpo::MemoryReading reading) {
    too_much_ = hpo::Failure{.kind = hpo::FailureKind::out_of_memory, .message = "out of memory: " + why + ", so " + who + " ended it"};
    too_much_->memory = std::move(reading);
}

void Attempt::end_for_memory(const std::string& why, hpo::MemoryReading reading) {
    ended_for_memory(why, "hpo", std::move(reading));
    if (seen_peak_ && too_much_->memory.capacity) too_much_->requested_bytes = *seen_peak_ - charged_;
    program_.signal(SIGKILL);
}

void Attempt::add_told_memory(hpo::Failure& failure) const {
    if (failure.kind != hpo::FailureKind::out_of_memory || hpo::read_oom_figures(failure.message)) return;
    hpo::MemoryReading& memory = failure.memory;
    for (auto figure : {&hpo::MemoryReading::allocated, &hpo::MemoryReading::reserved, &hpo::MemoryReading::free,
                        &hpo::MemoryReading::capacity, &hpo::MemoryReading::limit}) {
        if (!(memory.*figure)) memory.*figure = told_.*figure;
    }
}

hpo::Failure Attempt::without_value(const ProgramEnd& end) const {
    hpo::Failure failure;
    failure.exit_status = end.status;
    failure.message =
        R"(the program ended with status 0 and told no value; expected a line {"value": NUMBER} in HPO_REPORT_FD, or "@hpo {"value": )"
        R"(NUMBER}" on standard output)";
    if (last_report_) failure.message += "; its last report was of step " + std::to_string(last_report_->step);
    if (malformed_ > 0)
        failure.message +=
            "; " + std::to_string(malformed_) + (malformed_ == 1 ? " line" : " lines") + " cannot be read, the first: " + first_malformed_;
    failure.traceback = std::string{error_log_.last_words()};
    return failure;
}

std::optional<std::int64_t> Attempt::reserved_peak() const {
    const auto told = told_peak_ ? told_peak_->peak_reserved : std::nullopt;
    if (hpo::is_cpu(settings_.device) || !told) return told ? told : seen_peak_;
    return larger(seen_peak_, *told + settings_.context_bytes);
}

hpo::AttemptOutcome Attempt::outcome(const ProgramEnd& end, std::optional<bool> host_memory_was_short) {
    hpo::AttemptOutcome outcome;
    outcome.idle_seconds = end.idle_seconds;
    outcome.attributes = std::move(attributes_);
    outcome.constraints = std::move(constraints_);
    if (hpo::is_cpu(settings_.device)) seen_peak_ = larger(seen_peak_, end.peak_resident);  // the kernel misses no moment
    if (told_peak_) outcome.peak_allocated = told_peak_->peak_allocated;
    outcome.peak_reserved = reserved_peak();
    const bool succeeded = end.status == 0;
    if ((since_stop_ && !(succeeded && !values_.empty())) || (pruned_ && succeeded)) {
        outcome.kind = hpo::OutcomeKind::stopped;
        outcome.prunes_itself = pruned_ && !since_stop_;
        outcome.heard_verdict = outcome.prunes_itself && heard_verdict_;
        if (outcome.prunes_itself) outcome.prune_reason = std::move(prune_reason_);
    } else if (too_much_ && !succeeded) {
        outcome.failure = std::move(too_much_);
    } else if (end.keeper_was_killed) {
        outcome.failure = hpo::Failure{.kind = hpo::FailureKind::lost_worker, .message = "the process that keeps the program was killed"};
        outcome.failure->traceback = std::string{error_log_.last_words()};
    } else if (end.was_orphaned && end.signal == SIGKILL) {
        outcome.kind = hpo::OutcomeKind::interrupted;
        outcome.failure = hpo::Failure{.kind = hpo::FailureKind::lost_worker, .message = std::string{hpo::orphaned_copy_message}};
        outcome.failure->traceback = std::string{error_log_.last_words()};
    } else if (!succeeded) {
        const std::string_view said = error_log_.last_words().empty() ? output_log_.last_words() : error_log_.last_words();
        outcome.failure = hpo::classify_exit(
            {.exit_status = end.status, .signal = end.signal, .last_words = said, .host_memory_was_short = host_memory_was_short});
        if (const auto raised = hpo::classify_exceptions(hpo::exceptions_in(said)); raised && !end.signal) {
            outcome.failure = raised;
            outcome.failure->traceback = std::string{said};
            outcome.failure->exit_status = end.status;
        }
        add_told_memory(*outcome.failure);
    } else if (values_.empty()) {
        outcome.failure = without_value(end);
    } else if (values_.size() != settings_.objectives && values_.size() != 1) {
        outcome.failure =
            hpo::Failure{.message = "the program told " + std::to_string(values_.size()) + " values; the study has " +
                                    std::to_string(settings_.objectives) + (settings_.objectives == 1 ? " objective" : " objectives")};
    } else {
        outcome.kind = hpo::OutcomeKind::complete;
        outcome.values = values_;
    }
    return outcome;
}

}  // namespace hpo::command
