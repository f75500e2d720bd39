// Two threads that read a byte from one pipe and write it to another: what a switch costs in the
// kernel. It stands beside each case, with a twentieth of the switches.
#include "w7/ping_pong.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

using bench::measurement;
using bench::options;

class byte_pipe {
public:
    byte_pipe() { check(::pipe(ends_.data()) == 0); }
    byte_pipe(const byte_pipe&) = delete;
    byte_pipe& operator=(const byte_pipe&) = delete;
    ~byte_pipe() {
        for (const int end : ends_) ::close(end);
    }

    void send() { check(::write(ends_[1], "x", 1) == 1); }
    void receive() {
        char byte = 0;
        check(::read(ends_[0], &byte, 1) == 1);
    }

private:
    static void check(bool well) {
        if (well) return;
        std::perror("pipe");
        std::exit(1);
    }

    std::array<int, 2> ends_{};
};

void play(std::uint64_t switches) {
    std::array<byte_pipe, 2> pipes;
    const auto pass_on = [&pipes, switches](std::size_t mine) {
        for (std::uint64_t i = 0; i != switches / 2; ++i) {
            pipes[mine].receive();
            pipes[1 - mine].send();
        }
    };
    std::thread other{pass_on, 1};
    pipes[0].send();
    pass_on(0);
    other.join();
}

std::optional<measurement> measure(const options& asked) {
    options fewer = asked;  // each takes the kernel some microseconds
    fewer.count = std::max<std::uint64_t>(asked.count / 20, 20);
    return bench::w7::warm_game(fewer, play);
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(argc, argv, "W7", "pipes", measure); }
