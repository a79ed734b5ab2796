// SPDX-License-Identifier: MIT
#include "tune/models/best_model.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/worker/descriptor.hpp"

namespace hpo::tune {
namespace {

namespace fs = std::filesystem;

Error failed(const fs::path& what, const std::string& why) {
    return {Errc::store, what.string() + ": " + why + ": " + std::strerror(errno)};
}

/// Runs `work`; an error of the file system becomes one of ours.
template <class Work>
void with_files(Work&& work) {
    try {
        work();
    } catch (const fs::filesystem_error& error) {
        throw Error{Errc::store, error.path1().string() + ": " + error.code().message()};
    }
}

/// Two folders change their names in one step.
bool exchange(const fs::path& a, const fs::path& b) { return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0; }

/// The manifest goes last: what is left of a model after a kill in between is known by it.
void remove_model(const fs::path& folder) {
    std::error_code ignored;  // what cannot be removed only takes room
    for (const auto& entry : fs::directory_iterator{folder, ignored}) {
        if (entry.path().filename() != manifest_name) fs::remove_all(entry.path(), ignored);
    }
    fs::remove_all(folder, ignored);
}

/// Nothing for a name that is not `trial-N`, possibly with `.json` after it.
std::optional<std::int64_t> trial_of(std::string_view name) {
    static constexpr std::string_view prefix = "trial-";
    if (!name.starts_with(prefix)) return std::nullopt;
    name.remove_prefix(prefix.size());
    std::int64_t number = 0;
    const auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), number);
    const std::string_view rest{end, static_cast<std::size_t>(name.data() + name.size() - end)};
    if (status != std::errc{} || (!rest.empty() && rest != ".json")) return std::nullopt;
    return number;
}

bool same_params(const Values& values, const Attempt& attempt, const Trial& trial) {
    const ParamSet& params = params_of(trial, attempt);
    return values.size() == params.size() && std::all_of(params.begin(), params.end(), [&](const Param& param) {
               const auto found = values.find(param.name);
               return found != values.end() && found->second == param.value();
           });
}

}  // namespace

void require_usable_model_folder(const fs::path& given, const ModelManifest& about) {
    const fs::path folder = absolute_folder(given);
    std::error_code error;
    const auto refuse = [&](const std::string& what) {
        throw Error{Errc::usage, folder.string() + ": " + what + "; move it away or choose another folder"};
    };
    if (fs::exists(folder, error) && !(fs::is_directory(folder, error) && fs::is_empty(folder, error))) {
        if (!fs::exists(folder / manifest_name, error)) return refuse("is not empty and no saved model");
        const ModelManifest manifest = read_manifest(folder);
        if (manifest.study != about.study || manifest.trainer != about.trainer)
            refuse("holds the model of trial " + std::to_string(manifest.trial) + " of study " + manifest.study);
    }
    fs::path parent = folder.parent_path();
    while (!fs::exists(parent, error) && parent.has_relative_path()) parent = parent.parent_path();
    if (!fs::is_directory(parent, error)) refuse(parent.string() + " is no folder");
    if (::access(parent.c_str(), W_OK | X_OK) != 0) throw failed(folder, parent.string() + " cannot be written");
}

/// Held while pending models are decided about; among all processes, and let go when its holder dies.
class BestModel::Lock {
public:
    explicit Lock(const fs::path& folder) : file_{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)} {
        while (file_ && ::flock(file_.get(), LOCK_EX) != 0) {
            if (errno != EINTR) throw failed(folder, "cannot be locked");
        }
        if (!file_) throw failed(folder, "cannot be opened");
    }

private:
    worker::Descriptor file_;
};

BestModel::BestModel(Settings settings, const std::function<std::vector<Trial>()>& stored) : settings_{std::move(settings)} {
    settings_.folder = absolute_folder(settings_.folder);
    pending_ = settings_.folder.parent_path() / ("." + settings_.folder.filename().string() + ".pending");
    with_files([&] {
        fs::create_directories(settings_.folder.parent_path());
        const Lock lock{settings_.folder.parent_path()};
        const std::vector<Trial> trials = stored();
        if (fs::exists(settings_.folder) && !(fs::is_directory(settings_.folder) && fs::is_empty(settings_.folder))) require_ours(trials);
        fs::create_directories(pending_);
        require_exchange();
        settle_pending(trials);
    });
}

BestModel::~BestModel() {
    try {
        const Lock lock{settings_.folder.parent_path()};
        std::error_code not_empty;
        fs::remove(pending_, not_empty);
    } catch (const Error&) {  // nothing is lost
    }
}

std::optional<ModelManifest> BestModel::kept() const {
    if (!fs::exists(settings_.folder / manifest_name)) return std::nullopt;
    return read_manifest(settings_.folder);
}

void BestModel::require_ours(std::span<const Trial> trials) const {
    const std::string& place = settings_.folder.string();
    const auto manifest = kept();
    const auto refuse = [&](const std::string& what) {
        throw Error{Errc::usage, place + ": " + what + "; move it away or choose another folder"};
    };
    if (!manifest) return refuse("is not empty and no saved model");
    const std::string whose = "holds the model of trial " + std::to_string(manifest->trial) + " of study " + manifest->study;
    if (manifest->study != settings_.about.study || manifest->trainer != settings_.about.trainer) refuse(whose);
    const auto index = static_cast<std::size_t>(manifest->trial);
    const bool known = index < trials.size() && trials[index].state == TrialState::complete && !trials[index].attempts.empty() &&
                       trials[index].values == std::vector{manifest->value} &&
                       same_params(manifest->params, trials[index].attempts.back(), trials[index]);
    if (!known) refuse(whose + " from another store: here it is another trial or not there");
}

void BestModel::require_exchange() const {
    const fs::path a = pending_ / "exchange-a";
    const fs::path b = pending_ / "exchange-b";
    fs::create_directory(a);
    fs::create_directory(b);
    const bool can = exchange(a, b);
    const Error why = failed(settings_.folder, "this file system cannot exchange two folders in one step; choose a folder elsewhere");
    fs::remove(a);
    fs::remove(b);
    if (!can) throw why;
}

std::string BestModel::make(std::int64_t trial) const {
    with_files([&] {
        const Lock lock{settings_.folder.parent_path()};
        fs::remove_all(pending(trial));
        fs::create_directories(pending(trial));
        std::ofstream out{draft(trial)};
        out << manifest_text(settings_.about);
        if (!out.flush()) throw failed(draft(trial), "cannot be written");
    });
    return pending(trial).string();
}

void BestModel::finished(const Trial& trial) const {
    const Lock lock{settings_.folder.parent_path()};
    with_files([&] { decide(trial); });
}

void BestModel::settle(std::span<const Trial> trials) const {
    const Lock lock{settings_.folder.parent_path()};
    with_files([&] { settle_pending(trials); });
}

void BestModel::settle_pending(std::span<const Trial> trials) const {
    if (!fs::exists(pending_)) return;  // another process has left the study, and nothing behind
    std::vector<std::int64_t> found;
    for (const auto& entry : fs::directory_iterator{pending_}) {
        if (const auto number = trial_of(entry.path().filename().string())) found.push_back(*number);
    }
    for (const std::int64_t number : found) {
        const auto index = static_cast<std::size_t>(number);
        if (number >= 0 && index < trials.size() && is_finished(trials[index].state)) decide(trials[index]);
    }
}

bool BestModel::is_better(const Trial& trial) const {
    if (!best_trial({&trial, 1}, settings_.about.direction)) return false;  // not complete, or infeasible
    if (trial.attempts.empty() || fs::is_empty(pending(trial.number))) return false;
    const auto best = kept();
    if (!best) return true;
    const double value = trial.values[0];
    return better(settings_.about.direction, value, best->value) || (value == best->value && trial.number < best->trial);
}

void BestModel::decide(const Trial& trial) const {
    const fs::path model = pending(trial.number);
    const auto best = kept();
    bool stale = best && best->trial == trial.number;  // it was taken, and the one that it replaced has its name
    if (!stale && fs::exists(model / manifest_name)) stale = read_manifest(model).trial != trial.number;
    if (!stale && fs::exists(model) && fs::exists(draft(trial.number)) && is_better(trial)) {
        if (fs::is_empty(model)) {
            discard(trial.number);
            throw Error{Errc::store, model.string() + ": the trainer could not write the model of trial " + std::to_string(trial.number)};
        }
        ModelManifest manifest = parse_manifest(draft(trial.number));
        adopt_trial(manifest, trial, settings_.metrics);
        write_manifest(model, std::move(manifest), model.string() + ".json.new");
        if (fs::exists(settings_.folder) ? !exchange(model, settings_.folder) : ::rename(model.c_str(), settings_.folder.c_str()) != 0)
            throw failed(settings_.folder, "the model of trial " + std::to_string(trial.number) + " cannot take this place");
    }
    discard(trial.number);
}

void BestModel::discard(std::int64_t trial) const {
    remove_model(pending(trial));
    std::error_code ignored;
    fs::remove(pending(trial).string() + ".json.new", ignored);
    fs::remove(draft(trial), ignored);
}

}  // namespace hpo::tune
