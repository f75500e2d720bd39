// Writes that a store has acknowledged survive the death of its process.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "savegames/sqlite_store.hpp"
#include "savegames/tests/support.hpp"

namespace savegames::crash_tests {
namespace {

constexpr std::uint64_t players = 20;
constexpr std::uint64_t acknowledged_wanted = 400;

struct acknowledgement {
    std::uint64_t player;
    std::uint64_t version;
    std::uint64_t checksum;
};

// The child process: writes without end, and reports each commit through the pipe, until it is
// killed.
[[noreturn]] void write_until_killed(const std::string& path, int pipe_end) {
    auto store = sqlite_store::open({.path = path});
    if (!store) ::_exit(1);
    for (std::uint64_t i = 0;; ++i) {
        const std::uint64_t player = i % players;
        save value = packed("{\"turn\":" + std::to_string(i) + "}");
        const std::uint64_t sum = value.checksum;
        auto acknowledge = [player, sum, pipe_end](std::expected<std::uint64_t, error> version) {
            if (!version) return;  // overloaded: the test writes faster than the disk
            const acknowledgement said{player, *version, sum};
            if (::write(pipe_end, &said, sizeof said) != sizeof said) ::_exit(2);
        };
        (*store)->put(key_of("p" + std::to_string(player)), {}, std::move(value), acknowledge);
    }
}

TEST(crash, nothing_acknowledged_is_lost) {
    const temporary_folder folder;
    const std::string path = folder / "saves.db";
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_until_killed(path, pipe[1]);
    ::close(pipe[1]);
    std::map<std::uint64_t, acknowledgement> last;
    acknowledgement said{};
    std::uint64_t count = 0;
    while (::read(pipe[0], &said, sizeof said) == sizeof said) {
        last[said.player] = said;
        if (++count == acknowledged_wanted) ::kill(child, SIGKILL);
    }
    ::close(pipe[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    ASSERT_GE(count, acknowledged_wanted);

    auto store = sqlite_store::open({.path = path});
    ASSERT_TRUE(store.has_value()) << store.error();
    for (const auto& [player, expected] : last) {
        const save read = get(**store, key_of("p" + std::to_string(player))).value();
        EXPECT_GE(read.version,
                  expected.version);  // later writes may be stored without an acknowledgement
        if (read.version == expected.version) {
            EXPECT_EQ(read.checksum, expected.checksum);
        }
        EXPECT_TRUE(unpack(read, 1000).has_value());
    }
}

}  // namespace
}  // namespace savegames::crash_tests
