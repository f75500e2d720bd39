// The memory of the checker: what C++20 lets each thread read.
//
//     location   x:   [ 0: init ] [ 1: store by A ] [ 2: store by B ]      in modification order
//     thread     A:   has seen x up to 1           may read 1 or 2
//
// Question it answers: which of the values that were ever stored may this load return, and what
// does the reading thread know afterwards?
//
// Each location keeps its stores, each with a message: what its writer lets a reader know. A *view*
// is what a thread or a store knows: for each location the oldest store that may still be read, and
// a vector clock of steps that have happened before. A thread has three:
//     current    what it knows
//     acquired   what it would know had its relaxed loads been acquire: an acquire fence adds it
//     released   what it knew at its last release fence: the message of its relaxed stores
//
// Sequential consistency has a view of its own, per location, which sequentially consistent
// accesses of that location respect and extend, and sequentially consistent fences for all
// locations.
//
// What it cannot show: stores take their place in the modification order when they run, and loads
// read only what has run. So load buffering, and two stores that pass each other, do not occur. See
// docs/internals/verification.md for what covers those.
//
// Source of the model: promising semantics without promises (J. Kang et al., POPL 2017), as in
// view-based checkers; simplified to stores in the order of execution.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace fairlead::model {

inline constexpr std::size_t threads_max = 9;
inline constexpr std::size_t locations_max = 512;

enum class order : std::uint8_t { relaxed, acquire, release, acq_rel, seq_cst };

[[nodiscard]] constexpr bool acquires(order o) noexcept {
    return o == order::acquire || o == order::acq_rel || o == order::seq_cst;
}
[[nodiscard]] constexpr bool releases(order o) noexcept {
    return o == order::release || o == order::acq_rel || o == order::seq_cst;
}

/// Steps of each thread that happened before.
class vector_clock {
public:
    [[nodiscard]] std::uint16_t& operator[](std::size_t thread) noexcept { return steps_[thread]; }
    [[nodiscard]] std::uint16_t operator[](std::size_t thread) const noexcept {
        return steps_[thread];
    }
    void join(const vector_clock& other) noexcept {
        for (std::size_t i = 0; i != threads_max; ++i) {
            steps_[i] = std::max(steps_[i], other.steps_[i]);
        }
    }

private:
    std::array<std::uint16_t, threads_max> steps_{};
};

/// What a thread or a store knows. A location beyond `used_` was not seen yet: its first store may
/// be read.
class view {
public:
    view() noexcept {}
    view(const view& other) noexcept { *this = other; }
    view& operator=(const view& other) noexcept {
        clock = other.clock;
        used_ = other.used_;
        std::memcpy(seen_, other.seen_, used_ * sizeof seen_[0]);
        return *this;
    }

    [[nodiscard]] std::uint16_t operator[](std::size_t location) const noexcept {
        return location < used_ ? seen_[location] : 0;
    }
    void raise(std::size_t location, std::size_t store) noexcept {
        for (; used_ <= location; ++used_) seen_[used_] = 0;
        seen_[location] = std::max(seen_[location], static_cast<std::uint16_t>(store));
    }
    void join_locations(const view& other) noexcept {
        for (; used_ < other.used_; ++used_) seen_[used_] = 0;
        for (std::size_t i = 0; i != other.used_; ++i)
            seen_[i] = std::max(seen_[i], other.seen_[i]);
    }
    void join(const view& other) noexcept {
        join_locations(other);
        clock.join(other.clock);
    }
    void clear() noexcept {
        clock = {};
        used_ = 0;
    }

    vector_clock clock;

private:
    std::size_t used_ = 0;
    std::uint16_t seen_[locations_max];
};

/// What a thread knows.
struct knowledge {
    std::size_t thread = 0;
    view current;
    view acquired;
    view released;

    /// A new epoch: what the thread does from now on has not happened before what was released.
    void tick() noexcept { ++current.clock[thread]; }
};

class memory {
public:
    void reset() noexcept {
        for (std::size_t i = 0; i != used_; ++i) locations_[i].size = 0;
        used_ = 0;
        sequential_.clear();
    }

    /// Whether another location can be added.
    [[nodiscard]] bool full() const noexcept { return used_ == locations_max; }

    /// Adds a location whose first store every thread may read.
    std::size_t add(std::uint64_t initial) {
        if (used_ == locations_.size()) locations_.emplace_back();
        locations_[used_].append().value = initial;
        return used_++;
    }

    [[nodiscard]] std::size_t newest(std::size_t location) const noexcept {
        return locations_[location].size - 1;
    }
    [[nodiscard]] std::uint64_t value(std::size_t location, std::size_t store) const noexcept {
        return locations_[location].stores[store].value;
    }
    /// The oldest store that a load by `reader` may return.
    [[nodiscard]] std::size_t oldest(const knowledge& reader, std::size_t location,
                                     order how) const noexcept {
        const std::size_t known = reader.current[location];
        if (how != order::seq_cst) return known;
        return std::max<std::size_t>(known, sequential_[location]);
    }

    void read(knowledge& reader, std::size_t location, std::size_t store, order how) noexcept {
        const view& message = locations_[location].stores[store].message;
        reader.current.raise(location, store);
        reader.acquired.join(message);
        if (acquires(how)) reader.current.join(message);
        if (how == order::seq_cst) sequential_.raise(location, store);
    }

    void write(knowledge& writer, std::size_t location, std::uint64_t value, order how) {
        append(writer, location, value, how, nullptr);
    }

    /// The second half of a read-modify-write whose first half has read the newest store. It goes
    /// on with the release sequence of that store.
    void rewrite(knowledge& writer, std::size_t location, std::uint64_t value, order how) {
        const view replaced = locations_[location].stores[newest(location)].message;
        append(writer, location, value, how, &replaced);
    }

    void fence(knowledge& thread, order how) noexcept {
        if (acquires(how)) thread.current.join(thread.acquired);
        if (how == order::seq_cst) {
            thread.current.join_locations(sequential_);
            sequential_.join_locations(thread.current);
        }
        if (releases(how)) {
            thread.released = thread.current;
            thread.tick();
        }
    }

private:
    struct stored {
        std::uint64_t value = 0;
        view message;
    };
    struct history {
        std::vector<stored> stores;
        std::size_t size = 0;  // the rest is kept for the next execution

        stored& append() {
            if (size == stores.size()) stores.emplace_back();
            stored& added = stores[size++];
            added.message.clear();
            return added;
        }
    };

    void append(knowledge& writer, std::size_t location, std::uint64_t value, order how,
                const view* replaced) {
        stored& added = locations_[location].append();
        const std::size_t store = newest(location);
        writer.current.raise(location, store);
        added.value = value;
        added.message = releases(how) ? writer.current : writer.released;
        added.message.raise(location, store);
        if (replaced != nullptr) added.message.join(*replaced);
        if (how == order::seq_cst) sequential_.raise(location, store);
        if (releases(how)) writer.tick();
    }

    std::vector<history> locations_;
    std::size_t used_ = 0;
    view sequential_;
};

}  // namespace fairlead::model
