// SPDX-License-Identifier: MIT
#include "tune/settings/stored_study.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "hpo/space/known_distributions.hpp"
#include "hpo/store/json_text.hpp"
#include "hpo/store/location.hpp"
#include "hpo/store/sqlite/study_attributes.hpp"
#include "support/json.hpp"
#include "support/latest_run.hpp"
#include "support/study_attributes.hpp"

namespace hpo::tune {

namespace {

/// Where a file is that a path names through symbolic links: there SQLite keeps its journal.
std::filesystem::path behind_links(std::filesystem::path path) {
    constexpr int most_links = 40;  // as the kernel has it
    std::error_code failed;
    for (int links = 0; links < most_links && std::filesystem::is_symlink(path, failed); ++links) {
        path = path.parent_path() / std::filesystem::read_symlink(path, failed);  // an absolute one replaces all of it
        if (failed) break;
    }
    return path;
}

/// The folder in which SQLite keeps the journal of a store.
std::string journal_folder(const std::string& file) {
    const auto parent = behind_links(file).parent_path();
    return parent.empty() ? "." : parent.string();
}

/// Why no file can be made in a folder, such as one of /proc: a code of errno; 0: one can. It is made and removed, because some file
/// systems tell it in no other way.
int trouble_of_new_file(const std::string& folder) {
    std::string name = folder + "/.hpo-XXXXXX";
    const int file = ::mkostemp(name.data(), O_CLOEXEC);
    if (file < 0) return errno;
    ::unlink(name.c_str());
    ::close(file);
    return 0;
}

/// Trouble that a run waits for: a full disk, or one that fails.
bool may_pass(int code) {
    constexpr std::array codes{ENOSPC, EDQUOT, EIO, ESTALE, EINTR, EMFILE, ENFILE, ENOMEM};
    return std::ranges::find(codes, code) != codes.end();
}

/// The number that an option is; the texts of infinities count too, since JSON keeps these as texts.
std::optional<double> number_of(const Value& option) {
    if (const auto* whole = std::get_if<std::int64_t>(&option)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&option)) return *real;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (const double number : {infinity, -infinity}) {
        if (option == Value{number_text(number)}) return number;
    }
    return std::nullopt;
}

}  // namespace

const Study& study_named(const std::string& place, const std::vector<Study>& studies, const std::string& name) {
    if (name.empty() && studies.size() == 1) return studies.front();
    std::vector<std::string> names;
    for (const Study& study : studies) {
        if (study.name == name) return study;
        names.push_back(study.name);
    }
    if (!name.empty()) throw unknown_name(place, "study", name, names);
    if (studies.empty()) throw Error{Errc::unknown_name, place + ": holds no study"};
    throw Error{Errc::unknown_name,
                place + ": holds " + std::to_string(studies.size()) + " studies, name one; known: " + join_names(names)};
}

void require_writable_store(const std::string& file) {
    store::require_openable(file, true);
    const auto refuse = [&](const std::string& what) {
        throw Error{Errc::store, "store '" + file + "': " + what + "; --store PATH names another file"};
    };
    if (std::filesystem::exists(file) && ::access(file.c_str(), W_OK) != 0) refuse("cannot be written");
    const std::string folder = journal_folder(file);
    if (::access(folder.c_str(), W_OK | X_OK) != 0) refuse("its directory cannot be written: " + folder);
    if (const int code = trouble_of_new_file(folder); code != 0 && !may_pass(code))
        refuse("cannot be created there: its directory takes no file: " + folder + " (" + std::generic_category().message(code) + ")");
}

void require_room_for_store(const std::string& file, const store::PatienceOptions& options) {
    const std::string place = "store '" + file + "': ";
    constexpr std::uintmax_t least_bytes = 1U << 20U;  // of a new store and its journal
    store::Patience patience{place, options};
    for (;;) {
        std::error_code unknown;
        const auto space = std::filesystem::space(journal_folder(file), unknown);
        if (unknown || space.capacity == 0 || space.available >= least_bytes) return patience.succeeded(0);
        if (!patience.wait_for_failure("the disk is full")) {
            throw Error{Errc::store_unavailable, place + "the disk is full: " + format_bytes(static_cast<std::int64_t>(space.available)) +
                                                     " are free; expected at least 1 MiB"};
        }
    }
}

std::array<std::pair<std::string, std::string>, 2> identity(const Settings& settings) {
    return {{{tools::trainer_attribute, settings.description().trainer}, {tools::metric_attribute, settings.metric_text()}}};
}

void require_same_identity(const Study& stored, const Settings& settings) {
    for (const auto& [key, value] : identity(settings)) {
        const auto has = stored.system_attributes.find(key);
        if (has == stored.system_attributes.end() || has->second == json_quote(value)) continue;
        const std::string name = key.substr(key.find(':') + 1);
        throw bad_value(settings.place("study"), name + " \"" + value + "\" for study " + stored.name,
                        name + " " + has->second + ", which its trials have; or another --study");
    }
}

std::string trainer_options_text(const Settings& settings) {
    return tools::one_line_text(tools::named_values(settings.description().trainer_options));
}

void require_same_options(const Study& stored, const std::vector<Trial>& trials, const Settings& settings, const TrainerInfo& info) {
    const bool none_began = std::ranges::all_of(trials, [](const Trial& trial) { return trial.state == TrialState::waiting; });
    if (settings.arguments().accept_changed_options || none_began) return;
    const auto kept = stored.system_attributes.find(tools::trainer_options_attribute);
    if (kept == stored.system_attributes.end()) return;
    const store::Json json = store::parse_json(kept->second);
    if (!json.is_object()) return;
    const auto& now = settings.description().trainer_options;
    std::map<std::string, Value, std::less<>> then;
    for (const auto& [name, value] : json.items()) then[name] = store::json_value(value);

    std::vector<std::string> has;
    std::vector<std::string> had;
    const auto compare = [&](const std::string& name) {
        const auto value_in = [&](const auto& options) {
            if (const auto found = options.find(name); found != options.end()) return found->second;
            for (const TrainerParameter& parameter : info.parameters) {
                if (parameter.name == name) return parameter.standard;
            }
            return Value{};
        };
        const Value a = value_in(then);
        const Value b = value_in(now);
        if (a == b || (number_of(a) && number_of(a) == number_of(b))) return;
        had.push_back(name + " = " + (a.is_null() ? "none" : display_text(a)));
        has.push_back(name + " = " + (b.is_null() ? "none" : display_text(b)));
    };
    for (const auto& [name, value] : then) compare(name);
    for (const auto& [name, value] : now) {
        if (!then.contains(name)) compare(name);
    }
    if (had.empty()) return;
    throw bad_value(
        settings.place("study"), "trainer options " + join_names(has) + " for study " + stored.name,
        join_names(had) + ", which its latest trials have; or another --study; or --accept-changed-options, to compare unlike trials");
}

void keep_trainer_options(Store& store, const std::string& file, const Study& stored, const Settings& settings, const TrainerInfo& info,
                          const store::PatienceOptions& patience) {
    const std::string text = trainer_options_text(settings);
    if (settings.arguments().accept_changed_options)
        return store.set_study_system_attribute(stored.id, tools::trainer_options_attribute, text);
    const auto read = stored.system_attributes.find(tools::trainer_options_attribute);
    const auto expected = read == stored.system_attributes.end() ? std::nullopt : std::optional{read->second};
    store::Connection connection{file, store::Connection::Options{.write = true, .immutable = false, .patience = patience}};
    if (store::replace_study_system_attribute(connection, stored.id, tools::trainer_options_attribute, expected, text)) return;
    std::vector<Trial> trials;
    store.refresh(stored.id, trials);
    for (const Study& study : store.studies()) {
        if (study.id == stored.id) require_same_options(study, trials, settings, info);
    }
}

store::PatienceOptions store_patience(const Settings& settings, std::function<void(const std::string&)> tell,
                                      std::function<bool()> gives_up) {
    const auto most = settings.limit("store-wait").value_or(std::chrono::milliseconds{0});
    return {.busy_timeout = most, .failure_timeout = most, .tell = std::move(tell), .gives_up = std::move(gives_up)};
}

std::string changed_since_latest_run(const std::string& file, const Study& study, const std::string& configuration,
                                     const store::PatienceOptions& patience) {
    const store::Json before = tools::latest_configuration(file, study.id, patience);
    const store::Json now = store::parse_json(configuration);
    if (!before.is_object() || !now.is_object()) return {};
    std::vector<std::string> changes;
    const auto memory_before = tools::text_in(before, "device-memory");
    const auto memory_now = tools::text_in(now, "device-memory");
    const auto or_all = [](const std::string& text) { return text.empty() ? std::string{"all there is"} : text; };
    if (memory_before && memory_now && *memory_before != *memory_now)
        changes.push_back("device_memory is " + or_all(*memory_now) + ", was " + or_all(*memory_before));
    if (before.contains("space") && before["space"].is_object()) {
        const auto& old_space = before["space"];
        const auto& new_space = now["space"];
        for (const auto& [name, words] : new_space.items()) {
            const auto old_words = tools::text_in(old_space, name.c_str());
            if (!old_words) changes.push_back(name + " is new");
            else if (*old_words != words.get<std::string>())
                changes.push_back(name + " is " + words.get<std::string>() + ", was " + *old_words);
        }
        for (const auto& [name, words] : old_space.items()) {
            if (!new_space.contains(name)) changes.push_back(name + " is no longer asked for");
        }
    }
    constexpr std::size_t most = 6;
    std::string text;
    for (std::size_t i = 0; i < changes.size() && i < most; ++i) text += (i == 0 ? "" : "; ") + changes[i];
    if (changes.size() > most) text += "; and " + std::to_string(changes.size() - most) + " more";
    return text;
}

void require_same_parameters(const std::vector<Trial>& stored, const std::vector<ParamSet>& proposals) {
    KnownDistributions known;
    for (const Trial& trial : stored) {
        try {
            known.admit(trial.params);
        } catch (const Error&) {  // another program mixed them; new trials are held against the latest
        }
    }
    for (const ParamSet& params : proposals) known.admit(params);
}

}  // namespace hpo::tune
