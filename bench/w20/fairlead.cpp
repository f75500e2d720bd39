// Fairlead: one coroutine with a udp_socket.
#include "w20/echo.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/io/udp.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace fl = fairlead;
namespace io = fairlead::io;

namespace {

fl::task<> echo(io::udp_socket by) {
    std::vector<std::byte> room(bench::w20::datagram_max);
    for (;;) {
        const auto question = co_await by.receive_from(room);
        if (!question) co_return;
        if (!co_await by.send_to(question->data(), question->from)) co_return;
    }
}

// In buffers of `size` bytes.
fl::task<> echo_many(io::udp_socket by, std::size_t count, std::size_t size) {
    std::vector<std::byte> room(count * size);
    std::vector<io::arrived_datagram> questions(count);
    std::vector<io::datagram> answers(count);
    for (std::size_t i = 0; i != count; ++i) {
        questions[i].buffer = std::span{room}.subspan(i * size, size);
    }
    for (;;) {
        const auto come = co_await by.receive(questions);
        if (!come) co_return;
        for (std::size_t i = 0; i != *come; ++i) {
            const io::arrived_datagram& each = questions[i];
            answers[i] = {.data = each.data(),
                          .to = &each.from,
                          .segment = static_cast<std::uint16_t>(each.segment)};
        }
        if (!co_await by.send(std::span{answers}.first(*come))) co_return;
    }
}

class fairlead_server {
public:
    static constexpr const char* name = "fairlead";

    explicit fairlead_server(std::string_view how)
        : scheduler_{{.workers = 1, .driver = std::make_unique<io::epoll_driver>()}},
          serving_{fl::spawn(scheduler_, serve(how))} {}
    fairlead_server(const fairlead_server&) = delete;
    fairlead_server& operator=(const fairlead_server&) = delete;
    ~fairlead_server() {
        serving_.request_stop();
        serving_.get();
    }

    [[nodiscard]] std::uint16_t port() const { return port_; }

private:
    fl::task<> serve(std::string_view how) {
        const bool joins = how == "segments";
        const io::udp_options options{.receive_buffer = bench::w20::room_bytes, .gro = joins};
        auto socket = io::udp_socket::bind(scheduler_, io::address::loopback(0), options).value();
        port_ = socket.local_address().value().port();
        if (how == "echo") return echo(std::move(socket));
        if (joins) return echo_many(std::move(socket), 1, 1 << 16);
        return echo_many(std::move(socket), bench::w20::batch_max, bench::w20::datagram_max);
    }

    fl::scheduler scheduler_;
    std::uint16_t port_ = 0;
    fl::join_handle<void> serving_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w20::main<fairlead_server>(argc, argv); }
