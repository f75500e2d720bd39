// The checker's versions of the types of `sync/atomic.hpp`, `sync/mutex.hpp` and
// `sync/per_thread.hpp`, for the builds of model tests.
#pragma once

#include "model/checker/explorer.hpp"
#include "model/checker/races.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <source_location>
#include <string>
#include <type_traits>

// The checker's accesses to its own part of an object are no accesses of the program.
#define FAIRLEAD_MODEL_OWN __attribute__((no_sanitize("thread")))

namespace fairlead::model {

/// Records whether the object that holds it still exists, and reports uses that race with its
/// destruction: a use that does not happen before the destruction is an error, even if this
/// execution runs the use first.
class lifetime {
public:
    FAIRLEAD_MODEL_OWN constexpr lifetime() noexcept {}
    lifetime(const lifetime&) = delete;
    lifetime& operator=(const lifetime&) = delete;
    FAIRLEAD_MODEL_OWN ~lifetime() {
        if (!explorer::in_scenario()) return;
        if (used_) explorer::running()->end_use(uses_);
        mark_ = gone;
    }

    /// The calling thread touches the object.
    FAIRLEAD_MODEL_OWN void touch() const {
        if (mark_ != alive) explorer::running()->fail("a touch of something that is destroyed");
        explorer::running()->use(uses_);
        used_ = true;
    }

private:
    static constexpr std::uint32_t alive = 0x600d600d;
    static constexpr std::uint32_t gone = 0xdeaddead;

    volatile std::uint32_t mark_ = alive;
    mutable bool used_ = false;
    mutable explorer::last_uses uses_{};
};

/// Plain memory of a scenario that several threads use, and that a thread may destroy.
template <class T>
class plain {
public:
    plain() : plain(T{}) {}
    plain(T value) : value_{value} {}
    plain(const plain&) = delete;
    plain& operator=(const plain&) = delete;

    operator T() const { return get(); }
    [[nodiscard]] T get() const {
        lifetime_.touch();
        return value_;
    }
    plain& operator=(T value) {
        lifetime_.touch();
        value_ = value;
        return *this;
    }

private:
    T value_;
    lifetime lifetime_;
};

/// A thread of the scenario.
class thread {
public:
    explicit thread(std::move_only_function<void()> body)
        : index_{explorer::running()->start_thread(std::move(body))} {}
    thread(const thread&) = delete;
    thread& operator=(const thread&) = delete;
    ~thread() { join(); }

    void join() { explorer::running()->join_thread(index_); }

private:
    std::size_t index_;
};

/// A fence, for tests of the checker.
inline void fence(order how) {
    explorer& model = *explorer::running();
    model.visible({how == order::seq_cst ? step::fence : step::local});
    if (model.tracing()) model.note("fence");
    model.fence(how);
}

}  // namespace fairlead::model

namespace fairlead::sync {

namespace races = model::races;

inline constexpr auto relaxed = model::order::relaxed;
inline constexpr auto acquire = model::order::acquire;
inline constexpr auto release = model::order::release;
inline constexpr auto acq_rel = model::order::acq_rel;
inline constexpr auto seq_cst = model::order::seq_cst;

// The heavy barrier is a fence of all threads. This one only keeps the order of the program, which
// the checker keeps anyway.
inline void light_barrier() {}

/// An atomic with the interface of std::atomic. Each use is a step of the execution. Memory behaves
/// as weakly as C++ allows, within the limits of memory.hpp.
template <class T>
class atomic {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
    using order = model::order;
    using place = std::source_location;

public:
    constexpr atomic() noexcept : atomic(T{}) {}
    FAIRLEAD_MODEL_OWN constexpr atomic(T value) noexcept : initial_{value} {
        if (!std::is_constant_evaluated()) races::access(&initial_, sizeof initial_, true);
    }
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    [[nodiscard]] T load(order how = sync::seq_cst, place at = place::current()) const {
        how = begin(model::access::load, how, how, at);
        const T value = decode(here().load(location(), how));
        note("load", how, at, value);
        return value;
    }

    void store(T value, order how = sync::seq_cst, place at = place::current()) {
        how = begin(model::access::store, how, how, at);
        here().store(location(), encode(value), how);
        note("store", how, at, value);
    }

    T exchange(T value, order how = sync::seq_cst, place at = place::current()) {
        return change("exchange", how, at, [&](T) { return value; });
    }
    T fetch_add(T more, order how = sync::seq_cst, place at = place::current()) {
        return change("fetch_add", how, at,
                      [&](T before) { return static_cast<T>(before + more); });
    }
    T fetch_sub(T less, order how = sync::seq_cst, place at = place::current()) {
        return change("fetch_sub", how, at,
                      [&](T before) { return static_cast<T>(before - less); });
    }
    T fetch_or(T bits, order how = sync::seq_cst, place at = place::current()) {
        return change("fetch_or", how, at, [&](T before) { return static_cast<T>(before | bits); });
    }
    T fetch_and(T bits, order how = sync::seq_cst, place at = place::current()) {
        return change("fetch_and", how, at,
                      [&](T before) { return static_cast<T>(before & bits); });
    }

    bool compare_exchange_strong(T& expected, T desired, order success, order failure,
                                 place at = place::current()) {
        return compare_exchange(expected, desired, success, failure, false, at);
    }
    bool compare_exchange_weak(T& expected, T desired, order success, order failure,
                               place at = place::current()) {
        return compare_exchange(expected, desired, success, failure, true, at);
    }

    /// The newest value, without a step: for the kernel of the model, and for requirements at the
    /// end.
    [[nodiscard]] T newest() const {
        lifetime_.touch();
        return decode(here().newest(location()));
    }

private:
    static model::explorer& here() { return *model::explorer::running(); }

    static std::uint64_t encode(T value) noexcept {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        return bits;
    }
    static T decode(std::uint64_t bits) noexcept {
        T value;
        std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
        return value;
    }

    // Takes the step before the access. Returns the memory order of the access, after a mutation.
    order begin(model::access of, order how, order failure, const place& at) const {
        how = here().effective(how, of, at);
        const bool sequential = how == sync::seq_cst || failure == sync::seq_cst;
        const auto what = of == model::access::load ? model::step::read : model::step::write;
        here().visible({what, sequential, this});
        lifetime_.touch();
        races::access(&initial_, sizeof initial_, false);  // the object was constructed before
        return how;
    }

    FAIRLEAD_MODEL_OWN std::size_t location() const {
        here().use_location(location_, encode(initial_));
        return static_cast<std::size_t>(location_);
    }

    template <class Change>
    T change(const char* name, order how, const place& at, Change changed) {
        how = begin(model::access::change, how, how, at);
        const T before = decode(here().read_newest(location(), how));
        here().rewrite(location(), encode(changed(before)), how);
        note(name, how, at, before, changed(before));
        return before;
    }

    bool compare_exchange(T& expected, T desired, order success, order failure, bool weak,
                          const place& at) {
        failure = here().effective(failure, model::access::failed_change, at);
        success = begin(model::access::change, success, failure, at);
        std::uint64_t bits = encode(expected);
        if (here().exchange_if(location(), bits, encode(desired), success, failure, weak)) {
            note("compare_exchange", success, at, expected, desired);
            return true;
        }
        expected = decode(bits);
        note("compare_exchange fails", failure, at, expected);
        return false;
    }

    template <class... Values>
    void note(const char* name, order how, const place& at, Values... values) const {
        if (!here().tracing()) return;
        static constexpr const char* orders[] = {"relaxed", "acquire", "release", "acq_rel",
                                                 "seq_cst"};
        const char* file = std::strrchr(at.file_name(), '/');
        char line[256];
        int used = std::snprintf(line, sizeof line, "%-22s %-8s a%-3d", name,
                                 orders[static_cast<int>(how)], location_);
        ((used += std::snprintf(line + used, sizeof line - static_cast<std::size_t>(used),
                                " %16llx", static_cast<unsigned long long>(encode(values)))),
         ...);
        std::snprintf(line + used, sizeof line - static_cast<std::size_t>(used), "  %s:%u",
                      file == nullptr ? at.file_name() : file + 1, at.line());
        here().note(line);
    }

    T initial_;
    mutable int location_ = -1;
    model::lifetime lifetime_;
};

/// A value that each thread of the scenario has for itself.
template <class T, class Tag>
class per_thread {
    static_assert(std::is_pointer_v<T>);

public:
    [[nodiscard]] static T get() noexcept {
        // Outside of scenarios there is no value, as in a thread that has not set it.
        if (model::explorer::running() == nullptr) return nullptr;
        return reinterpret_cast<T>(model::explorer::running()->thread_storage(which_));
    }
    static void set(T value) noexcept {
        model::explorer::running()->thread_storage(which_) = reinterpret_cast<std::uint64_t>(value);
    }

private:
    static inline const std::size_t which_ = model::explorer::new_thread_storage();
};

class mutex {
public:
    mutex() = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    void lock() {
        model::explorer& model = *model::explorer::running();
        const model::explorer::outside_scenario outside{model};
        model.visible({model::step::write, false, this});
        lifetime_.touch();
        while (locked_) {
            static_cast<void>(model.block(this, "waits for a mutex", no_limit,
                                          {model::step::write, false, this}));
            lifetime_.touch();
        }
        take(model);
    }

    [[nodiscard]] bool try_lock() {
        model::explorer& model = *model::explorer::running();
        const model::explorer::outside_scenario outside{model};
        model.visible({model::step::write, false, this});
        lifetime_.touch();
        if (locked_) return false;
        take(model);
        return true;
    }

    void unlock() {
        model::explorer& model = *model::explorer::running();
        const model::explorer::outside_scenario outside{model};
        model.visible({model::step::write, false, this});
        lifetime_.touch();
        if (!locked_ || holder_ != model.here())
            model.fail("unlocks a mutex that it does not hold");
        if (model.tracing()) model.note("unlocks");
        locked_ = false;
        left_ = model.known().current;
        model.known().tick();
        model.wake(this, model::threads_max);
    }

private:
    static constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

    void take(model::explorer& model) {
        if (model.tracing()) model.note("locks");
        locked_ = true;
        holder_ = model.here();
        model.known().current.join(left_);
    }

    bool locked_ = false;
    std::size_t holder_ = 0;
    model::view left_;  // what the unlocking thread knew
    model::lifetime lifetime_;
};

}  // namespace fairlead::sync
