// The calls of one execution, for TLC to explain: see spec/traces/Trace.tla.
//
// Each thread records its calls in its own list: the begin and the end on a clock that all threads
// share, the argument, and the result. A record is never a snapshot of state.
#pragma once

#include "execution.hpp"

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>

namespace fairlead::traces {

// --- values as TLA+ writes them ------------------------------------------------------------------

template <class Value>
[[nodiscard]] std::string tla(Value value) {
    if constexpr (std::same_as<Value, bool>) {
        return value ? "TRUE" : "FALSE";
    } else {
        return std::to_string(value);
    }
}
inline std::string tla(std::string value) { return value; }

// --- the calls -----------------------------------------------------------------------------------

class history {
public:
    static constexpr std::size_t threads_max = 8;

    /// Makes `call` on behalf of `thread` (from 1), and records `argument` and the result: a
    /// number, a bool, or a text of TLA+. Returns the result.
    template <class Argument, class Call>
    auto note(std::size_t thread, const char* operation, Argument argument, Call&& call) {
        const std::uint64_t begin = clock_.tick();
        dawdle();
        auto result = call();
        const std::uint64_t end = clock_.tick();
        const outside own;
        add(thread, begin, end, operation, tla(argument), tla(result));
        return result;
    }
    /// For calls that return nothing.
    template <class Argument, class Call>
    void note_done(std::size_t thread, const char* operation, Argument argument, Call&& call) {
        static_cast<void>(note(thread, operation, argument, [&] {
            call();
            return true;
        }));
    }

    /// Records a step that `thread` has just taken. If it is `exact` and threads run one at a time,
    /// no other step overlaps it. Otherwise it happened some time after the previous record of the
    /// thread.
    void note_step(std::size_t thread, const std::string& operation, const std::string& argument,
                   const std::string& result, bool exact) {
        const std::uint64_t end = clock_.tick();
        const std::uint64_t begin = exact && by_model_checker ? end : last_[thread];
        add(thread, begin, end, operation, argument, result);
    }

    /// The next record of `thread` happens after this call.
    void begin_step(std::size_t thread) { last_[thread] = clock_.tick(); }

    /// Returns the records as text, and begins anew. All threads have ended.
    [[nodiscard]] std::string take() {
        std::string text = "trace\n";
        for (std::string& each : calls_) text += std::exchange(each, {});
        last_ = {};
        clock_.reset();
        return text;
    }

private:
    void add(std::size_t thread, std::uint64_t begin, std::uint64_t end,
             const std::string& operation, const std::string& argument, const std::string& result) {
        last_[thread] = end;
        calls_[thread] += std::to_string(thread) + ' ' + std::to_string(begin) + ' ' +
                          std::to_string(end) + ' ' + operation + ' ' + argument + ' ' + result +
                          '\n';
    }

    execution_clock clock_;
    std::array<std::uint64_t, threads_max + 1> last_{};  // when the last call of each ended
    std::array<std::string, threads_max + 1> calls_;
};

/// Runs `scenario` `count` times, and writes the records of each run to
/// `<folder>/<specification>.<variant>.trace`. `variant` is "code" or the name of a planted bug. An
/// execution with a planted bug may break off; then its records up to that moment are written.
template <class Scenario>
void record_traces(const std::string& folder, const std::string& specification,
                   const std::string& variant, unsigned count, const Scenario& scenario) {
    if (count == 0) return;
    std::ofstream file{folder + '/' + specification + '.' + variant + ".trace"};
    history calls;
    execute(
        count, variant == "code", [&] { scenario(calls); }, [&] { file << calls.take(); });
    if (!file.flush()) give_up("cannot write the traces to " + folder);
}

}  // namespace fairlead::traces
