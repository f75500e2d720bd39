// Which sets of signals the process has, for the handler of its signals.
#pragma once

#include <fairlead/detail/sync/atomic.hpp>

#include <cstdint>
#include <expected>
#include <system_error>

namespace fairlead::io {

// What the handler tells a set.
struct signal_mailbox {
    int told = -1;                        // an eventfd
    std::uint64_t wanted = 0;             // a bit for each signal; not changed while it is listed
    sync::atomic<std::uint64_t> came{0};  // a bit for each that was not taken yet
};

// Lists `box`, and takes the signals that it wants. Errors: those of sigaction, and
// `resource_unavailable_try_again` when too many are listed; then nothing has changed.
[[nodiscard]] std::error_code list_mailbox(signal_mailbox& box) noexcept;

// The handler does not touch it afterwards. Signals that no listed box wants have their handler
// from before, unless the program has installed another meanwhile.
void remove_mailbox(signal_mailbox& box) noexcept;

}  // namespace fairlead::io
