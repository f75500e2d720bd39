// Fairlead: a coroutine for each connection, with a tls_stream.
#include "w18/tls.hpp"

#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/with_scope.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/sched/scheduler.hpp>
#include <fairlead/tls/tls_stream.hpp>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace fl = fairlead;
namespace io = fairlead::io;

namespace {

fl::task<> session(io::tcp_stream peer, io::tls_context context, std::string_view answer) {
    auto stream = co_await io::tls_stream<>::accept(std::move(peer), context);
    if (!stream) co_return;
    std::array<std::byte, 512> room;
    std::string asked;
    while (!asked.ends_with("\r\n\r\n")) {
        const auto size = co_await stream->read_some(room);
        if (!size || *size == 0) co_return;
        asked.append(reinterpret_cast<const char*>(room.data()), *size);
    }
    if (asked != bench::w18::request) co_return;
    if (!co_await stream->write_all(std::as_bytes(std::span{answer}))) co_return;
    static_cast<void>(co_await stream->send_end());
}

class fairlead_server {
public:
    static constexpr const char* name = "fairlead";

    static bool offers(const bench::options&) { return true; }

    fairlead_server(const bench::w18::site& from, const bench::options& asked)
        : answer_{"HTTP/1.0 200 OK\r\n\r\n" + bench::w18::body(asked)},
          context_{io::tls_context::server({.identity = {.chain = io::tls_pem::file(from.chain()),
                                                         .key = io::tls_pem::file(from.key())}})
                       .value()},
          scheduler_{{.workers = static_cast<unsigned>(asked.workers),
                      .driver = std::make_unique<io::epoll_driver>()}},
          accepting_{fl::spawn(scheduler_, serve(listen()))} {}
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

    fl::task<> serve(io::tcp_listener listener) {
        co_await fl::with_scope([&](fl::scope& sessions) -> fl::task<> {
            while (auto peer = co_await listener.accept()) {
                sessions.spawn(session(std::move(*peer), context_, answer_));
            }
        });
    }

    const std::string answer_;
    const io::tls_context context_;
    fl::scheduler scheduler_;
    std::uint16_t port_ = 0;
    fl::join_handle<void> accepting_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w18::main<fairlead_server>(argc, argv); }
