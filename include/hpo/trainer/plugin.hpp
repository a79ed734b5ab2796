// SPDX-License-Identifier: MIT
#pragma once

#include <cxxabi.h>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/stack_frames.hpp"
#include "hpo/trainer/cannot_run.hpp"
#include "hpo/trainer/news.hpp"
#include "hpo/trainer/plugin_abi.hpp"
#include "hpo/trainer/record_line.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo {

/// The exception that a `catch` block handles, in words.
struct Thrown {
    std::string type;     ///< "c10::OutOfMemoryError"
    std::string message;  ///< what(), or a sentence if it is no std::exception
};

/// Call only inside a `catch` block.
[[nodiscard]] inline Thrown current_thrown() {
    Thrown thrown;
    if (const std::type_info* type = ::abi::__cxa_current_exception_type()) {
        int status = 0;
        const std::unique_ptr<char, void (*)(void*)> readable{::abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), std::free};
        thrown.type = readable ? readable.get() : type->name();
    }
    try {
        throw;
    } catch (const std::exception& error) {
        thrown.message = error.what();
    } catch (...) {
        thrown.message = "threw something that is no std::exception";
    }
    return thrown;
}

/// The outcome that `work` returns, for `run` and `evaluate`. An exception of the trainer becomes a failed outcome, classified by its text.
template <class Work>
[[nodiscard]] AttemptOutcome outcome_of(Work&& work) {
    try {
        return work();
    } catch (...) {
        const Thrown thrown = current_thrown();
        AttemptOutcome outcome;
        outcome.failure = classify_text({.type = thrown.type, .message = thrown.message});
        return outcome;
    }
}

namespace abi {

[[nodiscard]] inline Text as_text(std::string_view text) noexcept { return {text.data(), text.size()}; }
[[nodiscard]] inline std::string_view as_view(Text text) noexcept { return {text.data, text.size}; }

/// A trainer's Progress that calls the functions of the worker.
class HostProgress final : public Progress {
public:
    explicit HostProgress(const Host& host) : host_{whole(host)} {}
    [[nodiscard]] bool report(std::int64_t step, double value) override { return host_.report(host_.context, step, value) != 0; }
    [[nodiscard]] bool stop_requested() const override { return host_.stop_requested(host_.context) != 0; }
    void memory(const MemoryMark& mark) override { host_.memory(host_.context, as_text(record_line(mark))); }
    void last_step(std::int64_t step) override { tell(record_line(News{.last_step = step})); }
    void alive() override { tell(record_line(News{.alive = true})); }
    void checkpointed(std::int64_t step) override { tell(record_line(News{.checkpoint = step})); }
    void log(std::string_view line) override { host_.log(host_.context, as_text(line)); }
    [[nodiscard]] Value suggest(const std::string& name, const std::string& distribution) override {
        if (!host_.suggest) return Progress::suggest(name, distribution);
        std::string answer;
        const Sink sink{&answer,
                        [](void* context, Text part) noexcept { static_cast<std::string*>(context)->assign(part.data, part.size); }};
        host_.suggest(host_.context, as_text(name), as_text(distribution), sink);
        auto suggestion = read_record<Suggestion>(answer, "suggestion");
        if (!suggestion.error.empty()) throw Error{Errc::bad_value, suggestion.error};
        return std::move(suggestion.value);
    }
    [[nodiscard]] std::optional<std::string> recall(const std::string& key) override {
        if (!host_.recall) return std::nullopt;
        std::optional<std::string> kept;
        const Sink sink{&kept, [](void* context, Text text) noexcept {
                            static_cast<std::optional<std::string>*>(context)->emplace(text.data, text.size);
                        }};
        host_.recall(host_.context, as_text(key), sink);
        return kept;
    }
    void keep(const std::string& key, const std::string& text) override {
        if (host_.keep) host_.keep(host_.context, as_text(key), as_text(text));
    }
    void tell(std::string_view json) override {
        if (host_.tell) host_.tell(host_.context, as_text(json));
    }

private:
    Host host_;
};

/// The functions of Entry for one trainer class.
template <std::derived_from<Trainer> T>
struct Exported {
    static std::int32_t create(void** trainer, Sink sink) noexcept {
        return answered(sink, [&]() -> std::string {
            *trainer = static_cast<Trainer*>(new T{});
            return "null";
        });
    }
    static void destroy(void* trainer) noexcept { delete static_cast<Trainer*>(trainer); }
    static std::int32_t info(void* trainer, Sink sink) noexcept {
        return answered(sink, [&] { return record_line(self(trainer).info()); });
    }
    static std::int32_t run(void* trainer, Text job, const Host* host, Sink sink) noexcept {
        return answered(sink, [&] {
            HostProgress progress{*host};
            return record_line(outcome_of([&] { return self(trainer).run(job_of(job), progress); }));
        });
    }
    static std::int32_t profile(void* trainer, Text job, const Host* host, Sink sink) noexcept {
        return answered(sink, [&] {
            HostProgress progress{*host};
            return record_line(self(trainer).stoppable_profile(job_of(job), progress));
        });
    }
    static std::int32_t check(void* trainer, Text job, const Host* host, Sink sink) noexcept {
        return answered(sink, [&] {
            HostProgress progress{*host};
            return record_line(self(trainer).stoppable_check(job_of(job), progress));
        });
    }
    static std::int32_t ask(void* trainer, Text question, Text job, const Host* host, Sink sink) noexcept {
        return answered(sink, [&] {
            HostProgress progress{*host};
            if (as_view(question) == evaluate_question)
                return record_line(outcome_of([&] { return self(trainer).evaluate(job_of(job), progress); }));
            if (as_view(question) == measure_question) return record_line(self(trainer).measure(job_of(job), progress));
            std::vector<std::string> known{evaluate_question, measure_question};
            for (const PeakSource source : peak_sources) {
                if (as_view(question) == to_text(source)) return record_line(self(trainer).predict(job_of(job), source, progress));
                known.emplace_back(to_text(source));
            }
            throw unknown_name("", "question", as_view(question), known);
        });
    }

    /// Builds the entry at the first call. For that it makes a T only to read its info.
    static const Entry* entry() noexcept {
        static const TrainerInfo described = [] {
            try {
                return T{}.info();
            } catch (...) {
                return TrainerInfo{};  // `create` will meet the same error and report it
            }
        }();
        static const Entry made{
            magic,    sizeof(Entry), version, described.name.c_str(), described.libtorch_version.c_str(), &create, &destroy, &info, &run,
            &profile, &check,        &ask};
        return &made;
    }

private:
    static Trainer& self(void* trainer) { return *static_cast<Trainer*>(trainer); }
    static TrainerJob job_of(Text text) { return read_record<TrainerJob>(as_view(text), "job"); }

    template <class F>
    static std::int32_t answered(Sink sink, F&& answer) noexcept {
        try {
            sink.write(sink.context, as_text(answer()));
            return done;
        } catch (const std::bad_alloc& error) {
            sink.write(sink.context, as_text(error.what()));
            return no_memory;
        } catch (const CannotRun& error) {
            sink.write(sink.context, as_text(error.what()));
            return cannot_run;
        } catch (const Error& error) {  // its text is made for people, so its type is not added
            sink.write(sink.context, as_text(error.what()));
            return failed;
        } catch (...) {
            const Thrown thrown = current_thrown();
            sink.write(sink.context, as_text(thrown.type + ": " + without_frames(thrown.message)));
            return failed;
        }
    }
};

}  // namespace abi
}  // namespace hpo

/// Makes the shared library a trainer plugin. Write `HPO_TRAINER_PLUGIN(my::Trainer)` once, at namespace scope of a source file. The class
/// is derived from hpo::Trainer and default constructible. The plugin's name is info().name, and its file must be libhpo_trainer_NAME.so.
/// The class is constructed once for its info and once to work, so load data only when it is first needed.
#define HPO_TRAINER_PLUGIN(Class)                                                                              \
    extern "C" __attribute__((visibility("default"))) const ::hpo::abi::Entry* hpo_trainer_plugin() noexcept { \
        return ::hpo::abi::Exported<Class>::entry();                                                           \
    }                                                                                                          \
    static_assert(true, "takes the semicolon")
