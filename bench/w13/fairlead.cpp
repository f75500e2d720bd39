// Fairlead: a coroutine for each connection, on a scheduler with an epoll_driver.
#include "w13/echo.hpp"

#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/with_scope.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <memory>
#include <span>
#include <vector>

namespace fl = fairlead;
namespace io = fairlead::io;

namespace {

fl::task<> session(io::tcp_stream peer, std::size_t buffer_bytes) {
    std::vector<std::byte> buffer(buffer_bytes);
    for (;;) {
        const auto size = co_await peer.read_some(buffer);
        if (!size || *size == 0) co_return;
        if (!co_await peer.write_all(std::span{buffer}.first(*size))) co_return;
    }
}

fl::task<> serve(io::tcp_listener listener, std::size_t buffer_bytes) {
    co_await fl::with_scope([&](fl::scope& sessions) -> fl::task<> {
        while (auto peer = co_await listener.accept()) {
            sessions.spawn(session(std::move(*peer), buffer_bytes));
        }
    });
}

class fairlead_server {
public:
    static constexpr const char* name = "fairlead";

    fairlead_server(std::uint64_t workers, std::size_t buffer_bytes)
        : scheduler_{{.workers = static_cast<unsigned>(workers),
                      .driver = std::make_unique<io::epoll_driver>()}},
          accepting_{fl::spawn(scheduler_, serve(listen(), buffer_bytes))} {}
    fairlead_server(const fairlead_server&) = delete;
    fairlead_server& operator=(const fairlead_server&) = delete;
    ~fairlead_server() {
        accepting_.request_stop();
        accepting_.get();
    }

    [[nodiscard]] std::uint16_t port() const { return port_; }

private:
    io::tcp_listener listen() {
        auto listener = io::tcp_listener::bind(scheduler_, io::address::loopback(0)).value();
        port_ = listener.local_address().value().port();
        return listener;
    }

    fl::scheduler scheduler_;
    std::uint16_t port_ = 0;
    fl::join_handle<void> accepting_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w13::main<fairlead_server>(argc, argv); }
