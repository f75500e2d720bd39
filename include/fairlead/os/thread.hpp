// Threads with a name, whose failure to start is a value.
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <system_error>
#include <thread>

namespace fairlead::os {

/// Starts a thread named `name` (cut to the 15 characters that the kernel keeps) that runs `body`.
/// Errors: what the system says, typically `resource_unavailable_try_again`. Allocates.
[[nodiscard]] std::expected<std::thread, std::error_code> start_thread(
    const std::string& name, std::move_only_function<void()> body);

}  // namespace fairlead::os
