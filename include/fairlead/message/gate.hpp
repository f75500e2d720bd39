// A gate: entries that are alone or share, and a close with a teardown.
//
//     fl::gate door;
//     auto hold = co_await door.exclusive(deadline);      // alone, also over waits
//     auto hold = co_await door.concurrent(deadline);     // beside other concurrent entries
//     if (auto teardown = co_await door.close()) free_everything();
//
// A hold keeps its entry until it is destroyed. `close` refuses new entries, ends the entries that
// wait, and waits until all holds are gone. Then the first close has the teardown, which is alone.
//
// Which entries come in next is the policy of the gate:
//     phase_fair        An exclusive entry that ends lets in all concurrent ones that wait; the
//                       last of these lets in one exclusive one. Neither kind starves.
//     arrival           In the order in which they began to wait. Concurrent entries that follow
//                       each other come in together. Neither kind starves.
//     exclusive_first   Concurrent entries come in when no exclusive one waits, and may starve.
//
// A gate with exclusive entries alone is a mailbox. Gates nest: a task may hold several, if all
// tasks enter them in one order. A task that holds a gate and enters it again waits for itself. If
// it is the handler of a receiver or a service with an exclusive entry, the program ends with the
// name of the task. A hold that a program keeps itself is not checked: it may be in another task.
//
// Any thread. No allocation. Without waits an entry is one exchange of a word, and its end another.
//
// Spec: RwMutex in spec/MAP.md.
#pragma once

#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/coro/task_wait.hpp>
#include <fairlead/detail/sync/owner_mark.hpp>
#include <fairlead/detail/sync/phase_line.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <optional>
#include <utility>

namespace fairlead {

/// Which of the entries that wait come in next.
using gate_policy = sync::phase_line::policy;

class gate;

/// Keeps an entry, or the teardown, of a gate; the destructor ends it. It may be moved to another
/// task or thread, which ends it then. It must be gone before its gate.
class [[nodiscard]] gate_hold {
public:
    /// No entry.
    gate_hold() = default;
    /// `other` has no entry after it.
    gate_hold(gate_hold&& other) noexcept
        : of_{std::exchange(other.of_, nullptr)}, kind_{other.kind_} {}
    /// Ends its own entry, and takes over that of `other`.
    gate_hold& operator=(gate_hold&& other) noexcept {
        if (this != &other) {
            leave();
            of_ = std::exchange(other.of_, nullptr);
            kind_ = other.kind_;
        }
        return *this;
    }
    ~gate_hold() { leave(); }

    /// Whether it keeps an entry.
    explicit operator bool() const noexcept { return of_ != nullptr; }

    /// Ends the entry now. Without an entry it does nothing.
    void leave() noexcept {
        if (auto* const of = std::exchange(of_, nullptr)) of->leave(kind_);
    }

private:
    friend class gate;

    gate_hold(sync::phase_line& of, sync::phase_line::entry kind) noexcept
        : of_{&of}, kind_{kind} {}

    sync::phase_line* of_ = nullptr;
    sync::phase_line::entry kind_ = sync::phase_line::entry::shared;
};

class gate_entry;

/// All members may be called by any thread, but for the destructor; the `_blocking` forms by
/// threads that are no workers.
class gate {
    using entry = sync::phase_line::entry;
    using closing = sync::phase_line::closing;

    class enter_operation : public coro::operation_on<sync::phase_line> {
    public:
        enter_operation(gate& of, entry kind) noexcept : operation_on{of.line_, kind}, gate_{of} {}

        [[nodiscard]] bool enter_as(const coro::root& task) noexcept {
            return enter() && waits_for_another(task);
        }

        [[nodiscard]] waited<gate_hold> collect(std::optional<wait_error> early) noexcept {
            if (const auto ended = operation_on::collect(early); !ended) {
                return std::unexpected{ended.error()};
            }
            return gate_hold{of(), kind()};
        }

    protected:
        enter_operation(enter_operation&&) noexcept = default;
        ~enter_operation() {
            if (take_grant()) of().leave(kind());  // the task was destroyed with its scheduler
        }

        // True, or it does not return.
        [[nodiscard]] bool waits_for_another(const coro::root& task) const noexcept {
            if (gate_.handler_.is(&task)) waits_for_itself(task);
            return true;
        }

    private:
        gate& gate_;
    };

    class close_operation : public enter_operation {
    public:
        explicit close_operation(gate& of) noexcept : enter_operation{of, entry::exclusive} {}

        [[nodiscard]] bool enter() noexcept { return of().close(*this) == closing::waits; }
        [[nodiscard]] bool enter_as(const coro::root& task) noexcept {
            return enter() && waits_for_another(task);
        }

        [[nodiscard]] waited<gate_hold> collect(std::optional<wait_error> early) noexcept {
            if (early) of().refuse();  // of a task that was stopped before, the wait has not begun
            return enter_operation::collect(early);
        }

    protected:
        close_operation(close_operation&&) noexcept = default;
        ~close_operation() = default;
    };

public:
    /// Open, with nothing inside.
    explicit gate(gate_policy policy = gate_policy::phase_fair) noexcept : line_{policy} {}
    /// Nothing may be inside or wait. The task that was the last inside may destroy it at once.
    ~gate() {
        FAIRLEAD_ASSERT(!line_.is_exclusive() && line_.shared() == 0,
                        "a gate was destroyed while a task or a thread is inside");
    }

    /// An entry that is alone, to be awaited or given to a receiver. With `co_await`: waits until
    /// `deadline` at the latest; `waited<gate_hold>`, which is the entry, `closed`, `stopped` or
    /// `expired`.
    [[nodiscard]] gate_entry exclusive(time_point deadline = never) noexcept;

    /// The same for an entry beside other concurrent ones.
    [[nodiscard]] gate_entry concurrent(time_point deadline = never) noexcept;

    /// Enters at once. No entry: something is inside, or the gate is closed.
    [[nodiscard]] gate_hold try_exclusive() noexcept { return try_enter(entry::exclusive); }

    /// Enters at once. No entry: an exclusive entry is inside or waits, or the gate is closed.
    [[nodiscard]] gate_hold try_concurrent() noexcept { return try_enter(entry::shared); }

    /// The same as `exclusive` on this thread, which must not be a worker's. The deadline is by the
    /// clock of the system.
    [[nodiscard]] waited<gate_hold> exclusive_blocking(time_point deadline = never) {
        return coro::wait_on_thread<enter_operation>(deadline, *this, entry::exclusive);
    }

    /// The same as `concurrent` on this thread, which must not be a worker's. The deadline is by
    /// the clock of the system.
    [[nodiscard]] waited<gate_hold> concurrent_blocking(time_point deadline = never) {
        return coro::wait_on_thread<enter_operation>(deadline, *this, entry::shared);
    }

    /// Closes the gate for good: entries that wait, and all later ones, end as `closed`. Waits
    /// until nothing is inside: `waited<gate_hold>`, which is the teardown. `closed`: an earlier
    /// close has the teardown, or waits for it. After `stopped` or `expired` the gate is closed,
    /// and the teardown is left to the next close.
    [[nodiscard]] auto close(time_point deadline = never) noexcept {
        return coro::task_wait<close_operation>{deadline, *this};
    }

    /// The same as `close` on this thread, which must not be a worker's. The deadline is by the
    /// clock of the system.
    [[nodiscard]] waited<gate_hold> close_blocking(time_point deadline = never) {
        return coro::wait_on_thread<close_operation>(deadline, *this);
    }

    /// Whether it was closed. What was done before the close is seen.
    [[nodiscard]] bool is_closed() const noexcept { return line_.is_closed(); }

    /// How many entries wait, for reports. Takes a lock for some instructions.
    [[nodiscard]] std::size_t waiting() noexcept { return line_.waiting(); }

private:
    friend class gate_entry;

    [[noreturn, gnu::cold, gnu::noinline]] static void waits_for_itself(
        const coro::root& task) noexcept {
        std::fprintf(stderr, "fairlead: %s -> gate -> %s\n", task.name(), task.name());
        FAIRLEAD_ASSERT(false, "a handler waits for the gate that it is inside of: for itself");
        std::unreachable();
    }

    [[nodiscard]] gate_hold try_enter(entry kind) noexcept {
        return line_.try_enter(kind) ? gate_hold{line_, kind} : gate_hold{};
    }

    sync::phase_line line_;
    sync::owner_mark handler_;  // that is alone inside
};

/// An entry of a gate that may be awaited, any number of times.
class [[nodiscard]] gate_entry {
public:
    /// The wait for the entry: see `gate::exclusive`.
    [[nodiscard]] auto operator co_await() const noexcept {
        return coro::task_wait<gate::enter_operation>{deadline_, *of_, kind_};
    }

    /// @cond internal
    // A handler is inside by this entry, as long as the object lives.
    class handler_mark {
    public:
        handler_mark() = default;
        handler_mark(const handler_mark&) = delete;
        handler_mark& operator=(const handler_mark&) = delete;
        ~handler_mark() {
            if (of_ != nullptr) of_->handler_.clear();
        }

        void set(const gate_entry& entry, const coro::root& handler) noexcept {
            if (entry.kind_ != sync::phase_line::entry::exclusive) return;
            of_ = entry.of_;
            of_->handler_.set(&handler);
        }

    private:
        gate* of_ = nullptr;
    };
    /// @endcond

private:
    friend class gate;

    gate_entry(gate& of, sync::phase_line::entry kind, time_point deadline) noexcept
        : of_{&of}, kind_{kind}, deadline_{deadline} {}

    gate* of_;
    sync::phase_line::entry kind_;
    time_point deadline_;
};

inline gate_entry gate::exclusive(time_point deadline) noexcept {
    return gate_entry{*this, entry::exclusive, deadline};
}
inline gate_entry gate::concurrent(time_point deadline) noexcept {
    return gate_entry{*this, entry::shared, deadline};
}

}  // namespace fairlead
