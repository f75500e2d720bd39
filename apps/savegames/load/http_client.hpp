// One keep-alive connection to the service, as coroutines on Fairlead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fairlead/coro/task.hpp>
#include <fairlead/io/tcp.hpp>

#include "savegames/load/response_reader.hpp"

namespace savegames::load {

class http_client {
public:
    // `headers`: the header lines of every request, Host included, each with its line end.
    http_client(fairlead::io::address target, std::string headers, fairlead::duration timeout);

    struct request {
        std::string_view method;
        std::string_view path;
        std::string_view body;
        bool has_body = false;
    };

    // Sends the request and receives its answer, which lives until the next call. Connects first if
    // there is no connection, or if the service closed it after the last answer. The texts in
    // `sent` must live until the await ends. The error is a kind, such as "connect: Connection
    // refused", "timed out", "closed", "malformed answer". After an error the next call connects
    // again.
    [[nodiscard]] fairlead::task<std::expected<const http_response*, std::string>> exchange(
        request sent);

    // The bytes since the previous call of `take_traffic`.
    struct traffic {
        std::uint64_t sent = 0;
        std::uint64_t received = 0;
    };
    [[nodiscard]] traffic take_traffic() noexcept;

private:
    [[nodiscard]] fairlead::task<std::expected<void, std::string>> ensure_connected(
        fairlead::time_point deadline);
    [[nodiscard]] fairlead::task<std::expected<void, std::string>> send(
        request sent, fairlead::time_point deadline);
    [[nodiscard]] fairlead::task<std::expected<void, std::string>> receive(
        fairlead::time_point deadline);
    [[nodiscard]] bool peer_has_closed() const noexcept;
    void write_head(const request& sent);

    fairlead::io::address target_;
    std::string headers_;
    fairlead::duration timeout_;
    std::optional<fairlead::io::tcp_stream> stream_;
    response_reader reader_;
    std::string head_;  // of the request; a small body is appended
    traffic traffic_;
};

}  // namespace savegames::load
