#include "postgres/hosts.hpp"

#include <arpa/inet.h>
#include <libpq-fe.h>
#include <netinet/in.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::postgres::detail {
namespace {

struct free_options {
    void operator()(PQconninfoOption* all) const noexcept { PQconninfoFree(all); }
};

// What the library would take for a name, if it is not in the string.
[[nodiscard]] std::string of_environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string{} : std::string{value};
}

[[nodiscard]] std::vector<std::string> divided(std::string_view list) {
    std::vector<std::string> parts;
    for (;;) {
        const std::size_t comma = list.find(',');
        parts.emplace_back(list.substr(0, comma));
        if (comma == list.npos) return parts;
        list.remove_prefix(comma + 1);
    }
}

[[nodiscard]] bool is_name(const std::string& host) noexcept {
    in_addr v4{};
    return !host.empty() && !host.starts_with('/') && !host.starts_with('@') &&
           !host.contains(':') && ::inet_pton(AF_INET, host.c_str(), &v4) != 1;
}

// Without the port; empty: no address of IP.
[[nodiscard]] std::string text_of(const io::address& from) {
    char text[INET6_ADDRSTRLEN] = {};
    if (from.is_unix()) return {};
    const sockaddr* const raw = from.data();
    const void* bytes = &reinterpret_cast<const sockaddr_in*>(raw)->sin_addr;
    if (from.is_v6()) bytes = &reinterpret_cast<const sockaddr_in6*>(raw)->sin6_addr;
    const char* const made =
        ::inet_ntop(from.is_v6() ? AF_INET6 : AF_INET, bytes, text, sizeof(text));
    return made == nullptr ? std::string{} : std::string{made};
}

struct hosts_and_ports {
    std::vector<std::string> hosts;
    std::vector<std::string> ports;  // of each
    std::size_t names = 0;
};

// No hosts: the library is to take the string as it is, also to say what is wrong with it.
[[nodiscard]] hosts_and_ports hosts_of(const std::string& conninfo) {
    const std::unique_ptr<PQconninfoOption, free_options> all{
        PQconninfoParse(conninfo.c_str(), nullptr)};
    if (all == nullptr) return {};
    const auto value = [&](std::string_view keyword, const char* environment) {
        for (const PQconninfoOption* each = all.get(); each->keyword != nullptr; ++each) {
            if (each->keyword == keyword && each->val != nullptr) return std::string{each->val};
        }
        return of_environment(environment);
    };
    if (!value("service", "PGSERVICE").empty() || !value("hostaddr", "PGHOSTADDR").empty()) {
        return {};
    }
    hosts_and_ports found{divided(value("host", "PGHOST")), divided(value("port", "PGPORT"))};
    if (found.ports.size() == 1) found.ports.resize(found.hosts.size(), found.ports.front());
    if (found.ports.size() != found.hosts.size()) return {};
    for (const std::string& each : found.hosts) found.names += is_name(each) ? 1 : 0;
    return found.names == 0 ? hosts_and_ports{} : found;
}

void add(host_lists& into, const std::string& host, const std::string& address,
         const std::string& port) {
    const char* const comma = into.host.empty() && into.port.empty() ? "" : ",";
    into.host += comma + host;
    into.hostaddr += comma + address;
    into.port += comma + port;
}

}  // namespace

task<result<std::optional<host_lists>>> resolve_hosts(const std::string& conninfo,
                                                      const name_resolver& by,
                                                      time_point deadline) {
    hosts_and_ports from = hosts_of(conninfo);
    if (from.names == 0) co_return std::optional<host_lists>{};
    host_lists made;
    std::size_t count = 0;
    std::optional<error> failure;
    for (std::size_t i = 0; i != from.hosts.size(); ++i) {
        const std::string host = from.hosts[i];
        std::string port = from.ports[i];
        if (port.empty()) port = "5432";
        if (!is_name(host)) {
            add(made, host, {}, port);
            ++count;
            continue;
        }
        std::uint16_t number = 0;
        std::from_chars(port.data(), port.data() + port.size(), number);
        // A name that hangs leaves time for the names behind it, and for the connection.
        const time_point now = clock::now();
        const time_point limit =
            deadline == never ? never : now + (deadline - now) / static_cast<int>(from.names-- + 1);
        auto asking = by(host, number, limit);
        const auto found = co_await std::move(asking);
        if (!found && found.error() == std::errc::operation_canceled) {
            co_return std::unexpected{error{found.error()}};
        }
        if (!found) {
            failure =
                error{errc::cannot_connect,
                      "the host name \"" + host + "\" has no address: " + found.error().message()};
            continue;
        }
        for (const io::address& each : *found) {
            const std::string address = text_of(each);
            if (address.empty()) continue;
            add(made, host, address, port);
            ++count;
        }
    }
    if (count != 0) co_return std::optional<host_lists>{std::move(made)};
    if (!failure) failure = error{errc::cannot_connect};
    co_return std::unexpected{std::move(*failure)};
}

}  // namespace fairlead::postgres::detail
