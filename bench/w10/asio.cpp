// Boost.Asio: coroutines that wait for a steady_timer. To be woken, a coroutine waits for a timer
// that never expires, and the waker cancels the timer.
#include "support/asio_context.hpp"
#include "w10/sleeping.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace asio = boost::asio;

namespace {

asio::awaitable<void> sleep_until(asio::steady_timer::time_point deadline) {
    asio::steady_timer timer{co_await asio::this_coro::executor, deadline};
    bench::tally::add();
    co_await timer.async_wait(asio::use_awaitable);
}

class asio_sleepers {
public:
    static constexpr const char* name = "asio";

    explicit asio_sleepers(std::uint64_t workers) : context_{workers} {}

    void spawn_parked() { spawn(asio::steady_timer::time_point::max()); }
    void spawn_asleep() { spawn(asio::steady_timer::clock_type::now() + std::chrono::hours{1}); }

private:
    void spawn(asio::steady_timer::time_point deadline) {
        asio::co_spawn(context_.get(), sleep_until(deadline), asio::detached);
    }

    bench::asio_context context_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w10::main<asio_sleepers>(argc, argv); }
