// SPDX-License-Identifier: MIT
//
// Whatever a program prints, it is classified as something: with credible figures, a line that stands in the text, and the same answer when
// it is asked again. An entry may be a line of JSON: its "\n" become ends of lines.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/failure/cause.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/failure_line.hpp"
#include "hpo/failure/message_families.hpp"
#include "hpo/failure/python_error.hpp"
#include "hpo/failure/signature.hpp"
#include "hpo/failure/traits.hpp"

namespace {

[[noreturn]] void wrong(const char* what) {
    std::cerr << "failure_fuzz: " << what << '\n';
    std::abort();
}

std::string with_line_ends(std::string_view text) {
    std::string lines;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool is_end = text.substr(i).starts_with("\\n");
        lines += is_end ? '\n' : text[i];
        i += is_end ? 1 : 0;
    }
    return lines;
}

void credible(const std::optional<std::int64_t>& bytes, int bits = 50) {
    if (bytes && (*bytes < 0 || *bytes > std::int64_t{1} << bits)) wrong("a figure that nobody can mean");
}

void look_at(hpo::Failure failure) {
    credible(failure.requested_bytes);
    credible(failure.memory.allocated);
    credible(failure.memory.free);
    credible(failure.memory.capacity);
    credible(failure.memory.limit);
    credible(failure.memory.reserved, 51);  // a sum of two
    for (const hpo::MemoryNeighbour& neighbour : failure.memory.neighbours) credible(neighbour.bytes);
    hpo::explain_oom(failure);
    if (hpo::is_memory(failure.kind) != failure.cause.has_value()) wrong("a cause of something else, or memory without one");
    static_cast<void>(hpo::traits_of(failure));
    if (hpo::failure_line(failure).find('\n') != std::string::npos) wrong("a line that is several");
    if (hpo::signature(failure) != hpo::signature(failure)) wrong("two signatures of one failure");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text = with_line_ends({reinterpret_cast<const char*>(data), size});
    const hpo::Failure failure = hpo::classify_text({.type = {}, .message = text});
    if (hpo::classify_text({.type = {}, .message = text}).kind != failure.kind) wrong("two answers to one text");
    if (text.find(hpo::telling_line(text)) == std::string::npos) wrong("a line that the text does not have");
    look_at(failure);
    look_at(hpo::classify_text({.type = "torch.OutOfMemoryError", .message = text}));
    look_at(hpo::classify_python(text));
    for (const std::optional<int> signal : {std::optional<int>{}, std::optional{9}, std::optional{11}})
        look_at(hpo::classify_exit({.exit_status = signal ? std::nullopt : std::optional{1}, .signal = signal, .last_words = text}));
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        if (const auto report = hpo::xid_report_in(line); report && report->device.find(':') == std::string::npos)
            wrong("an Xid of no device");
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    }
    return 0;
}
