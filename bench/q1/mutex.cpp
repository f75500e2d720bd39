// The mutex twins: what the library's queues must beat to earn their place. Each does under a mutex
// what its twin does without, batches included.
#include "q1/block_bench.hpp"
#include "q1/counted_mutex.hpp"
#include "q1/front_bench.hpp"
#include "q1/steal_bench.hpp"

#include <array>
#include <deque>
#include <mutex>
#include <utility>

namespace bench::q1 {
namespace {

struct counts_waits {
    static constexpr bool counts = true;
    [[nodiscard]] static std::uint64_t contended_here() noexcept { return 0; }
    [[nodiscard]] std::uint64_t contended() const noexcept { return mutex_.contended(); }

protected:
    counted_mutex mutex_;
};

/// A linked list that is taken as a whole.
class mutex_front : public counts_waits {
public:
    void push(node& item) {
        item.next = nullptr;
        std::lock_guard lock{mutex_};
        (head_ == nullptr ? head_ : tail_->next) = &item;
        tail_ = &item;
    }

    template <class Visit>
    std::size_t take(Visit visit) {
        node* first = nullptr;
        {
            std::lock_guard lock{mutex_};
            first = std::exchange(head_, nullptr);
        }
        std::size_t taken = 0;
        for (; first != nullptr; ++taken) visit(*std::exchange(first, first->next));
        return taken;
    }

private:
    node* head_ = nullptr;
    node* tail_ = nullptr;
};

/// A deque.
class mutex_block : public counts_waits {
public:
    class consumer {
    public:
        explicit consumer(mutex_block& from) : from_{from} {}

        std::size_t claim(std::span<node*> out) {
            std::lock_guard lock{from_.mutex_};
            const std::size_t taken = std::min(out.size(), from_.items_.size());
            const auto end = from_.items_.begin() + static_cast<std::ptrdiff_t>(taken);
            std::copy(from_.items_.begin(), end, out.begin());
            from_.items_.erase(from_.items_.begin(), end);
            return taken;
        }

    private:
        mutex_block& from_;
    };

    void push(std::span<node* const> items) {
        std::lock_guard lock{mutex_};
        items_.insert(items_.end(), items.begin(), items.end());
    }

private:
    std::deque<node*> items_;
};

/// A ring of the same capacity.
class mutex_run : public counts_waits {
public:
    void push(std::span<node* const> items) {
        std::lock_guard lock{mutex_};
        for (node* const item : items) ring_[tail_++ % ring_.size()] = item;
    }

    std::size_t room() {
        std::lock_guard lock{mutex_};
        return ring_.size() - (tail_ - head_);
    }

    node* pop() {
        std::lock_guard lock{mutex_};
        return head_ == tail_ ? nullptr : ring_[head_++ % ring_.size()];
    }

    std::size_t steal(std::span<node*> out) {
        std::lock_guard lock{mutex_};
        const std::size_t available = tail_ - head_;
        const std::size_t taken = std::min(available - available / 2, out.size());
        for (std::size_t i = 0; i != taken; ++i) out[i] = ring_[head_++ % ring_.size()];
        return taken;
    }

private:
    std::array<node*, 256> ring_{};
    std::size_t head_ = 0;
    std::size_t tail_ = 0;
};

std::optional<measurement> measure(const options& asked) {
    if (asked.name == "front") return front_bench<mutex_front>(asked);
    if (asked.name == "block") return block_bench<mutex_block>(asked);
    if (asked.name == "steal") return steal_bench<mutex_run>(asked);
    return std::nullopt;
}

}  // namespace
}  // namespace bench::q1

int main(int argc, char** argv) {
    return bench::run_main(argc, argv, "Q1", "mutex", bench::q1::measure);
}
