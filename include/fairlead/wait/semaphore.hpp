// A number of permits that tasks and threads share, such as the connections of a pool or the bytes
// of a memory budget.
//
//     fl::semaphore memory{64 << 20};
//     if (auto bytes = co_await memory.acquire(size, deadline)) {
//         co_await transform(request);
//     }                                    // the end of the units returns them
//
// Permits go to the waits in the order of their beginning. A first wait that needs many holds up
// those behind it that need few, so that it does not starve.
//
// A group's `max_concurrency` bounds how many steps run at once. A semaphore bounds what is held
// over waits. A server often needs both.
//
// Any thread. No allocation. Without waits an acquire is one exchange of a word, and a return
// another; a return with waits is linear in the number of waits that it grants.
#pragma once

#include <fairlead/detail/wait/line_operations.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <utility>

namespace fairlead {

class semaphore;

/// Permits of a semaphore; the destructor returns them. They may be moved to another task or
/// thread. Must be gone before the semaphore.
class [[nodiscard]] semaphore_units {
public:
    /// None.
    semaphore_units() = default;
    /// Takes over the units of `other`, which has none afterwards.
    semaphore_units(semaphore_units&& other) noexcept
        : of_{std::exchange(other.of_, nullptr)}, count_{std::exchange(other.count_, 0)} {}
    /// Returns its own units, and takes over those of `other`.
    semaphore_units& operator=(semaphore_units&& other) noexcept {
        if (this != &other) {
            release();
            of_ = std::exchange(other.of_, nullptr);
            count_ = std::exchange(other.count_, 0);
        }
        return *this;
    }
    ~semaphore_units() { release(); }

    /// How many there are.
    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
    /// Whether there are any.
    explicit operator bool() const noexcept { return of_ != nullptr; }

    /// Returns all before the end of the units.
    void release() noexcept {
        const std::uint32_t count = std::exchange(count_, 0);
        if (sync::line* const of = std::exchange(of_, nullptr)) of->give_back(count);
    }

    /// Divides them: gives `count` units, of which there are at least so many, and keeps the rest.
    [[nodiscard]] semaphore_units split(std::uint32_t count) noexcept {
        FAIRLEAD_ASSERT(count <= count_, "more units were split off than there are");
        if (count == 0) return {};
        sync::line* const of = of_;
        count_ -= count;
        if (count_ == 0) of_ = nullptr;
        return {*of, count};
    }

    /// Adds the units of `other`, of the same semaphore. Together they are fewer than 2^32.
    void merge(semaphore_units&& other) noexcept {
        FAIRLEAD_ASSERT(of_ == nullptr || other.of_ == nullptr || of_ == other.of_,
                        "units of two semaphores were merged");
        if (this == &other || other.of_ == nullptr) return;
        FAIRLEAD_ASSERT(other.count_ <= UINT32_MAX - count_,
                        "more units were merged than one object can count");
        of_ = std::exchange(other.of_, nullptr);
        count_ += std::exchange(other.count_, 0);
    }

private:
    friend class semaphore;

    semaphore_units(sync::line& of, std::uint32_t count) noexcept : of_{&of}, count_{count} {}

    sync::line* of_ = nullptr;  // null: no units
    std::uint32_t count_ = 0;
};

/// Permits that are taken and returned, in the order of asking.
class semaphore {
    class acquire_operation : public wait::permits_operation {
    public:
        acquire_operation(sync::line& of, std::uint32_t count) noexcept
            : permits_operation{of, count} {}

        [[nodiscard]] waited<semaphore_units> collect(std::optional<wait_error> early) noexcept {
            if (const auto ended = permits_operation::collect(early); !ended) {
                return std::unexpected{ended.error()};
            }
            return semaphore_units{of(), takes()};
        }

    protected:
        acquire_operation(acquire_operation&&) noexcept = default;
        ~acquire_operation() = default;
    };

public:
    /// `permits`: how many there are; fewer than 2^61.
    explicit semaphore(std::uint64_t permits) noexcept : line_{permits} {}
    /// Nothing may wait, and all units must be gone.
    ~semaphore() {
        FAIRLEAD_ASSERT(line_.taken() == 0, "a semaphore was destroyed while units of it exist");
    }

    /// Waits for `count` permits, at least one, until `deadline` at the latest:
    /// `waited<semaphore_units>`, which is the units, `stopped`, `expired` or `closed`. A wait for
    /// more than there are ends when `resize` makes them enough, and holds up all waits behind it
    /// until then.
    [[nodiscard]] auto acquire(std::uint32_t count = 1, time_point deadline = never) noexcept {
        require_some(count);
        return coro::task_wait<acquire_operation>{deadline, line_, count};
    }

    /// Takes them at once. No units: they are not free, or a wait has precedence, or the semaphore
    /// is closed.
    [[nodiscard]] semaphore_units try_acquire(std::uint32_t count = 1) noexcept {
        require_some(count);
        return line_.try_take(count) ? semaphore_units{line_, count} : semaphore_units{};
    }

    /// The same as `acquire` on this thread, which must not be a worker's. The deadline is by the
    /// clock of the system.
    [[nodiscard]] waited<semaphore_units> acquire_blocking(std::uint32_t count = 1,
                                                           time_point deadline = never) {
        require_some(count);
        return coro::wait_on_thread<acquire_operation>(deadline, line_, count);
    }

    /// Changes how many permits there are. With fewer, units that exist stay valid, and nothing is
    /// granted until enough of them have returned.
    void resize(std::uint64_t permits) noexcept { line_.set_bound(permits); }

    /// Ends every wait, also each later one, as `closed`; for good. Units that exist return as
    /// before. False: it was closed before.
    bool close() noexcept { return line_.close(); }
    /// Whether it is closed, now and for good.
    [[nodiscard]] bool is_closed() const noexcept { return line_.is_closed(); }

    /// How many permits there are.
    [[nodiscard]] std::uint64_t size() const noexcept { return line_.bound(); }
    /// How many of them are free now: none while more are taken than there are.
    [[nodiscard]] std::uint64_t available() const noexcept {
        const std::uint64_t taken = line_.taken();
        const std::uint64_t size = line_.bound();
        return taken < size ? size - taken : 0;
    }

    /// How many tasks and threads wait, for reports. Takes a lock for some instructions.
    [[nodiscard]] std::size_t waiting() noexcept { return line_.waiting(); }

private:
    static void require_some(std::uint32_t count) noexcept {
        FAIRLEAD_ASSERT(count != 0, "a semaphore was asked for no permit");
    }

    sync::line line_;
};

}  // namespace fairlead
