// Names: a resolver, a connection by name, clients that connect by name, addresses of one's own,
// and a query of one's own. It needs no network: the names are of this machine.
#include <fairlead/dns/connect.hpp>
#include <fairlead/dns/resolver.hpp>
#include <fairlead/fairlead.hpp>
#include <fairlead/http/client.hpp>
#include <fairlead/http/server.hpp>

#include <netdb.h>

#include <cstdio>
#include <expected>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fl = fairlead;
namespace io = fairlead::io;
namespace dns = fairlead::dns;
namespace http = fairlead::http;
using namespace std::chrono_literals;

namespace {

fl::task<> serve(io::tcp_listener listener) {
    const auto hello = [](http::request&) { return http::response::text(200, "hello\n"); };
    auto serving = http::serve(std::move(listener), hello);
    static_cast<void>(co_await std::move(serving));
}

// [connect]
fl::task<bool> is_there(dns::resolver& resolver, std::string host, std::uint16_t port) {
    auto stream = co_await dns::connect(resolver, host, port, fl::clock::now() + 5s);
    if (!stream) {
        // The reason, and how each address has failed.
        std::printf("%s: %s\n", host.c_str(), stream.error().to_string().c_str());
        co_return false;
    }
    std::printf("%s is %s\n", host.c_str(), stream->peer_address()->to_string().c_str());
    co_return true;
}
// [/connect]

// [http]
fl::task<std::string> get(dns::resolver& resolver, std::string url) {
    http::client client{http::tcp_connector(dns::by_name(resolver))};
    http::client_request asked{.url = std::move(url)};
    auto answer = co_await client.send(std::move(asked), fl::clock::now() + 5s);
    if (!answer) co_return answer.error().message();
    auto body = co_await answer->read_all();
    co_return body ? std::move(*body) : body.error().message();
}
// [/http]

// [addresses]
// The first address does not answer. The second is tried as soon as the first is refused, or after
// 250 ms.
fl::task<bool> reaches_one_of(io::address first, io::address second) {
    std::vector<io::address> both;
    both.push_back(first);
    both.push_back(second);
    auto stream = co_await io::connect_any(std::move(both), fl::clock::now() + 5s);
    co_return stream.has_value();
}
// [/addresses]

// [getaddrinfo]
// What the whole system knows, with mDNS, LDAP and the rest: on a thread, and without a TTL.
dns::answer ask_the_system(const std::string& name, dns::family of) {
    addrinfo hints{};
    hints.ai_family = of == dns::family::v4 ? AF_INET : AF_INET6;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* all = nullptr;
    const int failure = ::getaddrinfo(name.c_str(), nullptr, &hints, &all);
    dns::answer said;
    if (failure == EAI_NONAME) said.failure = dns::errc::not_found;
    if (failure != 0 && failure != EAI_NONAME) said.failure = dns::errc::server_failed;
    if (failure != 0) return said;
    for (const addrinfo* each = all; each != nullptr; each = each->ai_next) {
        said.addresses.emplace_back(each->ai_addr, each->ai_addrlen);
    }
    ::freeaddrinfo(all);
    said.ttl = 10s;
    return said;
}

fl::task<dns::answer> by_getaddrinfo(std::string name, dns::family of) {
    const auto asks = [&] { return ask_the_system(name, of); };
    co_return co_await fl::blocking(asks);
}
// [/getaddrinfo]

fl::task<bool> show(dns::resolver& resolver, io::address server, io::address refusing) {
    const bool found = co_await is_there(resolver, "localhost", server.port());
    const bool missing = co_await is_there(resolver, "no name", server.port());
    const std::string url = "http://api.localhost:" + std::to_string(server.port()) + "/";
    const std::string page = co_await get(resolver, url);
    const bool reached = co_await reaches_one_of(refusing, server);
    const dns::answer known = co_await by_getaddrinfo("localhost", dns::family::v4);
    std::printf("%s", page.c_str());
    co_return found && !missing && page == "hello\n" && reached && !known.failure;
}

}  // namespace

int main() {
    fl::scheduler_options options;
    options.driver = std::make_unique<io::epoll_driver>();
    fl::scheduler scheduler{std::move(options)};

    // [make]
    auto resolver = dns::resolver::make(scheduler);  // one for the program
    if (!resolver) {
        std::printf("no resolver: %s\n", resolver.error().message().c_str());
        return 1;
    }
    // [/make]

    auto listener = io::tcp_listener::bind(scheduler, io::address::loopback(0)).value();
    const io::address where = listener.local_address().value();
    io::address refusing;
    {
        const auto closed = io::tcp_listener::bind(scheduler, io::address::loopback(0)).value();
        refusing = closed.local_address().value();
    }
    auto server = fl::spawn(scheduler, serve(std::move(listener)));
    const bool is_right = fl::block_on(scheduler, show(*resolver, where, refusing));
    server.request_stop();
    server.get();
    return is_right ? 0 : 1;
}
