// SPDX-License-Identifier: MIT
// Checks the batches of a training loop of one's own on the CPU, before a device sees them. The third batch has a label that does not
// exist: on a GPU it would end the process's use of the device.
#include <torch/torch.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "hpo/torch/training/batch_checks.hpp"

int main() {
    using namespace hpo::libtorch;
    torch::manual_seed(1);
    torch::nn::Embedding embedding{100, 8};
    torch::nn::Linear head{8, 3};
    const std::vector<std::int64_t> last_labels{0, 1, 2, 1, 0, 7};

    BatchChecks checks{{.classes = 3, .ignored_label = -100, .vocabulary = 100}, "lr = 0.1, batch = 2"};
    try {
        for (std::int64_t step = 0; step < 3; ++step) {
            const torch::Tensor ids = torch::randint(100, {2, 5}, torch::kLong);
            const torch::Tensor labels = torch::tensor(last_labels, torch::kLong).slice(0, 2 * step, 2 * step + 2);
            const Batch batch{{ids}, labels};
            checks.check_batch(batch);  // still on the CPU
            const torch::Tensor logits = head(embedding(batch.inputs[0]).mean(1));
            checks.check_logits(logits, batch);
            const torch::Tensor loss = torch::nn::functional::cross_entropy(logits, batch.targets);
            checks.check_loss(loss);
            std::printf("batch %lld is sound\n", static_cast<long long>(checks.batches()));
        }
    } catch (const BadBatch& error) {
        std::printf("%s\n", error.what());
    }
}
