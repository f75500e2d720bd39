// A thread for each read at once, and no runtime: what the system takes.
#include "w17/files.hpp"

#include <cstddef>
#include <thread>
#include <vector>

namespace {

class thread_files {
public:
    static constexpr const char* name = "threads";
    using with_server = std::nullptr_t;

    explicit thread_files(const bench::w17::plan& how)
        : at_once_{how.at_once},
          fd_{bench::checked(
              ::open(how.path.c_str(), O_RDONLY | O_CLOEXEC | (how.past_cache ? O_DIRECT : 0)),
              "open")} {}

    void read_all(bench::w17::reads& all) {
        std::vector<std::jthread> threads;
        for (std::uint64_t i = 0; i != at_once_; ++i) {
            threads.emplace_back([&] {
                const bench::w17::block_room room;
                std::uint64_t block = 0;
                while (all.take(block)) {
                    const auto size = ::pread(fd_.get(), room.all().data(), room.all().size(),
                                              static_cast<off_t>(block * bench::w17::block_bytes));
                    all.came(size == bench::w17::block_bytes && room.has(block));
                }
            });
        }
    }

private:
    std::uint64_t at_once_;
    bench::unique_fd fd_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w17::main<thread_files>(argc, argv); }
