// A stream against a model. The model has the bytes that the peer has sent, whether the peer has
// ended or reset the connection, and whether a read waits. Reads go on after an end, after an
// error, and after a stop of a read.
#include "support/seeds.hpp"
#include "support/sockets.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/tcp.hpp>

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <expected>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <utility>

namespace fairlead::io::stream_model_tests {
namespace {

using test::below;
using test::raw_socket;

using text_or_error = std::expected<std::string, std::error_code>;

task<text_or_error> reads(tcp_stream& from, std::size_t size, time_point deadline) {
    std::string text(size, '\0');
    const auto count = co_await from.read_some(std::as_writable_bytes(std::span{text}), deadline);
    if (!count) co_return std::unexpected{count.error()};
    text.resize(*count);
    co_return text;
}

task<bool> writes(tcp_stream& to, std::string text) {
    co_return (co_await to.write_all(test::bytes_of(text))).has_value();
}

class conversation {
public:
    conversation(scheduler& home, std::mt19937_64& random) : home_{home}, random_{random} {
        const raw_socket listener = raw_socket::listening(1);
        peer_ = raw_socket::connected(listener.local_address());
        peer_.send_at_once();
        os::unique_fd accepted{
            ::accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
        stream_.emplace(*tcp_stream::adopt(epoll_driver::of(home), std::move(accepted)));
    }
    ~conversation() {
        if (read_) read_->request_stop();
        run();
    }

    void operate() {
        switch (below(random_, 12)) {
            case 0:
            case 1:
            case 2:
                return send();
            case 3:
            case 4:
            case 5:
            case 6:
                return read(below(random_, 3) == 0 ? immediately : never);
            case 7:
                return cut_short();
            case 8:
                return write();
            case 9:
                return settle();
            default:
                if (below(random_, 3) == 0) end();
        }
    }

private:
    enum class peer_is { open, ended, reset };

    void send() {
        if (state_ != peer_is::open) return;
        std::string text;
        for (int left = 1 + below(random_, 20); left != 0; --left) {
            text += static_cast<char>('a' + ++sent_ % 26);
        }
        peer_.send(text);
        there_ += text;
        await_delivery();
        if (below(random_, 2) == 0) settle();
    }

    // The kernel holds back a segment of a peer that has many small ones without acknowledgement. A
    // read would be too short by it, and a reset drops it (seed 1326921049).
    void await_delivery() {
        const time_point limit = clock::now() + std::chrono::seconds{5};
        const int acknowledge_at_once = 1;
        int delivered = 0;
        do {
            ASSERT_EQ(::setsockopt(stream_->native_handle(), IPPROTO_TCP, TCP_QUICKACK,
                                   &acknowledge_at_once, sizeof(acknowledge_at_once)),
                      0);
            ASSERT_EQ(::ioctl(stream_->native_handle(), FIONREAD, &delivered), 0);
            ASSERT_LT(clock::now(), limit) << "the kernel delivers what is sent";
        } while (static_cast<std::size_t>(delivered) != there_.size());
    }

    void end() {
        if (state_ != peer_is::open) return;
        const int how = below(random_, 3);
        if (how == 0) peer_.shutdown_send();
        if (how == 1) peer_.close();
        if (how == 2) peer_.reset();
        state_ = how == 2 ? peer_is::reset : peer_is::ended;
        if (below(random_, 2) == 0) settle();
    }

    // Begins a read, one at a time.
    void read(time_point deadline) {
        if (read_) return;
        size_ = 1 + below(random_, std::size_t{12});
        deadline_ = deadline;
        read_.emplace(spawn(home_, reads(*stream_, size_, deadline)));
        if (below(random_, 3) != 0) settle();
    }

    // Stops the read, though data may have come just before.
    void cut_short() {
        if (!read_) return;
        read_->request_stop();
        stopped_ = true;
        settle();
    }

    void write() {
        if (state_ != peer_is::open) return;
        auto written = spawn(home_, writes(*stream_, "of the stream"));
        run();
        ASSERT_TRUE(written.ended());
        EXPECT_TRUE(written.get());
        EXPECT_EQ(peer_.receive(100), "of the stream");
        settle();
    }

    // A call may handle only the events that the last wait has collected. The next call handles
    // later events.
    void run() {
        for (int idle = 0; idle != 2; ++idle) {
            if (home_.run_until_idle() != 0) idle = -1;
        }
    }

    // Waits for the read, however late the kernel delivers the data.
    void await_read() {
        const time_point limit = clock::now() + std::chrono::seconds{5};
        while (!read_->ended() && clock::now() < limit) home_.run_until(limit, 1);
    }

    // Runs until no task can go on. A read that has ended must have the data of the model.
    void settle() {
        run();
        if (!read_) return;
        const bool has_something = !there_.empty() || state_ != peer_is::open;
        const bool may_be_cut = stopped_ || deadline_ != never;
        if (has_something) await_read();
        ASSERT_EQ(read_->ended(), has_something || may_be_cut) << "a read waits for nothing else";
        if (!read_->ended()) return;
        const text_or_error got = std::exchange(read_, {})->get();
        const bool was_stopped = std::exchange(stopped_, false);
        if (!got && got.error() == std::errc::operation_canceled) {
            EXPECT_TRUE(was_stopped);
        } else if (!got && got.error() == std::errc::timed_out) {
            EXPECT_TRUE(deadline_ != never);
        } else {
            expect_what_is_there(got);
        }
    }

    void expect_what_is_there(const text_or_error& got) {
        if (there_.empty() && std::exchange(state_, peer_is::ended) == peer_is::reset) {
            ASSERT_FALSE(got.has_value());
            EXPECT_EQ(got.error(), std::errc::connection_reset);
            return;
        }
        ASSERT_TRUE(got.has_value()) << got.error().message();
        EXPECT_EQ(*got, there_.substr(0, size_));
        there_.erase(0, got->size());
    }

    scheduler& home_;
    std::mt19937_64& random_;
    raw_socket peer_;
    std::optional<tcp_stream> stream_;
    std::optional<join_handle<text_or_error>> read_;
    std::size_t size_ = 0;
    time_point deadline_ = never;
    bool stopped_ = false;
    std::string there_;  // sent, and not read yet
    int sent_ = 0;
    peer_is state_ = peer_is::open;
};

TEST(stream_against_a_model, does_what_it_says) {
    const test::watchdog guard;
    scheduler home{test::with_epoll_on_caller()};
    test::for_each_seed(200, [&](std::mt19937_64& random) {
        conversation one{home, random};
        for (int i = 0; i != 60 && !testing::Test::HasFailure(); ++i) one.operate();
    });
}

}  // namespace
}  // namespace fairlead::io::stream_model_tests
