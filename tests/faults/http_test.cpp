// Each allocation of an exchange over HTTP fails: first alone, then together with all later ones.
// Client and server report std::bad_alloc, or one of them closes the connection; none hangs.
#include "faults/sweep.hpp"
#include "http/memory_stream.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/when_all.hpp>
#include <fairlead/http/client.hpp>
#include <fairlead/http/server.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/os/unique_fd.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace fairlead::test::http_tests {
namespace {

using namespace std::chrono_literals;

http::server_options plain() {
    http::server_options options;
    options.on_failure = [](const http::request_head&, const std::exception_ptr&) {};
    return options;
}

task<http::response> echo(http::request& asked) {
    auto body = co_await asked.read_all();
    if (!body) co_return http::response::refusing(body.error());
    http::response answer;
    answer.stream = [kept = std::move(*body)](http::body_writer& to) -> task<> {
        const auto sent = co_await to.write(kept);
        static_cast<void>(sent);
    };
    co_return answer;
}

// Two requests; the second one uses the connection of the first.
task<> ask_twice(http::client& by) {
    for (int i = 0; i != 2; ++i) {
        http::client_request asked;
        asked.method = "POST";
        asked.url = "http://a-host-whose-name-does-not-fit-into-a-string/";
        asked.body = std::string(5000, 'x');
        auto answer = co_await by.send(std::move(asked), clock::now() + 10s);
        if (!answer) co_return;
        const auto body = co_await answer->read_all();
        if (body && answer->status() == 200) {
            EXPECT_EQ(body->size(), 5000U);
        }
    }
    by.close_idle();
}

void exchange() {
    simulated_scheduler simulated;
    auto [theirs, ours] = http::make_pipe();
    std::optional<http::memory_stream> end{std::move(ours)};
    http::client client{
        [&end](
            const http::origin&,
            time_point) -> task<std::expected<std::unique_ptr<http::transport>, std::error_code>> {
            if (!end)
                co_return std::unexpected{std::make_error_code(std::errc::connection_refused)};
            http::memory_stream only = std::move(*end);
            end.reset();
            co_return http::make_transport(std::move(only));
        }};
    const auto both = [](http::memory_stream stream, http::client& by,
                         std::optional<http::memory_stream>& left) -> task<> {
        const auto asking = [](http::client& from,
                               std::optional<http::memory_stream>& unused) -> task<> {
            std::exception_ptr failure;
            try {
                co_await ask_twice(from);
            } catch (...) {
                failure = std::current_exception();
            }
            from.close_idle();
            unused.reset();  // the server must see an end
            if (failure) std::rethrow_exception(failure);
        };
        co_await when_all(http::serve_connection(std::move(stream), http::handler{echo}, plain()),
                          asking(by, left));
    };
    simulated.run(both(std::move(theirs), client, end));
}

// Every allocation fails from the moment on when the request is there. Over TCP the client is told.
TEST(http_allocations, a_client_is_told_without_an_allocation) {
    const watchdog guard;
    scheduler_options on_caller;
    on_caller.run_on_caller = true;
    on_caller.driver = std::make_unique<io::epoll_driver>();
    scheduler home{std::move(on_caller)};
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    os::unique_fd client{ends[0]};
    auto stream = io::tcp_stream::adopt(io::epoll_driver::of(home), os::unique_fd{ends[1]});
    ASSERT_TRUE(stream.has_value());
    const http::handler answers{[](http::request&) -> http::response {
        return http::response::text(200, std::string(5000, 'x'));
    }};
    const http::server_options options = plain();
    http::connection_monitor none;
    auto serving = spawn(home, http::serve_connection(std::move(*stream), answers, options, none));
    home.run_until_idle();
    constexpr std::string_view get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    ASSERT_EQ(::send(client.get(), get.data(), get.size(), 0), static_cast<ssize_t>(get.size()));
    {
        const armed fails{fault{}, call_range::from(1)};
        home.run_until_idle();
    }
    std::array<char, 4096> got{};
    const ssize_t size = ::recv(client.get(), got.data(), got.size(), 0);
    ASSERT_GT(size, 0);
    EXPECT_EQ(std::string_view(got.data(), static_cast<std::size_t>(size)), options.out_of_memory);
    EXPECT_EQ(::recv(client.get(), got.data(), got.size(), 0), 0);
    client.reset();
    while (!serving.ended()) home.run_until(never, 1);
}

TEST(http_allocations, an_exchange_without_memory_is_reported_or_cut) {
    const watchdog guard;
    sweep(fault{}, outcome::maybe_reported, exchange);
}

}  // namespace
}  // namespace fairlead::test::http_tests
