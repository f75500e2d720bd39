// What is told what a connection of a server does, and may end it: for limits of connections and
// memory that all connections of a program share.
//
//     class counted final : public http::connection_monitor { ... };
//     counted mine{table};
//     co_await http::serve_connection(std::move(stream), answers, options, mine);
#pragma once

#include <fairlead/base/time.hpp>

#include <cstddef>
#include <cstdint>

namespace fairlead::http {

/// One for each connection, whose task calls it. All functions are short and throw nothing; by
/// default they change nothing. A program that ends a connection which waits asks its task to
/// stop; the wait then ends, and `resumes` decides.
class connection_monitor {
public:
    /// What the connection does next.
    enum class verdict : std::uint8_t {
        go_on,   ///< as it would
        close,   ///< it closes without a word
        refuse,  ///< of a request of which a part has come: it answers with 503, and closes
    };

    connection_monitor() = default;
    connection_monitor(const connection_monitor&) = delete;
    connection_monitor& operator=(const connection_monitor&) = delete;
    virtual ~connection_monitor() = default;

    /// The connection is going to wait for the first byte of a request. All answers were sent.
    [[nodiscard]] virtual verdict waits_for_request() noexcept { return verdict::go_on; }
    /// It is going to wait for the rest of a head, of which some has come at `since` or before.
    /// Called for each wait.
    [[nodiscard]] virtual verdict waits_for_head([[maybe_unused]] time_point since) noexcept {
        return verdict::go_on;
    }
    /// It is going to wait for more of a body, which the handler reads. `close` and `refuse` let
    /// the handler's read fail with `operation_canceled`.
    [[nodiscard]] virtual verdict waits_for_body() noexcept { return verdict::go_on; }
    /// A wait has ended: something of a request has come, or the wait has failed. Of a head in
    /// several parts: the head is complete, or the wait has failed.
    [[nodiscard]] virtual verdict resumes() noexcept { return verdict::go_on; }
    /// Whether the answer that is printed is the last one, and says "Connection: close".
    [[nodiscard]] virtual bool is_last() noexcept { return false; }

    /// The buffer for what comes has another size now, in bytes.
    virtual void holds([[maybe_unused]] std::size_t bytes) noexcept {}
    /// Whether that buffer may have so many bytes, because a body comes fast. False: it is received
    /// in smaller parts.
    [[nodiscard]] virtual bool may_hold([[maybe_unused]] std::size_t bytes) noexcept {
        return true;
    }
    /// An allocation has failed. The client gets `server_options::out_of_memory`, unless a part of
    /// an answer was sent, and the connection closes.
    virtual void is_out_of_memory() noexcept {}
};

}  // namespace fairlead::http
