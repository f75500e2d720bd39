// Boost.Asio: a coroutine that starts another one with co_spawn and waits for it.
#include "support/asio_context.hpp"
#include "w22/waiting.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

namespace asio = boost::asio;

namespace {

using bench::measurement;
using bench::options;

asio::awaitable<std::uint64_t> gives(std::uint64_t number) { co_return number; }

asio::awaitable<std::uint64_t> spawns(asio::io_context& home, std::uint64_t count) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i != count; ++i) {
        sum += co_await asio::co_spawn(home, gives(i), asio::use_awaitable);
    }
    co_return sum;
}

std::optional<measurement> measure(const options& asked) {
    if (asked.name != "spawn") return std::nullopt;
    bench::asio_context context{asked.workers};
    return bench::measure_sum(asked, [&](std::uint64_t count) {
        return asio::co_spawn(context.get(), spawns(context.get(), count), asio::use_future).get();
    });
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(argc, argv, "W22", "asio", measure); }
