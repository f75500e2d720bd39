// An HTTP server and a client of it, in one program: a function, a coroutine, streams both ways, a
// pool of connections, and a stop that finishes what is under way.
#include <fairlead/fairlead.hpp>
#include <fairlead/http/client.hpp>
#include <fairlead/http/server.hpp>

#include <cstdio>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace fl = fairlead;
namespace io = fairlead::io;
namespace http = fairlead::http;
using namespace std::chrono_literals;

namespace {

// [function]
// Answers at once, so it is a plain function.
http::response hello(http::request& asked) {
    if (asked.path() != "/hello") return http::response::text(404, "no such page\n");
    return http::response::text(200, "hello, harbour\n");
}
// [/function]

// [upload]
// Reads the body as it comes: a client that sends faster than this task reads is slowed down.
fl::task<http::response> count_bytes(http::request& asked) {
    std::size_t count = 0;
    for (;;) {
        const auto piece = co_await asked.read_some();
        if (!piece) co_return http::response::refusing(piece.error());  // 400, 408 or 413
        if (piece->empty()) break;
        count += piece->size();
    }
    co_return http::response::json(200, "{\"bytes\":" + std::to_string(count) + "}");
}
// [/upload]

// [stream]
// Sends ten lines, each when it is ready. A client that reads slowly makes the loop slow.
http::response ten_lines() {
    http::response answer;
    answer.fields.add("Content-Type", "text/plain");
    answer.stream = [](http::body_writer& to) -> fl::task<> {
        for (int line = 0; line != 10; ++line) {
            co_await fl::sleep_for(1ms);
            const auto sent = co_await to.write("line " + std::to_string(line) + "\n");
            if (!sent) co_return;  // the client is gone
        }
    };
    return answer;
}
// [/stream]

fl::task<http::response> answer(http::request& asked) {
    if (asked.path() == "/upload") {
        http::response counted = co_await count_bytes(asked);
        co_return counted;
    }
    if (asked.path() == "/lines") co_return ten_lines();
    co_return hello(asked);
}

// [client]
using text = std::expected<std::string, std::error_code>;

// `deadline` is that of the whole: connection, request, head and body.
fl::task<text> fetch(http::client& client, std::string url, fl::time_point deadline) {
    http::client_request asked;
    asked.url = std::move(url);
    auto answer = co_await client.send(std::move(asked), deadline);
    if (!answer) co_return std::unexpected{answer.error()};
    co_return co_await answer->read_all(64 << 10);  // at most so many bytes
}
// [/client]

// [post]
fl::task<text> upload(http::client& client, std::string url, int lines) {
    http::client_request asked;
    asked.method = "POST";
    asked.url = std::move(url);
    asked.stream = [lines](http::body_writer& to) -> fl::task<> {
        for (int line = 0; line != lines; ++line) {
            const auto sent = co_await to.write("a line\n");
            if (!sent) co_return;
        }
    };
    auto answer = co_await client.send(std::move(asked), fl::clock::now() + 5s);
    if (!answer) co_return std::unexpected{answer.error()};
    co_return co_await answer->read_all();
}
// [/post]

std::string shown(const text& of) { return of ? *of : of.error().message(); }

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 2, .driver = std::make_unique<io::epoll_driver>()}};

    // [serve]
    auto listener = io::tcp_listener::bind(scheduler, io::address::loopback(0));
    if (!listener) return 1;
    const std::string base = "http://" + listener->local_address()->to_string();

    http::server_options options;
    options.limits.body_max = 1 << 20;
    options.idle_timeout = 30s;
    auto server = fl::spawn(scheduler, http::serve(std::move(*listener), answer, options));
    // [/serve]

    http::client client;
    const fl::time_point deadline = fl::clock::now() + 5s;
    const text hello = fl::block_on(scheduler, fetch(client, base + "/hello", deadline));
    const text lines = fl::block_on(scheduler, fetch(client, base + "/lines", deadline));
    const text count = fl::block_on(scheduler, upload(client, base + "/upload", 1000));
    std::printf("%s%s%s\n", shown(hello).c_str(), shown(lines).c_str(), shown(count).c_str());
    const http::client_stats stats = client.stats();
    std::printf("%llu requests on %llu connection\n",
                static_cast<unsigned long long>(stats.requests),
                static_cast<unsigned long long>(stats.connections));

    // [stop]
    client.close_idle();
    server.request_stop();  // no new connection; what is under way has `drain_timeout`
    const std::expected<void, std::error_code> served = server.get();
    // [/stop]

    const bool as_expected = hello == "hello, harbour\n" && lines && lines->ends_with("line 9\n") &&
                             count == "{\"bytes\":7000}" && stats.connections == 1 && served;
    return as_expected ? 0 : 1;
}
