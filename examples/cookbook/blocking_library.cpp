// Libraries that block, libraries that belong to one thread, libraries that call back.
#include <fairlead/fairlead.hpp>

#include <cstdio>
#include <functional>
#include <string>
#include <thread>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

// [synchronous]
// Stands for a client of a database: the call blocks its thread.
std::string query(int number) {
    std::this_thread::sleep_for(1ms);
    return "row " + std::to_string(number);
}

// The worker runs other tasks while another thread waits in the call.
fl::task<std::string> find(int number) {
    co_return co_await fl::blocking([number] { return query(number); });
}
// [/synchronous]

// [one_thread]
// Stands for a library that may be used by one thread only, such as one with thread-local state.
class single_threaded {
public:
    void use() {
        if (user_ == std::thread::id{}) user_ = std::this_thread::get_id();
        moved_ |= user_ != std::this_thread::get_id();
    }
    [[nodiscard]] bool moved() const { return moved_; }

private:
    std::thread::id user_;
    bool moved_ = false;
};

// Run it in a group that is bound: all its steps, and those of its children, run on one thread.
fl::task<> use_often(single_threaded& library) {
    for (int i = 0; i != 100; ++i) {
        library.use();
        co_await fl::yield();
    }
}
// [/one_thread]

// [callback]
// Stands for a library with threads of its own. It calls `done` exactly once.
class callback_library {
public:
    void start(std::function<void(int)> done) {
        thread_ = std::jthread{[done] { done(42); }};
    }

private:
    std::jthread thread_;
};

fl::task<int> await_callback(callback_library& library) {
    fl::basic_task& self = co_await fl::current_task();
    int result = 0;
    library.start([&result, &self](int value) {
        result = value;
        self.signal();  // the last touch: after it this frame may be gone
    });
    // Shielded from a stop: the library holds a reference to this frame until it has called.
    static_cast<void>(co_await fl::shielded(fl::receive_signal()));
    co_return result;
}
// [/callback]

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 2}};
    const std::string row = fl::block_on(scheduler, find(7));

    // [bound]
    single_threaded library;
    fl::group owner{scheduler, {.name = "library", .bound = true}};
    fl::block_on(owner, use_often(library));
    // [/bound]

    callback_library calls;
    const int value = fl::block_on(scheduler, await_callback(calls));
    std::printf("%s, %s, %d\n", row.c_str(), library.moved() ? "several threads" : "one thread",
                value);
    return row == "row 7" && !library.moved() && value == 42 ? 0 : 1;
}
