#include <fairlead/redis/connector.hpp>

#include <fairlead/io/tcp.hpp>
#include <fairlead/io/unix.hpp>

#include <utility>

namespace fairlead::redis {
namespace {

task<connected> connect_by_tcp(io::address server, time_point deadline) {
    auto stream = co_await io::tcp_stream::connect(server, deadline);
    if (!stream) co_return std::unexpected{stream.error()};
    co_return any_stream{std::move(*stream)};
}

task<connected> connect_by_file(std::string path, time_point deadline) {
    const auto where = io::unix_address::path(path);
    if (!where) co_return std::unexpected{where.error()};
    auto stream = co_await io::unix_stream::connect(*where, deadline);
    if (!stream) co_return std::unexpected{stream.error()};
    co_return any_stream{std::move(*stream)};
}

task<connected> connect_by_name(const io::name_connector& connects, std::string host,
                                std::uint16_t port, time_point deadline) {
    auto stream = co_await connects(std::move(host), port, deadline);
    if (!stream) co_return std::unexpected{stream.error()};
    co_return any_stream{std::move(*stream)};
}

}  // namespace

connector connect_tcp(io::address server) {
    return [server](time_point deadline) { return connect_by_tcp(server, deadline); };
}

connector connect_tcp(io::name_connector connects, std::string host, std::uint16_t port) {
    return [by = std::move(connects), to = std::move(host), port](time_point deadline) {
        return connect_by_name(by, to, port, deadline);
    };
}

connector connect_unix(std::string path) {
    return
        [path = std::move(path)](time_point deadline) { return connect_by_file(path, deadline); };
}

}  // namespace fairlead::redis
