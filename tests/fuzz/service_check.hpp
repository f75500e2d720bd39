// Requests to a connection of the save-game service: the real coroutine, over a pair of sockets, on
// a scheduler that runs on this thread, with a store in memory.
//
// First come requests that the bytes choose. A model of the service answers them, too: each answer
// must have the status that follows from the limits, routes and saves, and a save must come back as
// it was put. Then come the remaining bytes, unchanged: their answers must be well-formed and have
// a documented status. In the end the connection ends and holds no memory.
#pragma once

#include "fuzz/input.hpp"
#include "fuzz/service_model.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/detail/base/assert.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/os/unique_fd.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "savegames/connection.hpp"
#include "savegames/memory_trimmer.hpp"
#include "savegames/tests/memory_store.hpp"

namespace fairlead::fuzz {

inline constexpr std::array documented{200, 204, 400, 403, 404, 405, 413, 417, 431, 501, 505};

inline scheduler_options on_caller() {
    scheduler_options options;
    options.run_on_caller = true;
    options.driver = std::make_unique<io::epoll_driver>();
    return options;
}

// The code that is checked, besides the connection.
struct service_code {
    using store = savegames::memory_store;
    static constexpr savegames::http_limits limits = service_limits;
};

// The service around one connection, and the client's end of it.
template <class Code>
class connected_service {
public:
    connected_service() {
        std::array<int, 2> ends{};
        FAIRLEAD_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0,
                        "the system has sockets");
        client_ = os::unique_fd{ends[0]};
        auto stream = io::tcp_stream::adopt(io::epoll_driver::of(home_), os::unique_fd{ends[1]});
        FAIRLEAD_ASSERT(stream.has_value(), "epoll takes a socket");
        // No request waits for a place: there is one connection.
        auto seat = table_.enter(savegames::clock::now(), &retry_);
        connection_.emplace(spawn(
            home_, savegames::serve_connection(parts_, std::move(*stream), std::move(*seat), 0)));
    }

    /// Sends `text` and appends the service's answers to `answers`. Bytes that the service does not
    /// take any more are lost.
    void send(std::string_view text, std::string& answers) {
        while (!text.empty()) {
            const ssize_t sent = ::send(client_.get(), text.data(), text.size(), MSG_NOSIGNAL);
            if (sent > 0) text.remove_prefix(static_cast<std::size_t>(sent));
            if (sent <= 0 && connection_->ended()) return;
            home_.run_until_idle();
            receive(answers);
            FAIRLEAD_ASSERT(tenants_.memory().used() <= memory_max,
                            "one connection holds its buffer, a request and an answer");
        }
    }

    /// The client has sent all. The connection must end.
    void finish(std::string& answers) {
        ::shutdown(client_.get(), SHUT_WR);
        while (!connection_->ended()) {
            home_.run_until(never, 1);
            receive(answers);
        }
        receive(answers);
        FAIRLEAD_ASSERT(tenants_.memory().used() == 0, "all memory was given back");
        FAIRLEAD_ASSERT(tenants_.requests().used() == 0, "no request is under way");
        FAIRLEAD_ASSERT(stats_.failures() == 0, "nothing was thrown");
        FAIRLEAD_ASSERT(table_.count().open == 0, "its seat is free");
    }

private:
    void receive(std::string& answers) {
        std::array<char, 4096> buffer;
        for (;;) {
            const ssize_t size = ::recv(client_.get(), buffer.data(), buffer.size(), 0);
            if (size <= 0) return;
            answers.append(buffer.data(), static_cast<std::size_t>(size));
        }
    }

    // Of one connection: its task, what it has read, the body and the answer.
    static constexpr std::size_t memory_max = std::size_t{128} << 10;

    static savegames::json_limits save_limits() {
        savegames::json_limits limits;
        limits.size_max = service_limits.body_max;
        return limits;
    }

    typename Code::store store_;
    const savegames::job_context jobs_{
        .profiles = store_, .blobs = store_, .save_limits = save_limits()};
    const std::unique_ptr<savegames::runner> runner_ =
        savegames::make_runner(savegames::scheduler_choice::fairlead, 1);
    static inline savegames::service_stats stats_;  // large: shared by all runs
    fairlead::trace_source spans_{1};
    savegames::connection_table table_{1};
    static inline savegames::memory_trimmer trimmer_;  // shared as well
    const savegames::service_parts parts_{
        .limits = {.http = Code::limits},
        .http = savegames::http_options({.http = Code::limits}, stats_),
        .jobs = jobs_,
        .run = *runner_,
        .stats = stats_,
        .tenants = tenants_,
        .table = table_,
        .trimmer = trimmer_,
        .spans = spans_,
        .tokens = [] { return nullptr; },
        .stats_json = [] { return std::string{"{}"}; },
        .ready = [] { return std::expected<void, std::string>{}; }};
    savegames::time_point retry_{};
    scheduler home_{on_caller()};
    savegames::tenant_table tenants_{home_, {}, {.memory_max = memory_max}};
    os::unique_fd client_;
    std::optional<join_handle<void>> connection_;
};

template <class Code>
void check_service(input bytes) {
    connected_service<Code> service;
    service_model model;
    std::string answers;

    const std::size_t piece_wanted = std::size_t{1} << bytes.below(12);
    constexpr std::size_t pieces_max = 32;  // each costs system calls
    std::string text;
    for (std::size_t left = bytes.below(8); left != 0 && !model.ended(); --left) {
        text += model.request(bytes);
    }
    const bool clean = !model.ended();
    if (clean) text += bytes.rest();
    const std::size_t piece = std::max(piece_wanted, text.size() / pieces_max);
    for (std::size_t at = 0; at < text.size(); at += piece) {
        service.send(std::string_view{text}.substr(at, piece), answers);
    }
    service.finish(answers);

    std::string_view rest = answers;
    for (const expected_answer& each : model.expected()) {
        const auto got = take_answer(rest, each.head_only);
        FAIRLEAD_ASSERT(got.has_value(), "each request has an answer");
        each.compare(*got);
    }
    if (!clean) FAIRLEAD_ASSERT(rest.empty(), "nothing comes after the last answer");
    while (!rest.empty()) {
        // Of a request that the model does not know, HEAD may be the method: then no body follows.
        const auto got = take_answer(rest, false);
        if (!got) break;
        FAIRLEAD_ASSERT(std::ranges::find(documented, got->status) != documented.end(),
                        "an answer has a documented status");
    }
}

}  // namespace fairlead::fuzz
