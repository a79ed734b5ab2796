// SPDX-License-Identifier: MIT
#include "input.hpp"

#include "hpo/store/snapshot.hpp"

namespace hpo_analyze {

namespace {

StudyData read(hpo::store::Snapshot& snapshot, const hpo::Study& study) {
    return {.store = snapshot.path(), .study = study, .trials = snapshot.trials(study), .rejections = snapshot.rejections(study)};
}

}  // namespace

StudyData read_study(const Query& query) {
    hpo::store::Snapshot snapshot{query.store};
    if (!query.study.empty()) return read(snapshot, snapshot.study(query.study));
    const std::vector<hpo::Study> studies = snapshot.studies();
    const std::string place = "store '" + snapshot.path() + "': ";
    if (studies.empty()) throw hpo::Error{hpo::Errc::unknown_name, place + "holds no study"};
    if (studies.size() == 1) return read(snapshot, studies.front());
    std::vector<std::string> names;
    for (const hpo::Study& study : studies) names.push_back(study.name);
    throw hpo::Error{hpo::Errc::unknown_name, place + "holds " + std::to_string(studies.size()) +
                                                  " studies, name one with --study; known: " + hpo::join_names(names)};
}

std::vector<StudyData> read_studies(const Query& query) {
    hpo::store::Snapshot snapshot{query.store};
    std::vector<StudyData> all;
    if (!query.study.empty()) {
        all.push_back(read(snapshot, snapshot.study(query.study)));
        return all;
    }
    for (const hpo::Study& study : snapshot.studies()) all.push_back(read(snapshot, study));
    return all;
}

}  // namespace hpo_analyze
