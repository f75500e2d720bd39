// The trivial twin of fl::channel, on the same scheduler: a deque under a mutex of tasks, with a
// condition for each end. Each operation is a coroutine, as in libcoro's queue.
#include "w8/tasks.hpp"

#include <fairlead/wait/condition.hpp>
#include <fairlead/wait/mutex.hpp>

#include <deque>
#include <limits>

namespace fl = fairlead;

namespace {

class locked_deque {
public:
    static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

    explicit locked_deque(std::size_t places) : places_{places} {}

    fl::task<bool> send(std::uint64_t number) {
        auto lock = *co_await guards_.lock();
        const auto has_place = [this] { return elements_.size() < places_; };
        static_cast<void>(co_await drained_.wait(lock, has_place));
        elements_.push_back(number);
        filled_.notify_one();
        co_return true;
    }

    fl::task<std::optional<std::uint64_t>> receive() {
        auto lock = *co_await guards_.lock();
        const auto has_news = [this] { return closed_ || !elements_.empty(); };
        static_cast<void>(co_await filled_.wait(lock, has_news));
        if (elements_.empty()) co_return std::nullopt;
        const std::uint64_t oldest = elements_.front();
        elements_.pop_front();
        drained_.notify_one();
        co_return oldest;
    }

    void close() {
        const auto lock = guards_.lock_blocking();
        closed_ = true;
        filled_.notify_all();
    }

private:
    const std::size_t places_;
    fl::mutex guards_;
    fl::condition filled_;
    fl::condition drained_;
    std::deque<std::uint64_t> elements_;
    bool closed_ = false;
};

}  // namespace

int main(int argc, char** argv) {
    return bench::run_main(argc, argv, "W8", "locked", bench::w8::measure<locked_deque>);
}
