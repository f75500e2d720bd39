// A process without rights asks one with rights to open a file, over a Unix socket.
#include <fairlead/fairlead.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <expected>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace fl = fairlead;
namespace io = fairlead::io;
using namespace std::chrono_literals;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span{text.data(), text.size()});
}

// [server]
// Opens the one file that it gives away, for a peer of the same user.
fl::task<> serve(io::unix_listener listener, std::string file) {
    for (;;) {
        auto peer = co_await listener.accept();
        if (!peer) co_return;  // asked to stop
        const auto known = peer->peer_credentials();
        if (!known || known->user != ::getuid()) continue;
        const fl::os::unique_fd opened{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
        const fl::time_point deadline = fl::clock::now() + 5s;
        // At least one byte carries the descriptor.
        if (opened.valid()) {
            const std::array<int, 1> passed{opened.get()};
            static_cast<void>(
                co_await peer->write_with_descriptors(bytes_of("+"), passed, deadline));
        } else {
            static_cast<void>(co_await peer->write_all(bytes_of("-"), deadline));
        }
    }
}
// [/server]

// [client]
fl::task<std::expected<io::file, std::error_code>> open_by(io::unix_address server) {
    const fl::time_point deadline = fl::clock::now() + 5s;
    auto stream = co_await io::unix_stream::connect(server, deadline);
    if (!stream) co_return std::unexpected{stream.error()};
    std::array<std::byte, 1> answer;
    std::array<fl::os::unique_fd, 1> passed;
    const auto came = co_await stream->read_with_descriptors(answer, passed, deadline);
    if (!came) co_return std::unexpected{came.error().error};
    if (came->descriptors != 1) {
        co_return std::unexpected{std::make_error_code(std::errc::permission_denied)};
    }
    co_return io::file::adopt(std::move(passed[0]));
}
// [/client]

fl::task<std::string> reads_by(io::unix_address server) {
    auto file = co_await open_by(server);
    if (!file) co_return file.error().message();
    std::array<char, 100> buffer;
    const auto size = co_await file->read_at(std::as_writable_bytes(std::span{buffer}), 0);
    co_return size ? std::string{buffer.data(), *size} : size.error().message();
}

}  // namespace

int main() {
    const auto folder = std::filesystem::temp_directory_path();
    const std::string unique = std::to_string(::getpid());
    const std::string secret = folder / ("fairlead-secret-" + unique);
    fl::scheduler home{{.workers = 2, .driver = std::make_unique<io::epoll_driver>()}};
    if (!fl::block_on(home, io::replace_file(secret, "for you alone"))) return EXIT_FAILURE;

    // [bind]
    const auto where = io::unix_address::path((folder / ("fairlead-" + unique)).string());
    io::listener_options options;
    options.file.permissions = 0600;    // only this user may connect
    options.file.replace_stale = true;  // what a server leaves that is killed
    auto listener = io::unix_listener::bind(home, *where, options);
    // [/bind]
    if (!listener) return EXIT_FAILURE;
    auto server = fl::spawn(home, serve(std::move(*listener), secret));
    const std::string text = fl::block_on(home, reads_by(*where));
    std::printf("%s\n", text.c_str());
    server.request_stop();
    server.get();
    std::filesystem::remove(secret);
    std::filesystem::remove(where->to_string() + ".lock");
    return text == "for you alone" ? EXIT_SUCCESS : EXIT_FAILURE;
}
