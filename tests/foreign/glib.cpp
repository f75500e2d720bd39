// A scheduler with sockets in the main loop of GLib, which polls its descriptor.
#include <fairlead/fairlead.hpp>

#include <glib-unix.h>
#include <glib.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <thread>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

fl::task<std::size_t> receive_all(fl::io::tcp_listener& listener) {
    auto peer = co_await listener.accept();
    std::array<std::byte, 64> buffer;
    std::size_t total = 0;
    while (const std::size_t size = (co_await peer->read_some(buffer)).value_or(0)) total += size;
    co_return total;
}

fl::task<void> send(fl::io::address to) {
    auto peer = co_await fl::io::tcp_stream::connect(to);
    std::array<std::byte, 1000> data{};
    if (peer) static_cast<void>(co_await peer->write_all(data));
}

fl::task<bool> all(fl::io::tcp_listener& listener, GMainLoop* loop) {
    const fl::time_point begin = fl::clock::now();
    const auto slept = co_await fl::as_result(fl::sleep_for(5ms));
    const bool in_time = fl::clock::now() - begin >= 5ms;
    // The other end is a scheduler with threads of its own.
    std::jthread client{[to = *listener.local_address()] {
        fl::scheduler other{{.workers = 1, .driver = std::make_unique<fl::io::epoll_driver>()}};
        fl::block_on(other, send(to));
    }};
    const std::size_t received = co_await receive_all(listener);
    g_main_loop_quit(loop);
    co_return slept.has_value() && in_time&& received == 1000;
}

int ticks = 0;

gboolean tick(gpointer) {
    ++ticks;
    return G_SOURCE_CONTINUE;
}

}  // namespace

int main() {
    GMainLoop* const loop = g_main_loop_new(nullptr, FALSE);
    // [loop]
    fl::scheduler scheduler{
        {.run_on_caller = true, .driver = std::make_unique<fl::io::epoll_driver>()}};
    const auto turn = [](gint, GIOCondition, gpointer data) -> gboolean {
        static_cast<fl::scheduler*>(data)->run_in_loop();
        return G_SOURCE_CONTINUE;
    };
    const guint source = g_unix_fd_add(scheduler.driver().descriptor(), G_IO_IN, turn, &scheduler);
    scheduler.run_in_loop();
    // [/loop]
    const guint ticker = g_timeout_add(1, tick, nullptr);  // the loop has work of its own
    bool good = false;
    {
        auto listener = fl::io::tcp_listener::bind(scheduler, fl::io::address::loopback(0));
        if (!listener) return 1;
        auto result = fl::spawn(scheduler, all(*listener, loop));
        g_main_loop_run(loop);
        good = result.get();
    }
    g_source_remove(ticker);
    g_source_remove(source);
    g_main_loop_unref(loop);
    return good && ticks > 0 ? 0 : 1;
}
