// The items of the queue benchmarks, and the check that each arrived exactly once and in order.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace bench::q1 {

struct node {
    node* next = nullptr;                     // for the library's queue and the mutex twin
    std::atomic<node*> atomic_next{nullptr};  // for Vyukov's queue
    std::uint32_t producer = 0;
    std::uint64_t index = 0;  // counts within its producer
};

/// What one consumer of all items checks: that the items of each producer come in order, each once.
class order_check {
public:
    explicit order_check(std::uint64_t producers) : expected_(producers) {}

    void see(const node& item) noexcept {
        in_order_ = in_order_ && item.index == expected_[item.producer];
        ++expected_[item.producer];
    }

    [[nodiscard]] std::string failure() const {
        return in_order_ ? std::string{} : "an item was lost, came twice, or out of order";
    }

private:
    std::vector<std::uint64_t> expected_;
    bool in_order_ = true;
};

/// What each of several consumers gathers; together they must have seen 0 ... count - 1 once each.
struct once_check {
    std::uint64_t count = 0;
    std::uint64_t sum = 0;
    std::uint64_t mixed = 0;  // the sum of a mixed value: two errors do not cancel out

    void see(const node& item) noexcept {
        ++count;
        sum += item.index;
        mixed += (item.index ^ item.index >> 7) * 0x9e3779b97f4a7c15u;
    }

    void add(const once_check& other) noexcept {
        count += other.count;
        sum += other.sum;
        mixed += other.mixed;
    }

    bool operator==(const once_check&) const = default;

    [[nodiscard]] std::string failure(const std::vector<node>& all) const {
        once_check expected;
        for (const node& each : all) expected.see(each);
        return expected == *this ? std::string{} : "an item was lost or came twice";
    }
};

}  // namespace bench::q1
