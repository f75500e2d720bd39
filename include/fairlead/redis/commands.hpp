// What a service most often asks of Redis, typed. A client has it, and a connection of a pool.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/redis/command.hpp>
#include <fairlead/redis/error.hpp>
#include <fairlead/redis/script.hpp>
#include <fairlead/redis/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fairlead::redis {

/// When SET writes.
enum class set_when : std::uint8_t {
    always,   ///< whatever there is
    absent,   ///< NX: there is no such key
    present,  ///< XX: there is such a key
};

/// How SET writes.
struct set_options {
    set_when when = set_when::always;     ///< under which condition
    duration expires = duration::zero();  ///< PX: rounded up to milliseconds; zero: never
    bool keep_expiry = false;             ///< KEEPTTL: as before
};

/// Each call sends commands and waits for their replies, until `deadline` at the latest. A call
/// that ends early harms no other one: what was not sent is taken back, and the reply to what was
/// sent is dropped when it comes. Any task, several at once. Throws `std::bad_alloc`.
class commands {
public:
    virtual ~commands() = default;

    /// Sends one command: its reply, or the error of the server.
    [[nodiscard]] virtual task<result<value>> send(command what, time_point deadline = never) = 0;
    /// Sends commands together, and nothing between them: all replies, in order. Errors of the
    /// server are values here.
    [[nodiscard]] virtual task<result<std::vector<value>>> send_all(
        std::vector<command> all, time_point deadline = never) = 0;

    /// GET: nothing, if there is no such key.
    [[nodiscard]] task<result<std::optional<std::string>>> get(std::string key,
                                                               time_point deadline = never);
    /// SET: whether it has written.
    [[nodiscard]] task<result<bool>> set(std::string key, std::string content,
                                         set_options options = {}, time_point deadline = never);
    /// DEL: whether there was such a key.
    [[nodiscard]] task<result<bool>> del(std::string key, time_point deadline = never);
    /// INCRBY: the number afterwards.
    [[nodiscard]] task<result<std::int64_t>> incr(std::string key, std::int64_t by = 1,
                                                  time_point deadline = never);
    /// PEXPIRE, rounded up to milliseconds: whether there is such a key.
    [[nodiscard]] task<result<bool>> expire(std::string key, duration in,
                                            time_point deadline = never);

    /// EVALSHA; and EVAL, which teaches the server the script, if it does not know it. The script
    /// must live until the task has ended.
    [[nodiscard]] task<result<value>> eval(const script& what, std::vector<std::string> keys,
                                           std::vector<std::string> arguments,
                                           time_point deadline = never);

    /// Deletes the key if it has this content: whether it had. So a lease is given back by its
    /// holder alone: `set(key, token, {.when = set_when::absent, .expires = ttl})` takes it.
    [[nodiscard]] task<result<bool>> compare_and_delete(std::string key, std::string content,
                                                        time_point deadline = never);
    /// Sets the expiry of the key if it has this content: whether it had. So a lease is extended.
    [[nodiscard]] task<result<bool>> compare_and_expire(std::string key, std::string content,
                                                        duration in, time_point deadline = never);

protected:
    /// @cond internal
    commands() = default;
    commands(const commands&) = default;
    commands& operator=(const commands&) = default;
    /// @endcond
};

}  // namespace fairlead::redis
