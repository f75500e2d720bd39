#include <fairlead/http/server.hpp>

#include <fairlead/coro/awaits.hpp>
#include <fairlead/detail/base/assert.hpp>

#include "http/server_connection.hpp"

#include <new>

namespace fairlead::http::detail {

task<bool> serve_transport(transport& connection, const handler& handler,
                           const server_options& options, connection_monitor& monitor) {
    FAIRLEAD_ASSERT(field_list::is_value(options.server), "server_options::server is no field");
    basic_task& self = co_await current_task();
    server_connection served{connection, handler, options, monitor, self};
    try {
        co_await served.run();
        co_return false;
    } catch (const std::bad_alloc&) {
        // The answer allocates nothing: see `serve_stream`.
    }
    co_return served.can_answer();
}

}  // namespace fairlead::http::detail
