// The system, and memory, fail while connects race and names are looked up.
#include "faults/sweep.hpp"
#include "support/sockets.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/connect.hpp>
#if defined(FAIRLEAD_WITH_DNS)
#include <fairlead/dns/connect.hpp>
#endif

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::test::connect_tests {
namespace {

template <class T>
T run_on(scheduler& home, task<T> body) {
    auto handle = spawn(home, std::move(body));
    while (!handle.ended()) home.run_until(never, 1);
    return handle.get();
}

// Nothing listens there: the port is bound, and not taken by another program.
class refusing_port {
public:
    refusing_port() : bound_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
        const io::address any = io::address::loopback(0);
        EXPECT_EQ(::bind(bound_.get(), any.data(), any.size()), 0);
        sockaddr_storage storage{};
        socklen_t size = sizeof(storage);
        EXPECT_EQ(::getsockname(bound_.get(), reinterpret_cast<sockaddr*>(&storage), &size), 0);
        where_ = io::address{reinterpret_cast<const sockaddr*>(&storage), size};
    }
    [[nodiscard]] io::address where() const { return where_; }

private:
    os::unique_fd bound_;
    io::address where_;
};

class connect_failures : public testing::Test {
protected:
    // The first address is refused, the second one takes the connection.
    void connects() {
        scheduler home{with_epoll_on_caller()};
        std::vector<io::address> both;
        both.push_back(refusing.where());
        both.push_back(listener.local_address());
        const auto deadline = clock::now() + std::chrono::seconds{60};
        const auto made = run_on(home, io::connect_any(std::move(both), deadline));
        if (!made) {
            for (const io::failed_attempt& each : made.error().attempts()) {
                if (each.why != std::errc::connection_refused) throw std::system_error{each.why};
            }
            throw std::system_error{made.error().code()};
        }
        static_cast<void>(listener.accepted());
    }

    const watchdog guard;
    const refusing_port refusing;
    const raw_socket listener = raw_socket::listening(64);
};

// An attempt that finds no descriptor or no memory is an attempt that has failed.
TEST_F(connect_failures, without_a_descriptor_the_next_attempt_is_made) {
    const auto scenario = [this] { connects(); };
    for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
        sweep_range({"socket", error}, outcome::maybe_reported, scenario, call_range::only);
        sweep_range({"socket", error}, outcome::maybe_reported, scenario, call_range::from);
    }
}

TEST_F(connect_failures, without_memory_nothing_is_left) {
    sweep({}, outcome::maybe_reported, [this] { connects(); });
}

#if defined(FAIRLEAD_WITH_DNS)
// Two tasks ask for one name, by a query that waits; one of them leaves.
task<dns::answer> says(std::string, dns::family of) {
    co_await yield();
    dns::answer said{.failure = {}, .addresses = {}, .ttl = std::chrono::seconds{60}};
    const char* const host = of == dns::family::v4 ? "127.0.0.1" : "::1";
    said.addresses.push_back(io::address::parse(host, 0).value());
    co_return said;
}

TEST_F(connect_failures, without_memory_each_look_up_ends) {
    const auto scenario = [] {
        scheduler home{with_epoll_on_caller()};
        dns::resolver_options options;
        options.hosts_file = {};
        options.by = says;
        options.search.emplace(1, "one.test");
        auto made = dns::resolver::make(home, std::move(options));
        if (!made) throw std::system_error{made.error()};
        dns::resolver by{std::move(*made)};
        auto first = spawn(home, by.resolve("a", 80));
        auto leaves = spawn(home, by.resolve("a", 80));
        leaves.request_stop();
        std::error_code failure;
        for (auto* const each : {&first, &leaves}) {
            while (!each->ended()) home.run_until(never, 1);
            try {
                const auto found = each->get();
                if (!found && each == &first) failure = found.error();
            } catch (const std::bad_alloc&) {
                failure = std::make_error_code(std::errc::not_enough_memory);
            }
        }
        // The query of a look-up that had no memory is `closed` for the task that has joined it.
        if (failure == dns::errc::closed || failure == dns::errc::bad_answer) {
            failure = std::make_error_code(std::errc::not_enough_memory);
        }
        if (failure) throw std::system_error{failure};
        home.drain();
    };
    sweep({}, outcome::maybe_reported, scenario);
}
#endif

}  // namespace
}  // namespace fairlead::test::connect_tests
