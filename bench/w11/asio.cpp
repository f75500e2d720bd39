// Boost.Asio: closures that post themselves again, and a coroutine that waits for a steady_timer.
#include "support/asio_context.hpp"
#include "w11/saturated.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace asio = boost::asio;

namespace {

asio::awaitable<void> sleep_often(bench::w11::sleeper& self) {
    asio::steady_timer timer{co_await asio::this_coro::executor};
    do {
        timer.expires_at(self.next_deadline());
        co_await timer.async_wait(asio::use_awaitable);
    } while (self.wake_up());
}

class asio_tasks {
public:
    static constexpr const char* name = "asio";
    static constexpr bool has_slices = false;

    explicit asio_tasks(std::uint64_t workers) : context_{workers} {}

    void spawn_busy(bench::w11::load& load) {
        asio::post(context_.get(), [this, &load] {
            if (load.step()) {
                spawn_busy(load);
            } else {
                load.leave();
            }
        });
    }
    void spawn_sleeper(bench::w11::sleeper& who) {
        asio::co_spawn(context_.get(), sleep_often(who), asio::detached);
    }

private:
    bench::asio_context context_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w11::main<asio_tasks>(argc, argv); }
