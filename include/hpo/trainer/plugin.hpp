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

#include "hpo/base/error.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/stack_frames.hpp"
#include "hpo/trainer/cannot_run.hpp"
#include "hpo/trainer/event_progress.hpp"
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

/// A trainer's Progress that tells its events to the worker.
class HostProgress final : public EventProgress {
public:
    explicit HostProgress(const Host& host) : host_{host} {}
    [[nodiscard]] bool stop_requested() const override { return host_.stop_requested(host_.context) != 0; }

private:
    EventAnswer on(const AttemptEvent& event) override {
        std::string answer;
        const std::string text = record_line(event);
        host_.tell(host_.context, as_text(text), sink_into(answer));
        return awaits_answer(event) ? read_record<EventAnswer>(answer, "answer") : EventAnswer{};
    }

    const Host& host_;
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
    static std::int32_t ask(void* trainer, Text request, const Host* host, Sink sink) noexcept {
        return answered(sink, [&] {
            HostProgress progress{*host};
            return answer_of(*static_cast<Trainer*>(trainer), read_record<TrainerRequest>(as_view(request), "request"), progress);
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
        static const Entry made{magic,   sizeof(Entry), version, described.name.c_str(), described.libtorch_version.c_str(),
                                &create, &destroy,      &ask};
        return &made;
    }

private:
    static std::string answer_of(Trainer& trainer, const TrainerRequest& request, Progress& progress) {
        const TrainerJob& job = request.job;
        switch (request.question) {
            case TrainerQuestion::info: return record_line(trainer.info());
            case TrainerQuestion::run: return record_line(outcome_of([&] { return trainer.run(job, progress); }));
            case TrainerQuestion::evaluate: return record_line(outcome_of([&] { return trainer.evaluate(job, progress); }));
            case TrainerQuestion::profile: return record_line(trainer.stoppable_profile(job, progress));
            case TrainerQuestion::predict: return record_line(trainer.predict(job, request.source, progress));
            case TrainerQuestion::check: return record_line(trainer.stoppable_check(job, progress));
            case TrainerQuestion::measure: return record_line(trainer.measure(job, progress));
        }
        throw Error{Errc::usage, "request: no question"};
    }

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
