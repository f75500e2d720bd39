// W7, ping-pong: two tasks hand a token back and forth, `count` times in all; nanoseconds for one
// switch. Cases:
//
//     callback     two tasks of callbacks
//     coroutine    two coroutines
//     channel      two coroutines that send the token to each other by channels without a bound
//
// Fairlead's tasks sleep, and signal each other. The rivals here have no signals: the task with the
// token posts the other task, or a closure that resumes the other coroutine, which is the least
// that they can do. A tenth of the switches come before the measurement. The token of `channel` is
// a number, and the run is void if it did not count the switches. The case `ping_pong` of W8 is the
// same with channels of one place.
#pragma once

#include "support/options.hpp"
#include "support/result.hpp"

#include <array>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <latch>
#include <optional>

namespace bench::w7 {

/// The two that play, and how long.
template <class Runtime>
class game {
public:
    explicit game(Runtime& runtime) : runtime_{runtime} {}

    void play_callbacks(std::uint64_t switches) {
        std::latch ended{1};
        std::array<player, 2> players{};
        for (std::size_t i = 0; i != 2; ++i) {
            players[i].at = this;
            players[i].other = &players[1 - i];
        }
        left_ = switches;
        ended_ = &ended;
        runtime_.post(players[0]);
        ended.wait();
    }

    void play_coroutines(std::uint64_t switches) {
        std::latch ended{1};
        left_ = switches;
        ended_ = &ended;
        const std::array<coroutine, 2> players{play(*this, 0), play(*this, 1)};
        for (std::size_t i = 0; i != 2; ++i) players_[i] = players[i].frame;
        runtime_.post_one_shot([this] { players_[0].resume(); });
        ended.wait();
        for (const coroutine& each : players) each.frame.destroy();
    }

private:
    struct player : Runtime::item {
        player()
            : Runtime::item{[](typename Runtime::item& self) {
                  player& mine = static_cast<player&>(self);
                  mine.at->run_step(mine);
              }} {}

        game* at = nullptr;
        player* other = nullptr;
    };

    void run_step(player& mine) {
        if (left_-- == 0) {
            ended_->count_down();
        } else {
            runtime_.post(*mine.other);
        }
    }

    struct coroutine {
        struct promise_type {
            coroutine get_return_object() noexcept {
                return {std::coroutine_handle<promise_type>::from_promise(*this)};
            }
            std::suspend_always initial_suspend() noexcept { return {}; }
            std::suspend_always final_suspend() noexcept { return {}; }
            void return_void() noexcept {}
            void unhandled_exception() noexcept { std::terminate(); }
        };
        std::coroutine_handle<> frame;
    };

    // Hands the token to the other, and waits for it to come back. The post is the last touch.
    struct hand_over {
        game& at;
        std::size_t mine;

        bool await_ready() noexcept { return false; }
        void await_suspend(std::coroutine_handle<>) {
            if (at.left_-- == 0) {
                at.ended_->count_down();
            } else {
                at.runtime_.post_one_shot([other = at.players_[1 - mine]] { other.resume(); });
            }
        }
        void await_resume() noexcept {}
    };

    static coroutine play(game& at, std::size_t mine) {
        for (;;) co_await hand_over{at, mine};
    }

    Runtime& runtime_;
    std::uint64_t left_ = 0;  // of the task with the token
    std::latch* ended_ = nullptr;
    std::array<std::coroutine_handle<>, 2> players_{};
};

/// Plays with `play(switches)`, which returns when the token has come to rest.
template <class Play>
measurement warm_game(const options& asked, Play play) {
    play(asked.count / 10);
    const stopwatch watch;
    play(asked.count);
    return watch.per_item(asked.count);
}

template <class Runtime>
std::optional<measurement> measure(const options& asked) {
    Runtime runtime{asked.workers};
    game<Runtime> ours{runtime};
    if (asked.name == "callback") {
        return warm_game(asked, [&](std::uint64_t switches) { ours.play_callbacks(switches); });
    }
    if (asked.name == "coroutine") {
        return warm_game(asked, [&](std::uint64_t switches) { ours.play_coroutines(switches); });
    }
    return std::nullopt;
}

template <class Runtime>
int main(int argc, char** argv) {
    return run_main(argc, argv, "W7", Runtime::name, measure<Runtime>);
}

}  // namespace bench::w7
