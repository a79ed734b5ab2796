// SPDX-License-Identifier: MIT
//
// Whatever a worker or its supervisor sends, in pieces of whatever size, it is read as lines, and each line is a message or an hpo::Error
// of one line. A message that was read is written and read again as the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "hpo/base/error.hpp"
#include "hpo/worker/line_buffer.hpp"
#include "hpo/worker/protocol.hpp"

namespace {

using namespace hpo::worker;

[[noreturn]] void wrong(const char* what) {
    std::cerr << "protocol_fuzz: " << what << '\n';
    std::abort();
}

template <class Message>
void read(std::string_view line) {
    std::string again;
    try {
        again = message_line(parse_message<Message>(line));
    } catch (const hpo::Error& error) {
        const std::string_view text = error.what();
        if (text.empty() || text.find('\n') != std::string_view::npos) wrong("an error is not one line");
        return;
    }
    if (again.find('\n') != again.size() - 1) wrong("a message that is not one line");
    const std::string_view sent{again.data(), again.size() - 1};
    if (message_line(parse_message<Message>(sent)) != again) wrong("a message that changes when it is sent on");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text = std::string{reinterpret_cast<const char*>(data), size} + '\n';
    constexpr std::size_t longest = 1 << 16;
    LineBuffer buffer{longest};
    std::size_t read_bytes = 0;
    try {
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t piece = std::min(text.size() - at, std::size_t{1} + static_cast<unsigned char>(text[at]));
            buffer.append(std::string_view{text}.substr(at, piece));
            at += piece;
            while (const auto line = buffer.next()) {
                if (line->find('\n') != std::string::npos) wrong("a line that is several");
                read_bytes += line->size() + 1;
                read<Request>(*line);
                read<Event>(*line);
            }
        }
        if (read_bytes != text.size()) wrong("bytes were lost or invented");
    } catch (const hpo::Error&) {
        if (text.size() <= longest) wrong("a line was called too long");
    }
    return 0;
}
