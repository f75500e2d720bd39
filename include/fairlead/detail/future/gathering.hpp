// Several futures of which one is made: `zip`, `sequence`.
//
//     start       attaches to each source
//     arrive      a source has its result. The first failure is the result at once, and the other
//                 sources are dropped, so that their promises learn that they are not wanted
//     the last    of all sources, when each has arrived or was dropped, completes and frees
//
// Invariants
//   1. The result is given once: by the arrival that sets `failed`, or by the last arrival if that
//      is not set.
//   2. Sources are dropped when all are attached: by the arrival that sets `failed`, or by the end
//      of `start`, by which of them comes second. [GA1]
//   3. Each source is counted once: when it arrives, or when it is dropped, of which its own word
//      decides.
#pragma once

#include <fairlead/detail/future/listener.hpp>
#include <fairlead/detail/future/pair.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/recycler.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead::futures {

class gathering : public sync::recycled {
public:
    /// The wait for one source.
    class arrival final : public continuation {
    public:
        arrival() = default;
        void bind(gathering& of, std::size_t index) noexcept {
            of_ = &of;
            index_ = index;
        }

        void run() noexcept override { of_->arrive(index_); }
        void abandon() noexcept override { run(); }

    private:
        gathering* of_ = nullptr;
        std::size_t index_ = 0;
    };

    gathering(const gathering&) = delete;
    gathering& operator=(const gathering&) = delete;

    /// One for each source. May free this object.
    void start(std::span<arrival> arrivals) noexcept;

protected:
    explicit gathering(std::size_t count) noexcept : count_{count}, left_{count + 1} {}
    virtual ~gathering() = default;

    [[nodiscard]] virtual pair_base& source(std::size_t index) noexcept = 0;
    /// Whether it ends all. The result of the source is there.
    [[nodiscard]] virtual bool is_failure(std::size_t index) noexcept = 0;
    /// Drops a source that has no result yet.
    virtual void leave_source(std::size_t index) noexcept = 0;
    /// Gives the failure of a source.
    virtual void fail(std::size_t index) noexcept = 0;
    /// Gives the result: all sources have theirs.
    virtual void complete() noexcept = 0;

private:
    void arrive(std::size_t index) noexcept;
    void drop_others() noexcept;
    void leave(std::size_t count) noexcept;

    static constexpr std::uint8_t failed = 1;
    static constexpr std::uint8_t started = 2;

    const std::size_t count_;
    // Sources that have not arrived, and `start`. Each counts itself with acq_rel, so the last one
    // sees all results, and what was done to this object.
    sync::atomic<std::size_t> left_;
    // Each bit is set once. acq_rel: the second of the two sees all sources attached, and what is
    // to be dropped. [GA1]
    sync::atomic<std::uint8_t> state_{0};
};

}  // namespace fairlead::futures
