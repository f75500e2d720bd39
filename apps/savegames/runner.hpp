// Where jobs run: on Fairlead itself, or on one of the two schedulers to which it is compared.
//
// Fairlead serves the network in all three cases; only the steps of the jobs move:
//
//   fairlead  the task of the connection steps the job, and sleeps while it waits. One set of
//             `--workers` threads does everything.
//   updater   `--workers` polling threads step the jobs.       }  `--io-workers` more threads of
//   trivial   `--workers` pool threads step them, and block.   }  Fairlead read and write sockets.
//
// The cost that is compared is the processor time of the whole process. A baseline has as many
// threads for jobs as Fairlead has for everything, and its network threads come on top. Where this
// is unfair, it favours the baseline. All three have the same threads of the store.
#pragma once

#include <fairlead/coro/task.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "savegames/job.hpp"

namespace savegames {

enum class scheduler_choice : std::uint8_t { fairlead, updater, trivial };

[[nodiscard]] std::optional<scheduler_choice> parse_scheduler(std::string_view name);
[[nodiscard]] std::string_view to_string(scheduler_choice choice) noexcept;

class runner {
public:
    virtual ~runner() = default;

    // Runs `work` to its end and returns it finished. Null: the awaiting task was asked to stop
    // first, or is overdue; the job then expires by itself. Awaited by a task of the service.
    // Rethrows the std::bad_alloc of a step.
    [[nodiscard]] virtual fairlead::task<std::unique_ptr<job>> run(std::unique_ptr<job> work) = 0;

    // How many threads the runner has of its own, and how often these woke so far.
    [[nodiscard]] virtual std::size_t threads() const { return 0; }
    [[nodiscard]] virtual std::uint64_t wakeups() const { return 0; }
};

// `long_steps`: how many long steps run at once on Fairlead; 0: `step_gate::limit_for(workers)`.
// Throws std::system_error when a thread cannot be started.
[[nodiscard]] std::unique_ptr<runner> make_runner(scheduler_choice choice, std::size_t workers,
                                                  std::size_t long_steps = 0);

}  // namespace savegames
