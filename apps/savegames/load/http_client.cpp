#include "savegames/load/http_client.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <iterator>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace savegames::load {
namespace {

// A body of at most this size is sent with the head: one packet, one system call.
constexpr std::size_t joined_size_max = 16'000;

std::string kind_of(const std::error_code& failed) {
    if (failed == std::errc::timed_out) return "timed out";
    if (failed == std::errc::operation_canceled) return "stopped";
    if (failed == std::errc::connection_reset || failed == std::errc::broken_pipe) return "reset";
    return failed.message();
}

}  // namespace

http_client::http_client(fairlead::io::address target, std::string headers,
                         fairlead::duration timeout)
    : target_{target}, headers_{std::move(headers)}, timeout_{timeout} {}

fairlead::task<std::expected<const http_response*, std::string>> http_client::exchange(
    request sent) {
    const fairlead::time_point deadline = fairlead::clock::now() + timeout_;
    std::expected<void, std::string> step = co_await ensure_connected(deadline);
    if (step) step = co_await send(sent, deadline);
    if (step) step = co_await receive(deadline);
    if (!step) {
        stream_.reset();
        co_return std::unexpected(std::move(step.error()));
    }
    if (!reader_.response().keep_alive) stream_.reset();
    co_return &reader_.response();
}

fairlead::task<std::expected<void, std::string>> http_client::ensure_connected(
    fairlead::time_point deadline) {
    if (stream_ && peer_has_closed()) stream_.reset();
    if (stream_) co_return std::expected<void, std::string>{};
    auto connected = co_await fairlead::io::tcp_stream::connect(target_, deadline);
    if (!connected) co_return std::unexpected("connect: " + connected.error().message());
    stream_.emplace(std::move(*connected));
    co_return std::expected<void, std::string>{};
}

// A service may close an idle connection, perhaps after a last answer (408). A request that is sent
// on such a connection fails, and the client cannot know whether it took effect.
bool http_client::peer_has_closed() const noexcept {
    char byte = 0;
    const ssize_t size = ::recv(stream_->native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return size >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

fairlead::task<std::expected<void, std::string>> http_client::send(request sent,
                                                                   fairlead::time_point deadline) {
    write_head(sent);
    const bool joined = sent.body.size() <= joined_size_max;
    if (joined) head_ += sent.body;
    traffic_.sent += head_.size();
    const auto head_bytes = std::as_bytes(std::span{head_});
    auto written = co_await stream_->write_all(head_bytes, deadline);
    if (written && !joined) {
        traffic_.sent += sent.body.size();
        const auto body_bytes = std::as_bytes(std::span{sent.body});
        written = co_await stream_->write_all(body_bytes, deadline);
    }
    // A service that refuses a request may answer and close the connection before it has read all
    // of it. The answer counts; if there is none, reading reports that.
    if (!written && written.error() != std::errc::broken_pipe &&
        written.error() != std::errc::connection_reset) {
        co_return std::unexpected(kind_of(written.error()));
    }
    co_return std::expected<void, std::string>{};
}

void http_client::write_head(const request& sent) {
    head_.clear();
    fmt::format_to(std::back_inserter(head_), "{} {} HTTP/1.1\r\n{}", sent.method, sent.path,
                   headers_);
    if (sent.has_body) {
        fmt::format_to(std::back_inserter(head_),
                       "Content-Type: application/json\r\nContent-Length: {}\r\n",
                       sent.body.size());
    }
    head_ += "\r\n";
}

fairlead::task<std::expected<void, std::string>> http_client::receive(
    fairlead::time_point deadline) {
    reader_.start();
    for (;;) {
        const auto size = co_await stream_->read_some(reader_.room(), deadline);
        if (!size) co_return std::unexpected(kind_of(size.error()));
        traffic_.received += *size;
        const bool begun = reader_.has_begun();
        switch (reader_.take(*size)) {
            case response_reader::state::complete:
                co_return std::expected<void, std::string>{};
            case response_reader::state::malformed:
                if (*size != 0) co_return std::unexpected("malformed answer");
                co_return std::unexpected(begun ? "closed within an answer" : "closed");
            case response_reader::state::incomplete:
                break;
        }
    }
}

http_client::traffic http_client::take_traffic() noexcept { return std::exchange(traffic_, {}); }

}  // namespace savegames::load
