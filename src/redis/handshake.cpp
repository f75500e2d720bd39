#include "redis/handshake.hpp"

#include <fairlead/redis/command.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::redis::detail {
namespace {

// Sends commands and waits for their replies, while nothing else uses the connection.
task<result<std::vector<value>>> exchange(any_stream& stream, parser& replies,
                                          std::span<const command> commands, time_point deadline) {
    std::string out;
    for (const command& each : commands) each.write(out);
    const auto sent =
        co_await stream.write_all(std::as_bytes(std::span{out.data(), out.size()}), deadline);
    if (!sent) co_return std::unexpected{error{sent.error()}};
    std::vector<value> answers;
    while (answers.size() != commands.size()) {
        auto next = replies.next();
        if (!next) co_return std::unexpected{error{next.error()}};
        if (*next) {
            answers.push_back(std::move(**next));
            continue;
        }
        const auto count = co_await stream.read_some(replies.room(4096), deadline);
        if (!count) co_return std::unexpected{error{count.error()}};
        if (*count == 0) co_return std::unexpected{error{errc::connection_lost}};
        replies.filled(*count);
    }
    co_return answers;
}

}  // namespace

task<result<bool>> greet(any_stream& stream, parser& replies, const client_options& options,
                         time_point deadline) {
    const std::string user = options.user.empty() ? "default" : options.user;
    std::vector<command> first;
    const auto add_rest = [&] {
        if (options.database != 0) first.push_back({"SELECT", options.database});
    };
    bool resp3 = false;
    if (options.resp3) {
        command hello{"HELLO", 3};
        if (!options.password.empty()) hello.add("AUTH").add(user).add(options.password);
        if (!options.name.empty()) hello.add("SETNAME").add(options.name);
        first.push_back(std::move(hello));
        auto answer = co_await exchange(stream, replies, first, deadline);
        if (!answer) co_return std::unexpected{std::move(answer.error())};
        if (!answer->front().is_error()) {
            resp3 = true;
            first.clear();
            add_rest();
        } else {
            // A server before 6.0 does not know the command, and may want the password first.
            const error why = error::of_server(std::move(answer->front()).take_text());
            const bool is_unknown = why.code() == errc::no_protocol || why.code() == errc::server ||
                                    (why.code() == errc::no_auth && !options.password.empty());
            if (!is_unknown) co_return std::unexpected{why};
            first.clear();
        }
    }
    if (!resp3) {
        if (!options.password.empty()) {
            if (options.user.empty()) {
                first.push_back({"AUTH", options.password});
            } else {
                first.push_back({"AUTH", options.user, options.password});
            }
        }
        if (!options.name.empty()) first.push_back({"CLIENT", "SETNAME", options.name});
        add_rest();
        first.push_back({"PING"});  // without a password, whether one is needed
    }
    if (first.empty()) co_return resp3;
    auto answers = co_await exchange(stream, replies, first, deadline);
    if (!answers) co_return std::unexpected{std::move(answers.error())};
    for (value& each : *answers) {
        if (!each.is_error()) continue;
        error why = error::of_server(std::move(each).take_text());
        // Only PING is refused while the server loads: the commands themselves are told.
        if (why.code() != errc::loading) co_return std::unexpected{std::move(why)};
    }
    co_return resp3;
}

}  // namespace fairlead::redis::detail
