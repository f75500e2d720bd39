#include <fairlead/dns/connect.hpp>

#include <fairlead/coro/with_scope.hpp>

#include <optional>
#include <utility>

namespace fairlead::dns {
namespace {

task<> feeds(resolver& by, io::address_feed& feed, std::string host, std::uint16_t port,
             time_point deadline, std::error_code& failure) {
    failure = co_await by.resolve_into(feed, std::move(host), port, deadline);
}

task<std::expected<io::tcp_stream, std::error_code>> connect_by(resolver& by,
                                                                io::connect_options options,
                                                                std::string host,
                                                                std::uint16_t port,
                                                                time_point deadline) {
    auto made = co_await connect(by, std::move(host), port, deadline, options);
    if (!made) co_return std::unexpected{made.error().code()};
    co_return std::move(*made);
}

}  // namespace

task<io::connect_result> connect(resolver& by, std::string host, std::uint16_t port,
                                 time_point deadline, io::connect_options options) {
    io::address_feed feed;
    std::error_code failure;  // why there is no address
    std::optional<io::connect_result> made;
    co_await with_scope([&](scope& queries) -> task<> {
        queries.spawn(feeds(by, feed, std::move(host), port, deadline, failure),
                      {.name = "dns connect"});
        made = co_await io::connect_any(feed, deadline, options);
        queries.request_stop(stopped_by::lost_race);
    });
    // The feed has ended without an address.
    const bool had_none =
        !*made && made->error().attempts().empty() &&
        made->error().code() == std::make_error_code(std::errc::address_not_available);
    if (had_none && failure) co_return std::unexpected{io::connect_error{failure}};
    co_return std::move(*made);
}

io::name_connector by_name(resolver& by, io::connect_options options) {
    return [&by, options](std::string host, std::uint16_t port, time_point deadline) {
        return connect_by(by, options, std::move(host), port, deadline);
    };
}

}  // namespace fairlead::dns
