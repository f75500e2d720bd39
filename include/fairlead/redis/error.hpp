// What goes wrong with Redis: an error code, the text of the server, and whether the command may
// have been executed.
//
//     const auto got = co_await client.send({"GET", "key"}, deadline);
//     if (!got && got.error().code() == redis::errc::loading) ...
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace fairlead::redis {

/// Errors beside those of the system. A wait ends with `std::errc::timed_out` at its deadline, with
/// `std::errc::operation_canceled` when its task is asked to stop, and with
/// `std::errc::stream_timeout` at a deadline of the context, as the waits for a stream.
enum class errc : std::uint8_t {
    // Of this end.
    protocol = 1,         ///< the bytes are no RESP, or the reply has not the form of its command
    too_large,            ///< a reply, or a part of it, is beyond a limit of `parser_limits`
    connection_lost,      ///< the connection has ended before the reply
    stalled,              ///< no reply at all has come for `client_options::stall`
    queue_full,           ///< `client_options::queue_max` commands wait already
    closed,               ///< the client was closed
    not_shared,           ///< the command would disturb the other users of the connection
    messages_lost,        ///< of a subscription: messages were lost; it goes on
    aborted,              ///< of a transaction: a watched key has changed, so nothing was done
    wrong_type_of_reply,  ///< the reply is of another type than the helper expects
    // Of the server, by the first word of its error.
    server,         ///< an error without a code of its own here
    loading,        ///< LOADING: the data set is being read
    read_only,      ///< READONLY: a replica takes no writes
    moved,          ///< MOVED: the slot of the key is at another node
    ask,            ///< ASK: the slot of the key is moving to another node
    no_auth,        ///< NOAUTH: the connection is not authenticated
    wrong_pass,     ///< WRONGPASS: the user or the password is wrong
    no_permission,  ///< NOPERM: the user may not do it
    wrong_type,     ///< WRONGTYPE: the key has a value of another type
    no_script,      ///< NOSCRIPT: the server does not know the script
    busy,           ///< BUSY: a script runs for too long
    out_of_memory,  ///< OOM: the server has reached its limit of memory
    exec_abort,     ///< EXECABORT: a command of the transaction was refused
    try_again,      ///< TRYAGAIN: the keys are spread over two nodes at the moment
    cluster_down,   ///< CLUSTERDOWN: the cluster does not serve
    master_down,    ///< MASTERDOWN: a replica has lost its master
    misconfigured,  ///< MISCONF: the server cannot save, and so takes no writes
    no_replicas,    ///< NOREPLICAS: too few replicas for a write
    no_protocol,    ///< NOPROTO: the server does not speak the version of RESP
};

/// The category of `errc`, named "redis".
[[nodiscard]] const std::error_category& category() noexcept;
/// For `std::error_code`, which finds it.
[[nodiscard]] inline std::error_code make_error_code(errc code) noexcept {
    return {static_cast<int>(code), category()};
}

/// A failure of a command. Copies and moves without allocating.
class error {
public:
    /// `was_sent`: bytes of the command may have left.
    error(std::error_code code, bool was_sent = false) noexcept
        : code_{code}, was_sent_{was_sent} {}
    /// The same with an error of this library.
    error(errc code, bool was_sent = false) noexcept : error{make_error_code(code), was_sent} {}
    /// An error of the server, with its text, such as "WRONGTYPE Operation against a key ...".
    /// Throws `std::bad_alloc`.
    [[nodiscard]] static error of_server(std::string text);

    /// The same failure, of a command of which nothing was sent.
    [[nodiscard]] error as_unsent() const noexcept {
        error same = *this;
        same.was_sent_ = false;
        return same;
    }

    /// What has happened.
    [[nodiscard]] std::error_code code() const noexcept { return code_; }
    /// Whether bytes of the command may have left, so that the server may have executed it. False:
    /// the command was not executed, and can be sent again without harm.
    [[nodiscard]] bool was_sent() const noexcept { return was_sent_; }
    /// Whether the server has answered with an error.
    [[nodiscard]] bool is_of_server() const noexcept {
        return code_.category() == category() && code_.value() >= static_cast<int>(errc::server);
    }
    /// The text of the server; else that of the code. Throws `std::bad_alloc`.
    [[nodiscard]] std::string message() const {
        return text_ == nullptr ? code_.message() : *text_;
    }

private:
    std::error_code code_;
    bool was_sent_ = false;
    std::shared_ptr<const std::string> text_;  // null: none
};

/// What a command gives.
template <class T>
using result = std::expected<T, error>;

}  // namespace fairlead::redis

/// Lets an `errc` be compared with `std::error_code`.
template <>
struct std::is_error_code_enum<fairlead::redis::errc> : std::true_type {};
