// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>

#include "hpo/core/peak_prediction.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo {

/// The size and time of files and folders, as a text that changes when they change. It is empty if there is no such file. A file is looked
/// at each time. A folder is looked at once a second, because it may hold many files.
class FileStamps {
public:
    [[nodiscard]] const std::string& of(const std::string& path);
    [[nodiscard]] static std::string stamp(const std::filesystem::path& path);

private:
    struct Stamp {
        std::string text;
        std::chrono::steady_clock::time_point looked_at{};
    };
    std::map<std::string, Stamp> stamps_;
};

/// What predictions depend on besides the job.
struct Predictor {
    std::string build;      ///< the stamp of the plugin's file
    std::string processor;  ///< what CPU libraries choose their algorithms by (worker/processor.hpp)
    int threads = 1;        ///< of a worker, if the job does not set them
    std::string card{};     ///< the virtual card on which `PeakSource::virtual_card` trains
};

/// Everything that determines how much of its device a job's attempt takes, as text. Two jobs with the same key have the same prediction.
/// A parameter counts as far as TrainerParameter::memory says. Those of an open-ended trainer's study all count. If a text names a file,
/// the file's stamp counts too. On the CPU, the processor and the number of threads count, because libraries may lay out numbers
/// differently.
[[nodiscard]] std::string prediction_key(const TrainerInfo& info, const Predictor& predictor, const TrainerJob& job, PeakSource source,
                                         FileStamps& files);

}  // namespace hpo
