// Objects that record their destruction, and values that record how they were moved.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::test {

/// A list of events, in order. Any thread.
class journal {
public:
    void add(std::string what) {
        std::lock_guard lock{mutex_};
        entries_.push_back(std::move(what));
    }
    [[nodiscard]] std::vector<std::string> entries() const {
        std::lock_guard lock{mutex_};
        return entries_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> entries_;  // guarded by mutex_
};

/// Writes its name into the journal when it is destroyed, unless it was moved from.
class obituary {
public:
    obituary(journal& into, std::string name) : into_{&into}, name_{std::move(name)} {}
    obituary(obituary&& other) noexcept
        : into_{std::exchange(other.into_, nullptr)}, name_{std::move(other.name_)} {}
    obituary& operator=(obituary&&) = delete;
    ~obituary() {
        if (into_ != nullptr) into_->add(name_);
    }

private:
    journal* into_;
    std::string name_;
};

/// Counts the living objects of this class.
class counted {
public:
    explicit counted(std::atomic<int>& alive) noexcept : alive_{&alive} { ++*alive_; }
    counted(counted&& other) noexcept : alive_{std::exchange(other.alive_, nullptr)} {}
    counted& operator=(counted&&) = delete;
    ~counted() {
        if (alive_ != nullptr) --*alive_;
    }

private:
    std::atomic<int>* alive_;
};

/// A value that can be moved, but neither copied nor default-constructed.
struct move_only {
    explicit move_only(int given) noexcept : value{given} {}
    move_only(move_only&& other) noexcept : value{std::exchange(other.value, -1)} {}
    move_only& operator=(move_only&& other) noexcept {
        value = std::exchange(other.value, -1);
        return *this;
    }
    ~move_only() = default;

    int value;
};

}  // namespace fairlead::test
