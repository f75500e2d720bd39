// A scheduler without IO in the main loop of Asio: posts call the loop, and a timer of Asio waits
// for deadlines.
#include <fairlead/fairlead.hpp>
#include <fairlead/sched/futex_driver.hpp>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <chrono>
#include <memory>
#include <thread>

namespace asio = boost::asio;
namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

// [loop]
class tasks_in_asio {
public:
    explicit tasks_in_asio(asio::io_context& loop) : loop_{loop}, timer_{loop} { turn(); }

    fl::scheduler& scheduler() noexcept { return scheduler_; }

private:
    void turn() {
        const fl::time_point until = scheduler_.run_in_loop();
        if (until == fl::immediately) return;  // the driver has called
        timer_.expires_at(until);              // ends the wait before
        timer_.async_wait([this](boost::system::error_code cut_short) {
            if (!cut_short) turn();
        });
    }

    asio::io_context& loop_;
    asio::basic_waitable_timer<fl::clock> timer_;
    fl::scheduler scheduler_{
        {.run_on_caller = true, .driver = std::make_unique<fl::futex_driver>([this] {
                                    asio::post(loop_, [this] { turn(); });
                                })}};
};
// [/loop]

fl::task<int> all(asio::io_context& loop) {
    const std::thread::id here = std::this_thread::get_id();
    const fl::time_point begin = fl::clock::now();
    static_cast<void>(co_await fl::sleep_for(5ms));
    int good = fl::clock::now() - begin >= 5ms ? 1 : 0;
    for (int i = 0; i != 1000; ++i) co_await fl::yield();
    if (std::this_thread::get_id() == here) ++good;
    loop.stop();
    co_return good;
}

}  // namespace

int main() {
    asio::io_context loop;
    tasks_in_asio tasks{loop};
    int good = 0;
    std::jthread poster;
    bool posted = false;
    {
        auto result = fl::spawn(tasks.scheduler(), all(loop));
        poster = std::jthread{[&] { tasks.scheduler().post([&] { posted = true; }); }};
        loop.run();
        poster.join();
        good = result.get();
    }
    tasks.scheduler().drain();
    return good == 2 && posted ? 0 : 1;
}
