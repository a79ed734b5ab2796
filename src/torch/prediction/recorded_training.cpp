// SPDX-License-Identifier: MIT
#include "torch/prediction/recorded_training.hpp"

#include <torch/torch.h>
#include <torch/version.h>

#include "hpo/base/error.hpp"
#include "hpo/torch/training/loop.hpp"
#include "torch/prediction/cuda_history.hpp"
#include "torch/prediction/dry_run.hpp"

namespace hpo::libtorch {

RecordedTraining record_training(ShortTask task, Seed seed, RunningAttempt& attempt) {
    RecordedTraining recorded;
    if (attempt.device().is_cpu()) {
        Recording recording{Recorded::device_and_host};
        recorded.outcome = train(task, task.plan(), seed, attempt);
        recorded.trace = recording.finish();
        return recorded;
    }
#ifdef HPO_TORCH_CUDA
    CudaHistory history{{.device = attempt.device().index()}};
    recorded.outcome = train(task, task.plan(), seed, attempt);
    recorded.trace = history.finish();
    return recorded;
#else
    throw Error{Errc::plugin,
                "trace: LibTorch " TORCH_VERSION " keeps no history of a GPU's memory here; built with LibTorch 2.11 for CUDA it does"};
#endif
}

}  // namespace hpo::libtorch
