// The events of a descriptor that the test writes: halves of moves in different reads, and what
// comes between them.
#include "io/inotify_queue.hpp"

#include <fairlead/io/file_watch.hpp>
#include <fairlead/os/unique_fd.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace fairlead::io::inotify_queue_tests {
namespace {

using namespace std::chrono_literals;
using kind = file_event::kind;

struct both_ends {
    os::unique_fd to_read;
    os::unique_fd to_write;
};

both_ends made_pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    return {os::unique_fd{ends[0]}, os::unique_fd{ends[1]}};
}

class inotify_queue_test : public testing::Test {
protected:
    // As the kernel writes it: the name is filled up with null bytes.
    void tell(int watch, std::uint32_t mask, std::uint32_t cookie = 0, std::string_view name = {}) {
        const std::size_t room = name.empty() ? 0 : (name.size() / 16 + 1) * 16;
        const inotify_event head{
            .wd = watch, .mask = mask, .cookie = cookie, .len = static_cast<std::uint32_t>(room)};
        std::string bytes(sizeof(head) + room, '\0');
        std::memcpy(bytes.data(), &head, sizeof(head));
        bytes.replace(sizeof(head), name.size(), name);
        ASSERT_EQ(::write(pipe_.to_write.get(), bytes.data(), bytes.size()), std::ssize(bytes));
    }
    file_event event() {
        auto taken = queue().take(now);
        EXPECT_TRUE(taken.event);
        return taken.event ? *taken.event : file_event{};
    }
    // No event; until when.
    time_point none() {
        const auto taken = queue().take(now);
        EXPECT_FALSE(taken.event);
        EXPECT_EQ(taken.error, 0);
        return taken.until;
    }
    inotify_queue& queue() { return queue_; }

    time_point now{1s};

private:
    both_ends pipe_ = made_pipe();
    inotify_queue queue_{pipe_.to_read.get()};
};

TEST_F(inotify_queue_test, nothing_is_told_of_an_empty_one) { EXPECT_EQ(none(), never); }

TEST_F(inotify_queue_test, the_halves_of_a_move_may_come_in_two_reads) {
    tell(1, IN_MOVED_FROM, 7, "one");
    EXPECT_EQ(none(), now + file_watch::move_patience);
    now += 1ms;
    EXPECT_EQ(none(), now - 1ms + file_watch::move_patience);  // since it was met first
    tell(2, IN_MOVED_TO, 7, "two");
    const file_event seen = event();
    EXPECT_EQ(seen.what, kind::moved);
    EXPECT_EQ(seen.from, watched_id{1});
    EXPECT_EQ(seen.from_name, "one");
    EXPECT_EQ(seen.where, watched_id{2});
    EXPECT_EQ(seen.name, "two");
    EXPECT_EQ(none(), never);
}

TEST_F(inotify_queue_test, events_of_other_threads_may_be_between_the_halves) {
    tell(1, IN_MOVED_FROM, 7, "one");
    tell(1, IN_MOVED_FROM, 8, "three");
    tell(1, IN_CREATE, 0, "other");
    tell(2, IN_MOVED_TO, 8, "four");
    EXPECT_EQ(none(), now + file_watch::move_patience);
    tell(2, IN_MOVED_TO, 7, "two");
    EXPECT_EQ(event().name, "two");
    EXPECT_EQ(event().name, "four");
    EXPECT_EQ(event().what, kind::created);
    EXPECT_EQ(none(), never);
}

TEST_F(inotify_queue_test, a_half_that_comes_too_late_is_a_move_of_its_own) {
    tell(1, IN_MOVED_FROM, 7, "one");
    tell(1, IN_CREATE, 0, "other");
    const time_point until = none();
    now = until - 1ns;
    EXPECT_EQ(none(), until);
    now = until;
    EXPECT_EQ(event().what, kind::moved_out);
    tell(2, IN_MOVED_TO, 7, "two");
    EXPECT_EQ(event().what, kind::created);
    EXPECT_EQ(event().what, kind::moved_in);
    // The next first half waits as long as the one before.
    tell(1, IN_MOVED_FROM, 9, "three");
    EXPECT_EQ(none(), now + file_watch::move_patience);
}

// So many events behind the first half say that there is no second one.
TEST_F(inotify_queue_test, a_half_does_not_wait_behind_many_events) {
    tell(1, IN_MOVED_FROM, 7, "one");
    for (std::size_t i = 0; i != inotify_queue::events_between_max - 1; ++i) tell(1, IN_CREATE);
    EXPECT_EQ(none(), now + file_watch::move_patience);
    tell(1, IN_CREATE);
    EXPECT_EQ(event().what, kind::moved_out);
    for (std::size_t i = 0; i != inotify_queue::events_between_max; ++i) {
        EXPECT_EQ(event().what, kind::created);
    }
    EXPECT_EQ(none(), never);
}

TEST_F(inotify_queue_test, a_half_does_not_wait_when_the_buffer_is_full) {
    const std::string longest(255, 'x');
    tell(1, IN_MOVED_FROM, 7, longest);
    for (int i = 0; i != 59; ++i) tell(1, IN_CREATE, 0, longest);
    EXPECT_EQ(event().what, kind::moved_out);
    for (int i = 0; i != 59; ++i) EXPECT_EQ(event().name, longest);
    EXPECT_EQ(none(), never);
}

TEST_F(inotify_queue_test, what_another_event_says_is_not_told_twice) {
    tell(1, IN_UNMOUNT);
    tell(1, IN_IGNORED);
    tell(-1, IN_Q_OVERFLOW);
    tell(1, IN_MOVED_TO | IN_ISDIR, 3, "folder");
    EXPECT_EQ(event().what, kind::ended);
    const file_event lost = event();
    EXPECT_EQ(lost.what, kind::overflow);
    EXPECT_EQ(lost.where, watched_id::none);
    const file_event folder = event();
    EXPECT_TRUE(folder.is_folder);
    EXPECT_EQ(folder.what, kind::moved_in);
    EXPECT_EQ(none(), never);
}

TEST_F(inotify_queue_test, an_error_is_told_and_nothing_was_taken) {
    tell(1, IN_CREATE, 0, "one");
    EXPECT_EQ(queue().forget(watched_id{1}), EINVAL);  // a pipe has no watches
    EXPECT_EQ(event().name, "one");
    inotify_queue closed{-1};
    EXPECT_EQ(closed.take(now).error, EBADF);
}

}  // namespace
}  // namespace fairlead::io::inotify_queue_tests
