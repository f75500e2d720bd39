// The calls of a thread, from a snapshot of its registers and stack. The tests need no function of
// the system, so they run in emulators, too.
#include "diagnostics/unwinder.hpp"

#include "diagnostics/stacks.hpp"

#include <gtest/gtest.h>

#include <alloca.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

namespace fairlead::diagnostics::unwinder_tests {
namespace {

using test::return_addresses;

// The address sanitizer reports reads between variables, which these functions need.
#if defined(__SANITIZE_ADDRESS__) || defined(__clang__)
__attribute__((no_sanitize("address"), noinline))
#endif
void copy(const std::byte* from, std::span<std::byte> to) {
    for (std::size_t i = 0; i != to.size(); ++i) {
        to[i] = static_cast<const volatile std::byte*>(from)[i];
    }
}

// Reads memory of an object, if it belongs to this program.
bool read_object(std::uintptr_t from, std::span<std::byte> to) noexcept {
    Dl_info first{};
    Dl_info last{};
    const auto* const begin = reinterpret_cast<const std::byte*>(from);
    if (::dladdr(begin, &first) == 0 || ::dladdr(begin + to.size() - 1, &last) == 0) return false;
    copy(begin, to);
    return first.dli_fbase == last.dli_fbase;
}

bool read_nothing(std::uintptr_t, std::span<std::byte>) noexcept { return false; }

// The state of a thread at one instruction.
struct snapshot {
    [[gnu::noinline]] void take() {
#if defined(__x86_64__)
        asm volatile("lea 0f(%%rip), %0\n mov %%rsp, %1\n 0:"
                     : "=r"(position.instruction), "=r"(position.stack));
#elif defined(__aarch64__)
        asm volatile("adr %0, 0f\n mov %1, sp\n 0:"
                     : "=r"(position.instruction), "=r"(position.stack));
#endif
        const auto* const begin = reinterpret_cast<const std::byte*>(position.stack);
        stack.resize(static_cast<std::size_t>(top - begin));
        copy(begin, stack);
        test::use(this);
    }

    [[nodiscard]] std::size_t calls(std::span<void*> frames,
                                    memory_reader read = read_object) const {
        return unwind(position, stack, read, frames);
    }

    const std::byte* top = nullptr;  // of the stack
    thread_position position{};
    std::vector<std::byte> stack{};
    return_addresses noted{};
};

template <bool HasAnySize, std::size_t Level>
[[gnu::noinline]] void function(snapshot& to) {
    FAIRLEAD_TEST_NOTE_RETURN(to.noted, Level);
    if constexpr (HasAnySize) {
        const std::size_t size = 100 + static_cast<std::size_t>(::getpid() % 10);
        test::use(std::memset(::alloca(size), 0, size));
    }
    if constexpr (Level == 0) {
        to.take();
    } else {
        function<HasAnySize, Level - 1>(to);
    }
    test::use(&to);
}

class Unwinder : public testing::TestWithParam<bool> {
protected:
    void SetUp() override {
        if (!registers::are_known) GTEST_SKIP() << "not for this processor";
        std::byte here{};
        test::use(&here);
        state_.top = static_cast<const std::byte*>(__builtin_frame_address(0));
        take();
    }

    [[gnu::noinline]] void take() {
        constexpr std::size_t outermost = return_addresses::depth - 1;
        GetParam() ? function<true, outermost>(state_) : function<false, outermost>(state_);
        test::use(this);
    }

    snapshot state_;
    std::array<void*, 64> frames_{};
};

TEST_P(Unwinder, FindsWhereAllCallsReturnTo) {
    const std::size_t count = state_.calls(frames_);
    const std::span<void* const> found = std::span{frames_}.first(count);
    EXPECT_EQ(frames_[0], reinterpret_cast<void*>(state_.position.instruction));
    EXPECT_EQ(state_.noted.find_in(found), 2U);  // behind the snapshot, and the innermost function
}

TEST_P(Unwinder, SaysNoMoreThanThereIsRoomFor) {
    EXPECT_EQ(state_.calls({}), 0U);
    EXPECT_EQ(state_.calls(std::span{frames_}.first(3)), 3U);
    EXPECT_EQ(frames_[3], nullptr);
}

TEST_P(Unwinder, EndsAtTheEndOfTheStack) {
    const std::size_t all = state_.calls(frames_);
    std::size_t before = 0;
    const std::vector<std::byte> whole = state_.stack;
    for (std::size_t size = 0; size <= whole.size(); size += 8) {
        state_.stack.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        std::array<void*, 64> some{};
        const std::size_t count = state_.calls(some);
        EXPECT_GE(count, before);
        EXPECT_TRUE(std::equal(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count),
                               frames_.begin()));
        before = count;
    }
    EXPECT_EQ(before, all);
}

TEST_P(Unwinder, KnowsOnlyWhereItIsWithoutTables) {
    EXPECT_EQ(state_.calls(frames_, read_nothing), 1U);
    state_.position.instruction = 1;
    EXPECT_EQ(state_.calls(frames_), 1U);
    state_.position.instruction = 0;
    EXPECT_EQ(state_.calls(frames_), 1U);
}

// With any contents of the stack the unwinder ends, and reads only the given memory. Words of the
// stack are kept, changed or exchanged.
TEST_P(Unwinder, EndsWhateverTheStackHas) {
    std::mt19937_64 random{20261123};
    const std::vector<std::byte> whole = state_.stack;
    const std::size_t words = whole.size() / sizeof(std::uint64_t);
    for (int i = 0; i != 2000; ++i) {
        for (std::size_t changes = 1 + random() % 8; changes != 0; --changes) {
            const std::size_t to = random() % words * sizeof(std::uint64_t);
            const std::size_t from = random() % words * sizeof(std::uint64_t);
            const std::uint64_t number = random() >> random() % 64;
            std::memcpy(&state_.stack[to],
                        random() % 2 == 0 ? static_cast<const void*>(&number) : &whole[from],
                        sizeof(number));
        }
        const std::size_t count = state_.calls(frames_);
        EXPECT_GE(count, 1U);
        EXPECT_LE(count, frames_.size());
        if (i % 20 == 0) state_.stack = whole;
    }
}

#if defined(__aarch64__)
[[gnu::noinline]] void leaf() { test::use(nullptr); }

// The return address of this function is in a register that the unwinder does not know. The
// unwinder leaves out its caller, but not the functions above.
TEST_P(Unwinder, LeavesOutWhoCallsAFunctionThatSavesNothing) {
    state_.position.instruction = reinterpret_cast<std::uintptr_t>(&leaf);
    state_.position.after_call = false;
    const std::size_t count = state_.calls(frames_);
    EXPECT_EQ(frames_[0], reinterpret_cast<void*>(&leaf));
    EXPECT_EQ(state_.noted.find_in(std::span{frames_}.first(count)), 2U);
}
#endif

INSTANTIATE_TEST_SUITE_P(AndAFramePointer, Unwinder, testing::Bool());

}  // namespace
}  // namespace fairlead::diagnostics::unwinder_tests
