#include "diagnostics/blocked_stack_reader.hpp"

#include "diagnostics/code_name.hpp"
#include "diagnostics/unwinder.hpp"
#include "os/task_file.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace fairlead::diagnostics {
namespace {

constexpr std::size_t page = 4096;  // or a part of one

// Copies all or nothing. Memory that is not mapped is an error, not a crash.
bool read_own(std::uintptr_t from, std::span<std::byte> to) noexcept {
    const iovec local{to.data(), to.size()};
    const iovec remote{reinterpret_cast<void*>(from), to.size()};
    return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) ==
           static_cast<ssize_t>(to.size());
}

// Takes the last word off a line, and returns it as a number. 0: it is no number.
std::uintptr_t take_last(std::string_view& line) noexcept {
    const std::size_t space = line.rfind(' ');
    if (space == std::string_view::npos) return 0;
    const std::string_view word = std::exchange(line, line.substr(0, space)).substr(space + 1);
    std::uintptr_t value = 0;
    if (word.starts_with("0x")) {
        std::from_chars(word.data() + 2, word.data() + word.size(), value, 16);
    }
    return value;
}

// The line of the kernel is one of
//     <call> <six arguments> <stack pointer> <instruction>
//     -1 <stack pointer> <instruction>     the thread waits for memory
//     running
thread_position parse(std::string_view line) noexcept {
    line = line.substr(0, line.find('\n'));
    thread_position at{};
    at.after_call = !line.starts_with("-1 ");
    at.instruction = take_last(line);
    at.stack = take_last(line);
    return at;
}

}  // namespace

void blocked_stack_reader::copy(int thread_id, sched::stack_copy& to) const noexcept {
    to.size = 0;
    std::array<char, 256> before;
    std::array<char, 256> after;
    const std::string_view said = os::read_task_file(thread_id, "syscall", before);
    to.at = parse(said);
    if (!registers::are_known || to.at.instruction == 0 || to.at.stack == 0) return;

    // Page by page: memory above the stack cannot be read, and ends the copy.
    std::array<iovec, sched::stack_copy::size_max / page + 1> pages;
    std::size_t count = 0;
    std::uintptr_t from = to.at.stack;
    for (std::size_t left = to.bytes.size(); left != 0; ++count) {
        const std::size_t size = std::min(left, page - from % page);
        pages[count] = {reinterpret_cast<void*>(from), size};
        from += size;
        left -= size;
    }
    const iovec local{to.bytes.data(), to.bytes.size()};
    const ssize_t copied = ::process_vm_readv(::getpid(), &local, 1, pages.data(), count, 0);
    const bool was_still = os::read_task_file(thread_id, "syscall", after) == said;
    if (copied > 0 && was_still) to.size = static_cast<std::size_t>(copied);
}

std::size_t blocked_stack_reader::unwind(const sched::stack_copy& from,
                                         std::span<void*> frames) const noexcept {
    if (from.size == 0) return 0;
    return diagnostics::unwind(from.at, std::span{from.bytes}.first(from.size), read_own, frames);
}

void blocked_stack_reader::name(std::uintptr_t address, std::span<char> text) const noexcept {
    name_code(address, text);
}

}  // namespace fairlead::diagnostics
