// A scheduler with sockets in the main loop of Qt, whose notifier watches the descriptor of the
// driver.
#include <fairlead/fairlead.hpp>

#include <QCoreApplication>
#include <QSocketNotifier>
#include <QTimer>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <thread>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

fl::task<void> send(fl::io::address to) {
    auto peer = co_await fl::io::tcp_stream::connect(to);
    std::array<std::byte, 1000> data{};
    if (peer) static_cast<void>(co_await peer->write_all(data));
}

fl::task<bool> all(fl::io::tcp_listener& listener) {
    const std::thread::id here = std::this_thread::get_id();
    const fl::time_point begin = fl::clock::now();
    static_cast<void>(co_await fl::sleep_for(5ms));
    const bool in_time = fl::clock::now() - begin >= 5ms;
    // The other end is a scheduler with threads of its own.
    std::jthread client{[to = *listener.local_address()] {
        fl::scheduler other{{.workers = 1, .driver = std::make_unique<fl::io::epoll_driver>()}};
        fl::block_on(other, send(to));
    }};
    auto peer = co_await listener.accept();
    std::size_t total = 0;
    std::array<std::byte, 64> buffer;
    for (;;) {
        const auto size = co_await peer->read_some(buffer);
        if (!size || *size == 0) break;
        total += *size;
    }
    QCoreApplication::quit();
    co_return in_time&& total == 1000 && std::this_thread::get_id() == here;
}

}  // namespace

int main(int count, char** values) {
    const QCoreApplication application{count, values};
    // [loop]
    fl::scheduler scheduler{
        {.run_on_caller = true, .driver = std::make_unique<fl::io::epoll_driver>()}};
    QSocketNotifier notifier{scheduler.driver().descriptor(), QSocketNotifier::Read};
    QObject::connect(&notifier, &QSocketNotifier::activated, [&] { scheduler.run_in_loop(); });
    scheduler.run_in_loop();
    // [/loop]
    int ticks = 0;
    QTimer ticker;  // the loop has work of its own
    QObject::connect(&ticker, &QTimer::timeout, [&ticks] { ++ticks; });
    ticker.start(1);

    auto listener = fl::io::tcp_listener::bind(scheduler, fl::io::address::loopback(0));
    if (!listener) return 1;
    auto result = fl::spawn(scheduler, all(*listener));
    QCoreApplication::exec();
    const bool good = result.get();
    return good && ticks > 0 ? 0 : 1;
}
