// SPDX-License-Identifier: MIT
//
// Whatever a weights file holds, reading it ends with tensors that lie inside it or with an hpo::Error of one line.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "hpo/base/error.hpp"
#include "hpo/base/plain_text.hpp"
#include "hpo/weights/safetensors.hpp"

namespace {

[[noreturn]] void wrong(const char* what) {
    std::cerr << "safetensors_fuzz: " << what << '\n';
    std::abort();
}

void read(std::string_view file) {
    const auto image = std::as_bytes(std::span{file});
    try {
        std::size_t covered = 0;
        for (const auto& [name, tensor] : hpo::weights::read_safetensors(image, "f").tensors) {
            if (hpo::weights::stored_bytes(tensor.dtype, tensor.shape) != tensor.bytes.size())
                wrong("a tensor's bytes do not fit its shape");
            if (tensor.bytes.data() < image.data() + 8 || tensor.bytes.data() + tensor.bytes.size() > image.data() + image.size()) {
                wrong("a tensor outside its file");
            }
            covered += tensor.bytes.size();
        }
        if (covered > file.size()) wrong("tensors that overlap");
    } catch (const hpo::Error& error) {
        const std::string_view text = error.what();
        if (!text.starts_with("f: ")) wrong("an error without its place");
        if (!hpo::is_plain_text(text)) wrong("an error is not one line of plain text");
    }
}

}  // namespace

/// The input as a file, and as a header (to its last brace) with data to which the right length is put.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    read(text);
    const std::size_t header = text.find_last_of('}') + 1;
    std::string file;
    for (std::size_t i = 0; i < 8; ++i) file += static_cast<char>(header >> (8 * i) & 0xff);
    read(file.append(text));
    return 0;
}
