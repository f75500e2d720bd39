// Fairlead: as many coroutines as reads at once, and one for each connection. With io_uring, or
// with threads alone.
#pragma once

#include "w17/files.hpp"

#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/with_scope.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/io/file.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bench::w17 {

namespace fl = fairlead;
namespace io = fairlead::io;

inline fl::task<> reads_some(io::file& from, reads& all) {
    const block_room room;
    std::uint64_t block = 0;
    while (all.take(block)) {
        const auto size = co_await from.read_at(room.all(), block * block_bytes);
        all.came(size == block_bytes && room.has(block));
    }
}

inline fl::task<> reads_at_once(io::file& from, reads& all, std::uint64_t tasks) {
    co_await fl::with_scope([&](fl::scope& readers) -> fl::task<> {
        for (std::uint64_t i = 0; i != tasks; ++i) readers.spawn(reads_some(from, all));
        co_return;
    });
}

inline fl::task<> session(io::tcp_stream peer, std::size_t buffer_bytes) {
    std::vector<std::byte> buffer(buffer_bytes);
    for (;;) {
        const auto size = co_await peer.read_some(buffer);
        if (!size || *size == 0) co_return;
        if (!co_await peer.write_all(std::span{buffer}.first(*size))) co_return;
    }
}

inline fl::task<> serve(io::tcp_listener listener, std::size_t buffer_bytes) {
    co_await fl::with_scope([&](fl::scope& sessions) -> fl::task<> {
        while (auto peer = co_await listener.accept()) {
            sessions.spawn(session(std::move(*peer), buffer_bytes));
        }
    });
}

template <bool Ring>
class fairlead_files {
public:
    static constexpr const char* name = Ring ? "fairlead" : "fairlead_threads";

    explicit fairlead_files(const plan& how)
        : at_once_{how.at_once},
          scheduler_{{.workers = static_cast<unsigned>(how.workers),
                      .driver = std::make_unique<io::epoll_driver>(
                          io::epoll_driver_options{.file_ring = Ring})}},
          file_{fl::spawn(scheduler_, io::file::open(how.path, {.direct = how.past_cache}))
                    .get()
                    .value()} {}

    void read_all(reads& all) { fl::spawn(scheduler_, reads_at_once(file_, all, at_once_)).get(); }

    class with_server;

private:
    std::uint64_t at_once_;
    fl::scheduler scheduler_;
    io::file file_;
};

template <bool Ring>
class fairlead_files<Ring>::with_server {
public:
    with_server(const plan& how, reads& all, std::size_t buffer_bytes)
        : files_{how},
          all_{all},
          accepting_{fl::spawn(files_.scheduler_, serve(listen(), buffer_bytes))},
          reading_{
              fl::spawn(files_.scheduler_, reads_at_once(files_.file_, all, files_.at_once_))} {}
    with_server(const with_server&) = delete;
    with_server& operator=(const with_server&) = delete;
    ~with_server() {
        all_.end();
        reading_.get();
        accepting_.request_stop();
        accepting_.get();
    }

    [[nodiscard]] std::uint16_t port() const { return port_; }

private:
    io::tcp_listener listen() {
        auto listener = io::tcp_listener::bind(files_.scheduler_, io::address::loopback(0)).value();
        port_ = listener.local_address().value().port();
        return listener;
    }

    fairlead_files files_;
    reads& all_;
    std::uint16_t port_ = 0;
    fl::join_handle<void> accepting_;
    fl::join_handle<void> reading_;
};

}  // namespace bench::w17
