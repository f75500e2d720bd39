// Posts work, and waits until all of it is done.
#include <fairlead/fairlead.hpp>

#include <array>
#include <cstddef>
#include <cstdio>

namespace fl = fairlead;

int main() {
    // [hello]
    std::array<std::size_t, 5> squares{};
    fl::scheduler scheduler{{.workers = 2}};

    for (std::size_t i = 0; i != squares.size(); ++i) {
        scheduler.post([&squares, i] { squares[i] = i * i; });  // from any thread; never blocks
    }
    scheduler.drain();  // nothing is queued, runs or waits any more; what they wrote is visible
    // [/hello]

    for (const std::size_t square : squares) std::printf("%zu ", square);
    std::puts("");

    // [more]
    // A step may post more work; drain waits for that too.
    scheduler.post([&scheduler] {
        std::puts("a step that posts another");
        scheduler.post([] { std::puts("the other"); });
    });
    scheduler.drain();
    // [/more]
    return squares.back() == 16 ? 0 : 1;
}
