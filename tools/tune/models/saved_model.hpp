// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "hpo/core/attributes.hpp"
#include "hpo/core/study.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::tune {

/// A file of a saved model.
struct SavedFile {
    std::int64_t bytes = 0;
    std::string sha256;

    static constexpr void fields(auto field) {
        field("bytes", &SavedFile::bytes);
        field("sha256", &SavedFile::sha256);
    }
};

/// What stands in the manifest.json of a saved model: where it comes from, how to measure it again, and its files.
struct ModelManifest {
    static constexpr std::int64_t newest_format = 1;

    std::int64_t format = newest_format;
    std::string version;  ///< of this program
    std::string trainer;
    std::string libtorch_version;  ///< empty: the trainer uses none
    std::string study;
    std::int64_t trial = 0;
    std::int64_t attempt = 0;
    Values params;   ///< of the attempt that made it
    Values options;  ///< of its study
    ExecutionPlan plan;
    std::uint64_t seed = 0;  ///< of the study
    std::string metric;
    Direction direction = Direction::maximize;
    double value = 0;                                      ///< of the metric, when it was trained
    std::map<std::string, double, std::less<>> metrics{};  ///< all of them
    std::string data_hash;                                 ///< of the data it was trained and measured on; empty: its trainer does not tell
    std::map<std::string, SavedFile, std::less<>> files{};  ///< by their path within the folder

    static constexpr void fields(auto field) {
        field("format", &ModelManifest::format);
        field("version", &ModelManifest::version);
        field("trainer", &ModelManifest::trainer);
        field("libtorch_version", &ModelManifest::libtorch_version);
        field("study", &ModelManifest::study);
        field("trial", &ModelManifest::trial);
        field("attempt", &ModelManifest::attempt);
        field("params", &ModelManifest::params);
        field("options", &ModelManifest::options);
        field("plan", &ModelManifest::plan);
        field("seed", &ModelManifest::seed);
        field("metric", &ModelManifest::metric);
        field("direction", &ModelManifest::direction);
        field("value", &ModelManifest::value);
        field("metrics", &ModelManifest::metrics);
        field("data_hash", &ModelManifest::data_hash);
        field("files", &ModelManifest::files);
    }
};

inline constexpr const char* manifest_name = "manifest.json";

/// Takes the metrics and the data's hash out of what a trainer told.
void adopt_attributes(ModelManifest& manifest, const Attributes& attributes, const std::vector<TrainerMetric>& metrics);
/// Takes what a complete trial says about its model.
void adopt_trial(ModelManifest& manifest, const Trial& trial, const std::vector<TrainerMetric>& metrics);

/// Fills in the files of a folder and writes its manifest, in one step; `draft` is a free name on the same file system. Throws
/// Error{store}.
void write_manifest(const std::filesystem::path& folder, ModelManifest manifest, const std::filesystem::path& draft);
/// The manifest as text, for a file that is no saved model yet, and back. Throws Error.
[[nodiscard]] std::string manifest_text(const ModelManifest& manifest);
[[nodiscard]] ModelManifest parse_manifest(const std::filesystem::path& file);

/// The manifest of a saved model. Throws Error{bad_value} that names the file for a folder that is none.
[[nodiscard]] ModelManifest read_manifest(const std::filesystem::path& folder);
/// Holds a folder against its manifest: every file there, as long as it was, with the same bytes. Throws Error{bad_value}.
void require_whole(const std::filesystem::path& folder, const ModelManifest& manifest);

/// A folder for one model that becomes FOLDER when it is whole; what is not committed is removed.
class NewModel {
public:
    /// Throws Error{usage} when there is something at `folder` already, and Error{store}.
    explicit NewModel(const std::filesystem::path& folder);
    NewModel(const NewModel&) = delete;
    NewModel& operator=(const NewModel&) = delete;
    ~NewModel();

    /// Where the trainer writes.
    [[nodiscard]] std::string path() const { return part_.string(); }
    [[nodiscard]] std::string final_path() const { return folder_.string(); }
    void commit(ModelManifest manifest);

private:
    std::filesystem::path folder_;
    std::filesystem::path part_;
};

/// The path without a slash at its end, absolute.
[[nodiscard]] std::filesystem::path absolute_folder(const std::filesystem::path& folder);

}  // namespace hpo::tune
