// A child's output: another program as a call, as a filter, and as something to end in time.
#include <fairlead/fairlead.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace fl = fairlead;
namespace io = fairlead::io;
using namespace std::chrono_literals;

namespace {

// [output]
fl::task<std::expected<std::string, std::error_code>> sorted(std::string lines) {
    const std::vector<std::string> command{"sort", "-n"};
    io::output_options options;
    options.input = std::move(lines);
    options.limit = 1 << 20;                     // of each output; more is an error
    options.process.environment = {"LC_ALL=C"};  // beside the variables of this process
    const auto said = co_await io::output_of(command, std::move(options), fl::clock::now() + 10s);
    if (!said) co_return std::unexpected{said.error()};  // no such program, late, stopped
    if (!said->status.succeeded()) {
        std::printf("sort: %s: %s", said->status.to_string().c_str(), said->err.c_str());
        co_return std::unexpected{std::make_error_code(std::errc::io_error)};
    }
    co_return said->out;
}
// [/output]

// [talk]
fl::task<std::expected<std::string, std::error_code>> ask(io::process& child, std::string text) {
    const fl::time_point deadline = fl::clock::now() + 5s;
    const auto sent = co_await child.in().write_all(std::as_bytes(std::span{text}), deadline);
    if (!sent) co_return std::unexpected{sent.error()};  // broken_pipe: it does not read any more
    std::array<char, 512> buffer;
    const auto size =
        co_await child.out().read_some(std::as_writable_bytes(std::span{buffer}), deadline);
    if (!size) co_return std::unexpected{size.error()};
    co_return std::string{buffer.data(), *size};
}
// [/talk]

// [end]
fl::task<std::expected<io::exit_status, std::error_code>> end(io::process& child) {
    child.in().close();  // a filter ends with its input
    const auto ended = co_await child.wait(fl::clock::now() + 1s);
    if (ended || ended.error() != std::errc::timed_out) co_return ended;
    co_return co_await fl::shielded(child.terminate(2s));  // SIGTERM, two seconds, SIGKILL
}
// [/end]

fl::task<bool> shows_all() {
    const auto text = co_await sorted("10\n9\n100\n");
    if (text != "9\n10\n100\n") co_return false;
    std::printf("%s", text->c_str());

    // [start]
    const std::vector<std::string> command{"cat"};
    io::process_options options;
    options.in = io::child_stream::pipe();
    options.out = io::child_stream::pipe();
    options.group = io::child_group::own;  // signals reach what it starts, too
    auto child = co_await io::process::spawn(command, options);
    if (!child) co_return false;
    // [/start]
    const auto answer = co_await ask(*child, "hello\n");
    if (answer != "hello\n") co_return false;
    const auto ended = co_await end(*child);
    co_return ended && ended->succeeded();
}

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 2, .driver = std::make_unique<io::epoll_driver>()}};
    return fl::spawn(scheduler, shows_all()).get() ? 0 : 1;
}
