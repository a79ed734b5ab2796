// SPDX-License-Identifier: MIT
#include "command/torch_share.hpp"

#include <string>
#include <vector>

#include "hpo/worker/environment.hpp"
#include "support/catch.hpp"

using hpo::worker::Environment;

TEST_CASE("a Python is known by its name") {
    for (const char* name : {"python", "python3", "/usr/bin/python3.11", ".venv/bin/python"}) CHECK(hpo::command::is_python(name));
    for (const char* name : {"", "python-config", "/usr/bin/pythonw", "train.py", "/opt/python/run"})
        CHECK_FALSE(hpo::command::is_python(name));
}

TEST_CASE("a setting of PyTorch's allocator comes behind those of the environment") {
    CHECK(hpo::command::settings_with({}, "b:1") == "b:1");
    CHECK(hpo::command::settings_with({"PYTORCH_CUDA_ALLOC_CONF=a:True"}, "b:1") == "a:True,b:1");
    CHECK(hpo::command::settings_with({"PYTORCH_CUDA_ALLOC_CONF=a:True", "PYTORCH_ALLOC_CONF=c:2"}, "b:1") == "c:2,b:1");
}

TEST_CASE("a program that is no Python with a PyTorch is started as it is") {
    const Environment before{"PATH=/usr/bin:/bin", "PYTORCH_ALLOC_CONF=expandable_segments:True"};
    for (const auto& words : {std::vector<std::string>{}, {"sh", "-c", "true"}, {"/no/such/python3", "train.py"}}) {
        Environment environment = before;
        hpo::command::limit_torch(environment, words, {.bytes = 1 << 20, .of = 1 << 30});
        CHECK(environment == before);
    }
}
