// Tests a connection, its place in the table and the end of the service, over a pair of sockets.
// The scheduler runs on this thread.
#include "savegames/connection.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/os/unique_fd.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "savegames/tests/memory_store.hpp"

namespace savegames::connection_tests {
namespace {

namespace fl = fairlead;
using namespace std::chrono_literals;

constexpr std::string_view whole_request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
constexpr std::string_view half_head = "GET /healthz HTTP/1.1\r\nHost: local";
constexpr std::string_view half_body =
    "PUT /saves/anna HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n{";

fl::scheduler_options on_caller() {
    fl::scheduler_options options;
    options.run_on_caller = true;
    options.driver = std::make_unique<fl::io::epoll_driver>();
    return options;
}

// A store that can keep its answers to reads to itself.
class silent_store final : public memory_store {
public:
    ~silent_store() override {
        for (auto& done : kept_) done(std::unexpected(error::store_failed));
    }

    void get(const profile_key& key, time_point deadline, completion<save> done) override {
        ++asked;
        seen = deadline;
        if (!silent) return memory_store::get(key, deadline, std::move(done));
        kept_.push_back(std::move(done));
    }
    void put(const profile_key& key, const write_condition& condition, save value,
             completion<std::uint64_t> done) override {
        seen = condition.deadline;
        memory_store::put(key, condition, std::move(value), std::move(done));
    }
    void erase(const profile_key& key, const write_condition& condition,
               completion<void> done) override {
        seen = condition.deadline;
        memory_store::erase(key, condition, std::move(done));
    }

    bool silent = false;
    int asked = 0;
    time_point seen{};  // the deadline of the latest read or write

private:
    std::vector<completion<save>> kept_;
};

// The service with one connection, and the client's end of that connection.
class one_client {
public:
    one_client() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
        client_ = fl::os::unique_fd{ends[0]};
        auto stream =
            fl::io::tcp_stream::adopt(fl::io::epoll_driver::of(home_), fl::os::unique_fd{ends[1]});
        time_point retry{};
        auto seat = table.enter(clock::now(), &retry);
        connection_.emplace(
            fl::spawn(home_, serve_connection(parts_, std::move(*stream), std::move(*seat), 0)));
        home_.run_until_idle();
    }
    ~one_client() {
        client_.reset();
        while (!ended()) home_.run_until(fl::never, 1);
    }
    one_client(const one_client&) = delete;
    one_client& operator=(const one_client&) = delete;

    // Sends `text`, and returns what the service answers at once.
    std::string ask(std::string_view text) {
        EXPECT_EQ(::send(client_.get(), text.data(), text.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text.size()));
        return run();
    }

    // Runs the service until it is idle, and returns what it has sent.
    std::string run() {
        home_.run_until_idle();
        std::string result(4096, '\0');
        const ssize_t size = ::recv(client_.get(), result.data(), result.size(), 0);
        result.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
        return result;
    }

    // Lets a newcomer ask for room, much later. Whether this connection is asked to stop.
    [[nodiscard]] bool is_crowded_out() {
        time_point retry{};
        EXPECT_FALSE(table.enter(clock::now() + 1h, &retry));
        return table.count().evicted != 0;
    }

    [[nodiscard]] bool ended() const { return connection_->ended(); }
    [[nodiscard]] std::size_t memory() const { return tenants_.memory().used(); }

    // Waits for an answer.
    std::string wait() {
        std::string result;
        while (result.empty()) {
            home_.run_until(clock::now() + 1s, 1);
            result = run();
        }
        return result;
    }

    [[nodiscard]] silent_store& store() noexcept { return store_; }

    connection_table table{1};
    std::string log;

private:
    silent_store store_;
    const job_context jobs_{.profiles = store_, .blobs = store_};
    const std::unique_ptr<runner> runner_ = make_runner(scheduler_choice::fairlead, 1);
    fl::trace_source spans_{1};
    service_stats stats_;
    memory_trimmer trimmer_;
    const service_parts parts_{.limits = {},
                               .http = http_options({}, stats_),
                               .jobs = jobs_,
                               .run = *runner_,
                               .stats = stats_,
                               .tenants = tenants_,
                               .table = table,
                               .trimmer = trimmer_,
                               .spans = spans_,
                               .log = request_log::all,
                               .write_log = [this](const std::string& line) { log += line + "\n"; },
                               .tokens = [] { return nullptr; },
                               .stats_json = [] { return std::string{"{}"}; },
                               .ready = [] { return std::expected<void, std::string>{}; }};
    fl::scheduler home_{on_caller()};
    tenant_table tenants_{home_, {}, {.memory_max = std::size_t{1} << 20}};
    fl::os::unique_fd client_;
    std::optional<fl::join_handle<void>> connection_;
};

bool closes(std::string_view answer) { return answer.contains("\r\nConnection: close\r\n"); }

std::string read_within(std::string_view timeout) {
    return "GET /saves/anna HTTP/1.1\r\nHost: localhost\r\nX-Request-Timeout: " +
           std::string{timeout} +
           "\r\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\r\n";
}

std::string write_of(std::string_view method, const std::string& path, std::string_view timeout) {
    return std::string{method} + " " + path +
           " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nX-Request-Timeout: " +
           std::string{timeout} + "\r\n\r\n{}";
}

TEST(Connection, AnswersAnOverdueRequestAndGoesOn) {
    one_client client;
    client.store().silent = true;
    std::string answer = client.ask(read_within("30"));
    if (answer.empty()) answer = client.wait();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 504 ")) << answer;
    EXPECT_TRUE(answer.contains("\"error\":\"deadline\"")) << answer;
    EXPECT_FALSE(closes(answer));
    EXPECT_TRUE(client.log.contains("trace=0af7651916cd43dd8448eb211c80319c kind=get status=504"))
        << client.log;
    EXPECT_TRUE(client.ask(whole_request).starts_with("HTTP/1.1 200 "));
}

TEST(Connection, DoesNotAskTheStoreForARequestThatIsOverdueAtOnce) {
    one_client client;
    EXPECT_TRUE(client.ask(read_within("0")).starts_with("HTTP/1.1 504 "));
    EXPECT_EQ(client.store().asked, 0);
    EXPECT_TRUE(client.ask(read_within("60000")).starts_with("HTTP/1.1 404 "));
    EXPECT_EQ(client.store().asked, 1);
}

TEST(Connection, TellsTheStoreTheDeadlineOfTheRequest) {
    for (const std::string_view line : {"PUT", "GET", "POST", "DELETE"}) {
        one_client client;
        const std::string path = line == "POST" ? "/saves/anna/update" : "/saves/anna";
        EXPECT_TRUE(
            client.ask(write_of("PUT", "/saves/anna", "60000")).starts_with("HTTP/1.1 200"));
        client.store().seen = {};
        const time_point before = clock::now();
        const std::string answer = client.ask(write_of(line, path, "3000"));
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 20")) << answer;
        EXPECT_GE(client.store().seen, before + 3s) << line;
        EXPECT_LE(client.store().seen, clock::now() + 3s) << line;
    }
}

TEST(Connection, RefusesATimeoutThatIsNoNumber) {
    for (const std::string_view wrong : {"soon", "-1", "1.5", "1s", "3600001", "9999999999999"}) {
        one_client client;
        const std::string answer = client.ask(read_within(wrong));
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << wrong;
        EXPECT_TRUE(answer.contains("X-Request-Timeout")) << wrong;
    }
}

// A connection whose client goes on asking gets a last answer, which says that it is the last.
TEST(Connection, AnswersOnceMoreAfterTheStopHasBegun) {
    one_client client;
    const time_point before = clock::now();
    const std::string first = client.ask(whole_request);
    EXPECT_TRUE(first.starts_with("HTTP/1.1 200 "));
    EXPECT_FALSE(closes(first));
    client.table.drain(before);
    EXPECT_EQ(client.run(), "");
    EXPECT_FALSE(client.ended());
    const std::string last = client.ask(whole_request);
    EXPECT_TRUE(last.starts_with("HTTP/1.1 200 "));
    EXPECT_TRUE(closes(last));
    EXPECT_TRUE(client.ended());
}

TEST(Connection, EndsWhenItWasIdleForLongAndTheStopBegins) {
    one_client client;
    client.ask(whole_request);
    client.table.drain(clock::now() + connection_table::grace);
    EXPECT_EQ(client.run(), "");
    EXPECT_TRUE(client.ended());
}

TEST(Connection, EndsInsideARequestWhenTheStopBegins) {
    for (const std::string_view half : {half_head, half_body}) {
        one_client client;
        EXPECT_EQ(client.ask(half), "");
        client.table.drain(clock::now());
        const std::string answer = client.run();
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
        EXPECT_TRUE(closes(answer));
        EXPECT_TRUE(client.ended());
        EXPECT_EQ(client.memory(), 0U);
    }
}

// A client sends a head byte by byte. However often it sends, its place goes to a newcomer.
TEST(Connection, GivesItsPlaceUpWithoutAWordWhileItsHeadIsSlow) {
    one_client client;
    for (const char each : half_head) EXPECT_EQ(client.ask({&each, 1}), "");
    EXPECT_TRUE(client.is_crowded_out());
    EXPECT_EQ(client.run(), "");
    EXPECT_TRUE(client.ended());
}

TEST(Connection, KeepsItsPlaceWhileItsBodyIsSlow) {
    one_client client;
    EXPECT_EQ(client.ask(half_body), "");
    EXPECT_FALSE(client.is_crowded_out());
    EXPECT_EQ(client.run(), "");
    EXPECT_FALSE(client.ended());
}

TEST(Connection, DoesNotWaitForTheRestOfARequestAfterTheStopHasBegun) {
    one_client client;
    client.table.drain(clock::now() - 1h);
    const std::string answer = client.ask(half_head);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
    EXPECT_TRUE(closes(answer));
    EXPECT_TRUE(client.ended());
}

}  // namespace
}  // namespace savegames::connection_tests
