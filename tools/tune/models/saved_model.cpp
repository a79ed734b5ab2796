// SPDX-License-Identifier: MIT
#include "tune/models/saved_model.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/dataset/sha256.hpp"
#include "hpo/trainer/json.hpp"
#include "hpo/worker/descriptor.hpp"

namespace hpo::tune {
namespace {

namespace fs = std::filesystem;

Error cannot(const fs::path& what, const std::string& why) { return {Errc::store, what.string() + ": " + why}; }

/// SHA-256 of a file, and its length.
SavedFile measure(const fs::path& file) {
    std::ifstream in{file, std::ios::binary};
    if (!in) throw cannot(file, "cannot be read");
    dataset::Sha256 hash;
    SavedFile result;
    std::string block(std::size_t{1} << 20U, '\0');
    while (in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0) {
        hash.add({block.data(), static_cast<std::size_t>(in.gcount())});
        result.bytes += in.gcount();
    }
    result.sha256 = dataset::hex_text(hash.finish());
    return result;
}

void write_durably(const fs::path& file, const std::string& text) {
    const worker::Descriptor out{::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
    std::string_view rest{text};
    while (out && !rest.empty()) {
        const ssize_t count = ::write(out.get(), rest.data(), rest.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) break;
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
    if (!out || !rest.empty() || ::fsync(out.get()) != 0) throw cannot(file, std::string{"cannot be written: "} + std::strerror(errno));
}

}  // namespace

void adopt_attributes(ModelManifest& manifest, const Attributes& attributes, const std::vector<TrainerMetric>& metrics) {
    for (const TrainerMetric& metric : metrics) {
        const auto told = attributes.find(metric.name);
        if (told == attributes.end()) continue;
        const Json json = Json::parse(told->second, nullptr, false);
        if (json.is_number()) manifest.metrics[metric.name] = json.get<double>();
    }
    manifest.metrics[manifest.metric] = manifest.value;
    if (const auto told = attributes.find("data_hash"); told != attributes.end()) {
        const Json json = Json::parse(told->second, nullptr, false);
        if (json.is_string()) manifest.data_hash = json.get<std::string>();
    }
}

void adopt_trial(ModelManifest& manifest, const Trial& trial, const std::vector<TrainerMetric>& metrics) {
    const Attempt& last = trial.attempts.back();
    manifest.trial = trial.number;
    manifest.attempt = last.index;
    manifest.params.clear();
    for (const Param& param : params_of(trial, last)) manifest.params[param.name] = param.value();
    manifest.plan = last.plan;
    manifest.value = trial.values.at(0);
    adopt_attributes(manifest, trial.user_attributes, metrics);
}

std::string manifest_text(const ModelManifest& manifest) {
    return encode(manifest).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

ModelManifest parse_manifest(const fs::path& file) {
    std::ifstream in{file, std::ios::binary};
    std::string text{std::istreambuf_iterator<char>{in}, {}};
    std::replace(text.begin(), text.end(), '\n', ' ');  // so that an error that quotes it is one line
    return decoded<ModelManifest>(parse_json(text, file.string()), file.string());
}

void write_manifest(const fs::path& folder, ModelManifest manifest, const fs::path& draft) {
    try {
        manifest.files.clear();
        for (const auto& entry : fs::recursive_directory_iterator{folder}) {
            const std::string name = fs::relative(entry.path(), folder).generic_string();
            if (entry.is_regular_file() && name != manifest_name) manifest.files[name] = measure(entry.path());
        }
        if (manifest.files.empty()) throw cannot(folder, "the trainer " + manifest.trainer + " has saved nothing");
        write_durably(draft, manifest_text(manifest));
        fs::rename(draft, folder / manifest_name);
    } catch (const fs::filesystem_error& error) {
        throw cannot(folder, std::string{"cannot be written: "} + error.code().message());
    }
}

ModelManifest read_manifest(const fs::path& folder) {
    const fs::path file = folder / manifest_name;
    const std::string expected = "; expected a folder that hpo-tune run --save-best or hpo-tune try --save has written";
    if (!fs::is_directory(folder)) throw Error{Errc::bad_value, folder.string() + ": no such folder" + expected};
    if (!fs::is_regular_file(file)) throw Error{Errc::bad_value, folder.string() + ": has no " + manifest_name + expected};
    ModelManifest manifest = parse_manifest(file);
    if (manifest.format > ModelManifest::newest_format) {
        throw bad_value(file.string() + ": format", std::to_string(manifest.format),
                        "at most " + std::to_string(ModelManifest::newest_format) + "; a newer version of hpo-tune has written it");
    }
    for (const auto& [what, text] : {std::pair{"trainer", &manifest.trainer}, std::pair{"metric", &manifest.metric}}) {
        if (text->empty()) throw bad_value(file.string() + ": " + what, "nothing", "the name of a " + std::string{what});
    }
    if (manifest.files.empty()) throw bad_value(file.string() + ": files", "nothing", "the files of a model");
    for (const auto& [name, saved] : manifest.files) {
        const fs::path path{name};
        bool inside = !path.empty() && path.is_relative();
        for (const fs::path& part : path) inside = inside && part != "..";
        if (!inside) throw bad_value(file.string() + ": files", "'" + name + "'", "paths inside the folder");
    }
    return manifest;
}

void require_whole(const fs::path& folder, const ModelManifest& manifest) {
    for (const auto& [name, saved] : manifest.files) {
        const fs::path file = folder / name;
        if (!fs::is_regular_file(file)) throw Error{Errc::bad_value, file.string() + ": missing; the manifest names it"};
        const auto bytes = static_cast<std::int64_t>(fs::file_size(file));
        if (bytes != saved.bytes) throw bad_value(file.string(), std::to_string(bytes) + " bytes", std::to_string(saved.bytes));
        if (measure(file).sha256 != saved.sha256)
            throw Error{Errc::bad_value, file.string() + ": other bytes than those that were saved (its SHA-256 is not the manifest's)"};
    }
}

fs::path absolute_folder(const fs::path& folder) {
    const fs::path path = fs::absolute(folder).lexically_normal();
    return path.has_filename() ? path : path.parent_path();
}

NewModel::NewModel(const fs::path& folder)
    : folder_{absolute_folder(folder)}, part_{folder_.string() + "." + std::to_string(::getpid()) + ".part"} {
    std::error_code error;
    if (fs::exists(folder_) && !(fs::is_directory(folder_) && fs::is_empty(folder_)))
        throw Error{Errc::usage, folder_.string() + ": exists already; expected a new folder for the model"};
    fs::remove_all(part_, error);
    fs::create_directories(part_, error);
    if (error) throw cannot(part_, "cannot be made: " + error.message());
}

NewModel::~NewModel() {
    std::error_code ignored;  // what cannot be removed only takes room
    fs::remove_all(part_, ignored);
}

void NewModel::commit(ModelManifest manifest) {
    if (fs::is_empty(part_)) throw Error{Errc::store, folder_.string() + ": the trainer could not write the model"};
    write_manifest(part_, std::move(manifest), part_.string() + ".json");
    std::error_code error;
    fs::rename(part_, folder_, error);
    if (error) throw cannot(folder_, "cannot be made: " + error.message());
}

}  // namespace hpo::tune
