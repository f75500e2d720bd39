// Calls that block: from coroutines, from callbacks, and by mistake.
#include <fairlead/diagnostics/enable_stacks.hpp>
#include <fairlead/fairlead.hpp>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <semaphore>
#include <string>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

// [coroutine]
std::string read_whole(const std::string& path) {
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

fl::task<std::size_t> size_of(std::string path) {
    // The task sleeps, and its worker runs other tasks, while another thread reads.
    const std::string text = co_await fl::blocking([&] { return read_whole(path); });
    co_return text.size();
}
// [/coroutine]

}  // namespace

int main() {
    // [stacks]
    fl::diagnostics::enable_stacks();  // in the library fairlead::diagnostics
    // [/stacks]
    fl::scheduler scheduler{{
        .workers = 1,
        .blocked_after = 5ms,  // with several it is the default
        // [report]
        .on_blocked = [](const fl::blocked_step& step) { step.print(stdout); },
        // [/report]
    }};
    const std::size_t size = fl::block_on(scheduler, size_of("/proc/version"));
    std::printf("%zu bytes about the kernel\n", size);

    // [callback]
    // The first task blocks its thread. A spare thread takes the slot and runs the second task.
    std::binary_semaphore next_has_run{0};
    scheduler.post([&] { fl::block_in_place([&] { next_has_run.acquire(); }); });
    scheduler.post([&] { next_has_run.release(); });
    scheduler.drain();
    // [/callback]

    // This step does not say that it blocks; the monitor sees it, and the other task runs.
    scheduler.post([&] { next_has_run.acquire(); });
    scheduler.post([&] { next_has_run.release(); });
    scheduler.drain();
    return size != 0 ? 0 : 1;
}
