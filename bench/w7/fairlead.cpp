// Fairlead: both tasks sleep until they are signalled, or until a channel has the token.
#include "w7/ping_pong.hpp"
#include "w8/tasks.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <array>

namespace fl = fairlead;

namespace {

using bench::measurement;
using bench::options;
using numbers = fl::channel<std::uint64_t>;

// A callback task that passes signals on, `left` times.
struct player : fl::callback_task {
    player()
        : fl::callback_task{
              [](fl::callback_task& self) { static_cast<player&>(self).run_step(); }} {}

    void run_step() {
        if (receive_signal()) {
            --left;
            other->signal();
        }
        if (left != 0) {
            home->post_wait(*this);
        } else {
            ended->count_down();
        }
    }

    fl::scheduler* home = nullptr;
    fl::basic_task* other = nullptr;
    std::uint64_t left = 0;
    std::latch* ended = nullptr;
};

// The first signal comes from here, and the last one comes back to the player that began.
void play_callbacks(fl::scheduler& home, std::uint64_t switches) {
    std::latch ended{2};
    std::array<player, 2> players;
    for (std::size_t i = 0; i != 2; ++i) {
        players[i].home = &home;
        players[i].other = &players[1 - i];
        players[i].left = switches / 2;
        players[i].ended = &ended;
    }
    for (player& each : players) home.post_wait(each);
    players[0].signal();
    ended.wait();
    home.drain();
}

fl::task<> play(std::array<fl::basic_task*, 2>& players, std::size_t mine, std::uint64_t left,
                std::latch& seated) {
    players[mine] = &co_await fl::current_task();
    seated.count_down();
    for (; left != 0; --left) {
        static_cast<void>(co_await fl::receive_signal());
        players[1 - mine]->signal();
    }
    // The last signal: no thread touches this task any more.
    static_cast<void>(co_await fl::receive_signal());
}

void play_coroutines(fl::scheduler& home, std::uint64_t switches) {
    std::latch seated{2};
    std::array<fl::basic_task*, 2> players{};
    auto first = fl::spawn(home, play(players, 0, switches / 2, seated));
    auto second = fl::spawn(home, play(players, 1, switches / 2, seated));
    seated.wait();
    players[0]->signal();
    first.get();
    players[1]->signal();
    second.get();
}

std::optional<measurement> measure(const options& asked) {
    fl::scheduler home{{.workers = static_cast<unsigned>(asked.workers)}};
    if (asked.name == "callback") {
        return bench::w7::warm_game(asked, [&](auto switches) { play_callbacks(home, switches); });
    }
    if (asked.name == "coroutine") {
        return bench::w7::warm_game(asked, [&](auto switches) { play_coroutines(home, switches); });
    }
    if (asked.name == "channel") {
        return bench::measure_sum(asked, [&](std::uint64_t count) {
            return bench::w8::play<numbers>(home, count, numbers::unbounded);
        });
    }
    return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(argc, argv, "W7", "fairlead", measure); }
