// Settings that are read again when their file changes, however it changes: written in place, or
// replaced by another file.
#include <fairlead/fairlead.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace fl = fairlead;
namespace io = fairlead::io;
using namespace std::chrono_literals;

namespace {

// [matters]
// Whether the file `name` may have another content after the event.
bool matters(const io::file_event& event, const std::string& name) {
    switch (event.what) {
        case io::file_event::kind::written:   // in place
        case io::file_event::kind::moved:     // another file has taken its name
        case io::file_event::kind::moved_in:  // the same, from elsewhere
            return event.name == name;
        case io::file_event::kind::overflow:  // any file may have changed
            return true;
        default:
            return false;
    }
}
// [/matters]

// [follow]
// Sends the text of `file`, and then each new one. Ends at a stop, or when the folder is gone.
fl::task<std::error_code> follow(io::file_watch changes, std::filesystem::path file,
                                 fl::channel<std::string>& settings) {
    const auto folder = co_await changes.add(file.parent_path());
    if (!folder) co_return folder.error();
    std::string last;
    for (;;) {
        // The folder is watched already, so a change that this read misses has an event.
        auto text = co_await io::read_file(file, 1 << 20);
        if (text && *text != last) {
            last = *text;
            const auto sent = co_await settings.send(std::move(*text));
            if (!sent) co_return std::make_error_code(std::errc::operation_canceled);
        }  // without a readable file the settings of before stay
        for (;;) {
            const auto event = co_await changes.next();
            if (!event) co_return event.error();
            if (event->what == io::file_event::kind::ended) {
                co_return std::make_error_code(std::errc::no_such_file_or_directory);
            }
            if (matters(*event, file.filename())) break;
        }
    }
}
// [/follow]

// A tool may write in place, or replace the file.
void write_in_place(const std::filesystem::path& file, const std::string& text) {
    std::ofstream{file} << text;
}
void replace(const std::filesystem::path& file, const std::string& text) {
    write_in_place(file.string() + ".tmp", text);
    std::filesystem::rename(file.string() + ".tmp", file);
}

fl::task<bool> are_told(fl::channel<std::string>& settings, std::filesystem::path file) {
    const fl::time_point deadline = fl::clock::now() + 10s;
    for (int i = 0; i != 3; ++i) {
        const std::string text = "level = " + std::to_string(i) + "\n";
        if (i == 1) write_in_place(file, text);
        if (i == 2) replace(file, text);
        for (;;) {
            const auto seen = co_await settings.receive(deadline);
            if (!seen) co_return false;
            std::printf("settings: %s", seen->c_str());
            if (*seen == text) break;
        }
    }
    co_return true;
}

}  // namespace

int main() {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("fairlead-reload-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    const std::filesystem::path file = folder / "service.toml";
    write_in_place(file, "level = 0\n");

    fl::scheduler scheduler{{.workers = 2, .driver = std::make_unique<io::epoll_driver>()}};
    fl::channel<std::string> settings{1};
    // [start]
    auto changes = io::file_watch::make(io::epoll_driver::of(scheduler));
    if (!changes) {
        std::printf("cannot watch files: %s\n", changes.error().message().c_str());
        return EXIT_FAILURE;
    }
    auto following = fl::spawn(scheduler, follow(std::move(*changes), file, settings));
    // [/start]
    const bool is_right = fl::block_on(scheduler, are_told(settings, file));
    following.request_stop();
    const std::error_code ended = following.get();
    std::filesystem::remove_all(folder);
    return is_right && ended == std::errc::operation_canceled ? EXIT_SUCCESS : EXIT_FAILURE;
}
