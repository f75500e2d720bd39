// Compares where a thread waits in the kernel: by its own record, and by its stack.
#include "diagnostics/blocked_stack_reader.hpp"

#include <fairlead/detail/os/thread.hpp>

#include "diagnostics/frame_table.hpp"
#include "diagnostics/stacks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <alloca.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <ctime>
#include <mutex>
#include <span>
#include <thread>

namespace fairlead::diagnostics::blocked_stack_tests {
namespace {

using test::return_addresses;

// An event that a thread waits for, in several ways.
struct event {
    event() { EXPECT_EQ(::pipe(ends.data()), 0); }
    event(const event&) = delete;
    event& operator=(const event&) = delete;
    ~event() {
        for (const int each : ends) ::close(each);
    }

    void happen() {
        {
            std::lock_guard lock{mutex};
            happened = 1;
        }
        changed.notify_all();
        ::syscall(SYS_futex, &happened, FUTEX_WAKE_PRIVATE, INT_MAX);
        EXPECT_EQ(::write(ends[1], "x", 1), 1);
    }

    std::array<int, 2> ends{};
    std::mutex mutex;
    std::condition_variable changed;
    std::atomic<unsigned> happened{0};
    return_addresses noted;
    std::atomic<int> thread_id{0};
};

struct in_read {
    [[gnu::always_inline]] static inline void wait(event& for_what) {
        char byte = 0;
        EXPECT_EQ(::read(for_what.ends[0], &byte, 1), 1);
    }
};

struct in_poll {
    [[gnu::always_inline]] static inline void wait(event& for_what) {
        pollfd fd{for_what.ends[0], POLLIN, 0};
        EXPECT_EQ(::poll(&fd, 1, -1), 1);
    }
};

struct in_futex {
    [[gnu::always_inline]] static inline void wait(event& for_what) {
        while (for_what.happened == 0) {
            ::syscall(SYS_futex, &for_what.happened, FUTEX_WAIT_PRIVATE, 0, nullptr);
        }
    }
};

struct in_sleep {
    [[gnu::always_inline]] static inline void wait(event& for_what) {
        const timespec time{.tv_sec = 0, .tv_nsec = 1'000'000};
        while (for_what.happened == 0) ::nanosleep(&time, nullptr);
    }
};

struct in_condition {
    [[gnu::always_inline]] static inline void wait(event& for_what) {
        std::unique_lock lock{for_what.mutex};
        for_what.changed.wait(lock, [&] { return for_what.happened != 0; });
    }
};

// How the functions keep their frames.
enum class frame : std::uint8_t {
    plain,
    of_any_size,  // by a frame pointer, whatever the compiler is told
    aligned,
    large,  // more than the copied part of a stack
};

constexpr std::size_t size_of(frame kind) {
    return kind == frame::large ? 128 * 1024 : kind == frame::plain ? 8 : 128;
}

template <class Wait, frame Kind, std::size_t Level>
[[gnu::noinline]] void function(event& for_what) {
    FAIRLEAD_TEST_NOTE_RETURN(for_what.noted, Level);
    alignas(Kind == frame::aligned ? 128 : 8) std::array<char, size_of(Kind)> memory;
    test::use(memory.data());
    if constexpr (Kind == frame::of_any_size) {
        const std::size_t size = 100 + static_cast<std::size_t>(::getpid() % 10);
        test::use(std::memset(::alloca(size), 0, size));
    }
    if constexpr (Level == 0) {
        Wait::wait(for_what);
    } else {
        function<Wait, Kind, Level - 1>(for_what);
    }
    test::use(memory.data());
}

constexpr std::size_t outermost = return_addresses::depth - 1;

using stack_frames = std::array<void*, 64>;

std::size_t frames_of(int thread_id, std::span<void*> frames) {
    const blocked_stack_reader reader;
    sched::stack_copy stack;
    reader.copy(thread_id, stack);
    return reader.unwind(stack, frames);
}

// Repeats the call until it returns a stack: the thread may not wait yet, or may run sometimes.
std::span<void* const> stack_of(const std::atomic<int>& thread_id, stack_frames& frames) {
    std::size_t count = 0;
    test::await([&] {
        count = frames_of(thread_id, frames);
        return count != 0;
    });
    return std::span{frames}.first(count);
}

// The function that contains this code.
std::uintptr_t function_at(const void* code) {
    frame_entry entry{[](std::uintptr_t from, std::span<std::byte> to) noexcept {
        std::memcpy(to.data(), reinterpret_cast<const void*>(from), to.size());
        return true;
    }};
    return entry.find(reinterpret_cast<std::uintptr_t>(code) - 1) ? entry.function() : 0;
}

template <class Wait>
class BlockedStack : public testing::Test {
protected:
    void SetUp() override {
        if (!test::system_tells_stacks()) GTEST_SKIP() << "the system does not tell";
    }

    // The stack of a thread that waits in functions of this kind.
    template <frame Kind, class Look>
    void look_at(Look look) {
        event awaited;
        std::jthread thread{[&] {
            awaited.thread_id = os::thread_id();
            function<Wait, Kind, outermost>(awaited);
        }};
        test::await([&] { return awaited.thread_id != 0; });
        stack_frames frames;
        std::span<void* const> stack;
        // The thread may have been seen in another call before.
        test::await([&] {
            stack = stack_of(awaited.thread_id, frames);
            return look(stack, awaited);
        });
        awaited.happen();
    }

    template <frame Kind>
    void expect_all_calls() {
        look_at<Kind>([](std::span<void* const> stack, const event& awaited) {
            const std::size_t at = awaited.noted.find_in(stack);
            if (at == stack.size()) return false;
            EXPECT_GE(at, 2U);  // the innermost function, and the call of the system
            EXPECT_EQ(function_at(stack[at - 1]),
                      reinterpret_cast<std::uintptr_t>(&function<Wait, Kind, 0>));
            EXPECT_GT(stack.size(), at + return_addresses::depth);  // what has started the thread
            return true;
        });
    }

    test::watchdog guard_;
};

using waits = testing::Types<in_read, in_poll, in_futex, in_sleep, in_condition>;
TYPED_TEST_SUITE(BlockedStack, waits);

TYPED_TEST(BlockedStack, HasAllCalls) { this->template expect_all_calls<frame::plain>(); }

TYPED_TEST(BlockedStack, HasCallsOfFunctionsWithAFramePointer) {
    this->template expect_all_calls<frame::of_any_size>();
}

TYPED_TEST(BlockedStack, HasCallsOfAlignedFunctions) {
    this->template expect_all_calls<frame::aligned>();
}

// The result is shorter, and otherwise the same.
TYPED_TEST(BlockedStack, EndsWhereTheCopyEnds) {
    this->template look_at<frame::large>([](std::span<void* const> stack, const event&) {
        const auto innermost =
            reinterpret_cast<std::uintptr_t>(&function<TypeParam, frame::large, 0>);
        if (std::ranges::find(stack, innermost, function_at) == stack.end()) return false;
        EXPECT_EQ(function_at(stack.back()), innermost);
        return true;
    });
}

class BlockedStackOf : public testing::Test {
protected:
    static std::size_t count_of(int id) {
        stack_frames frames;
        return frames_of(id, frames);
    }

    test::watchdog guard_;
};

TEST_F(BlockedStackOf, AThreadThatRunsIsEmpty) {
    std::atomic<int> id{0};
    std::atomic<bool> over{false};
    std::jthread thread{[&] {
        id = os::thread_id();
        while (!over) test::use(&over);
    }};
    test::await([&] { return id != 0; });
    for (int i = 0; i != 100; ++i) EXPECT_EQ(count_of(id), 0U);
    EXPECT_EQ(count_of(os::thread_id()), 0U);
    over = true;
}

TEST_F(BlockedStackOf, NoThreadIsEmpty) {
    for (const int id : {0, -1, INT_MAX, INT_MIN}) EXPECT_EQ(count_of(id), 0U);
}

TEST_F(BlockedStackOf, AnotherProcessIsEmpty) { EXPECT_EQ(count_of(::getppid()), 0U); }

TEST_F(BlockedStackOf, IsCutToWhatThereIsRoomFor) {
    if (!test::system_tells_stacks()) GTEST_SKIP() << "the system does not tell";
    event awaited;
    std::jthread thread{[&] {
        awaited.thread_id = os::thread_id();
        function<in_read, frame::plain, outermost>(awaited);
    }};
    const blocked_stack_reader reader;
    stack_frames all;
    std::size_t count = 0;
    test::await([&] {
        sched::stack_copy stack;
        reader.copy(awaited.thread_id, stack);
        count = reader.unwind(stack, all);
        if (count < 4) return false;
        for (std::size_t size = 0; size != count; ++size) {
            stack_frames some{};
            EXPECT_EQ(reader.unwind(stack, std::span{some}.first(size)), size);
            EXPECT_TRUE(
                std::ranges::equal(std::span{some}.first(size), std::span{all}.first(size)));
        }
        return true;
    });
    awaited.happen();
}

// The thread waits in a signal handler. The result also has the interrupted functions.
event* handled = nullptr;

TEST_F(BlockedStackOf, AThreadInAHandlerOfASignal) {
    if (!test::system_tells_stacks()) GTEST_SKIP() << "the system does not tell";
    struct in_loop {
        [[gnu::always_inline]] static inline void wait(event& for_what) {
            for_what.thread_id = os::thread_id();
            while (for_what.happened == 0) test::use(&for_what);
        }
    };
    event awaited;
    handled = &awaited;
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = [](int) { in_read::wait(*handled); };
    ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
    std::thread thread{[&] { function<in_loop, frame::plain, outermost>(awaited); }};
    test::await([&] { return awaited.thread_id != 0; });
    ASSERT_EQ(::pthread_kill(thread.native_handle(), SIGUSR1), 0);
    stack_frames frames;
    test::await([&] {
        const auto stack = stack_of(awaited.thread_id, frames);
        return awaited.noted.find_in(stack) != stack.size();
    });
    awaited.happen();
    thread.join();
    ::sigaction(SIGUSR1, &before, nullptr);
}

// The stack of a running thread, which enters and leaves system calls at several depths.
TEST_F(BlockedStackOf, AThreadThatGoesOn) {
    std::atomic<int> id{0};
    std::atomic<bool> over{false};
    event never;
    struct shortly {
        [[gnu::always_inline]] static inline void wait(event& for_what) {
            pollfd fd{for_what.ends[0], POLLIN, 0};
            const timespec time{.tv_sec = 0, .tv_nsec = 1'000};
            ::ppoll(&fd, 1, &time, nullptr);
        }
    };
    std::jthread thread{[&] {
        id = os::thread_id();
        while (!over) {
            function<shortly, frame::plain, 0>(never);
            function<shortly, frame::of_any_size, 1>(never);
            function<shortly, frame::aligned, 2>(never);
            function<shortly, frame::plain, outermost>(never);
        }
    }};
    test::await([&] { return id != 0; });
    int seen = 0;
    for (int i = 0; i != 20'000; ++i) seen += count_of(id) != 0 ? 1 : 0;
    if (test::system_tells_stacks()) {
        test::await([&] { return seen != 0 || (seen += count_of(id) != 0 ? 1 : 0) != 0; });
    }
    over = true;
}

}  // namespace
}  // namespace fairlead::diagnostics::blocked_stack_tests
