// SPDX-License-Identifier: MIT
#pragma once

#include <c10/util/Exception.h>
#include <torch/version.h>

#include <string>

namespace hpo::libtorch {

/// While it lives, this thread drops LibTorch's warnings about operators that are registered twice.
class QuietRegistration {
    struct Silence final : c10::WarningHandler {
#if TORCH_VERSION_MAJOR >= 2
        void process(const c10::Warning& /*warning*/) override {}
    };
    Silence silence_;
    c10::WarningUtils::WarningHandlerGuard guard_{&silence_};
#else
        void process(const c10::SourceLocation& /*place*/, const std::string& /*text*/, bool /*verbatim*/) override {}
    };
    Silence silence_;
    c10::Warning::WarningHandlerGuard guard_{&silence_};
#endif
};

}  // namespace hpo::libtorch
