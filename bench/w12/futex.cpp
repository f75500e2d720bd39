// A thread that sleeps on a futex until it is given an item: the least that a wake can cost. It has
// one thread, whatever it is told, and room for one item.
#include "support/work_item.hpp"
#include "w12/wake.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

class futex_runtime {
public:
    static constexpr const char* name = "futex";
    using item = bench::work_item;

    explicit futex_runtime(std::uint64_t) {}
    ~futex_runtime() {
        post(last_);
        thread_.join();
    }

    void post(item& task) {
        task_ = &task;
        state_.store(given, std::memory_order_release);
        call(FUTEX_WAKE_PRIVATE, 1);
    }

private:
    enum : std::uint32_t { nothing, given };

    void work() {
        for (;;) {
            while (state_.load(std::memory_order_acquire) == nothing) {
                call(FUTEX_WAIT_PRIVATE, nothing);
            }
            item& task = *task_;
            state_.store(nothing,
                         std::memory_order_relaxed);  // the next post is after this item ran
            if (&task == &last_) return;
            task.run(task);
        }
    }

    void call(int operation, std::uint32_t value) {
        ::syscall(SYS_futex, &state_, operation, value, nullptr, nullptr, 0);
    }

    std::atomic<std::uint32_t> state_{nothing};
    item* task_ = nullptr;
    item last_;
    std::thread thread_{[this] { work(); }};
};

}  // namespace

int main(int argc, char** argv) { return bench::w12::main<futex_runtime>(argc, argv); }
