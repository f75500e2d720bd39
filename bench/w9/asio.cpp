// Boost.Asio: a steady_timer each; its coroutines on the same.
#include "support/asio_context.hpp"
#include "w9/timers.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace asio = boost::asio;

namespace {

class asio_timers {
public:
    static constexpr const char* name = "asio";

    explicit asio_timers(std::uint64_t workers) : context_{workers} {}

    class timer {
    public:
        explicit timer(asio_timers& at) : timer_{at.context_.get()} {}

        template <class Handler>
        void set(bench::time_point deadline, Handler handler) {
            timer_.expires_at(deadline);
            timer_.async_wait([handler](const boost::system::error_code&) { handler(); });
        }
        void cancel() { timer_.cancel(); }

    private:
        asio::steady_timer timer_;
    };

    template <class Handler>
    void spawn_sleeper(bench::time_point deadline, Handler handler) {
        asio::co_spawn(context_.get(), sleep(deadline, handler), asio::detached);
    }

    // A handler's timer may be destroyed while the handler runs.
    void settle() {}

private:
    template <class Handler>
    static asio::awaitable<void> sleep(bench::time_point deadline, Handler handler) {
        asio::steady_timer timer{co_await asio::this_coro::executor, deadline};
        co_await timer.async_wait(asio::use_awaitable);
        handler();
    }

    bench::asio_context context_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w9::main<asio_timers>(argc, argv); }
