// How a child process has ended.
#pragma once

#include <optional>
#include <string>

namespace fairlead::io {

/// How a child has ended: by itself, with a code, or by a signal.
class exit_status {
public:
    /// It has ended by itself.
    [[nodiscard]] static constexpr exit_status of_code(int code) noexcept {
        return exit_status{code, 0, false};
    }
    /// A signal has ended it. `dumped_core`: the system has kept its memory in a file.
    [[nodiscard]] static constexpr exit_status of_signal(int signal, bool dumped_core) noexcept {
        return exit_status{0, signal, dumped_core};
    }

    /// It has ended by itself, with code 0.
    [[nodiscard]] constexpr bool succeeded() const noexcept { return signal_ == 0 && code_ == 0; }
    /// Its code, from 0 to 255; none if a signal has ended it.
    [[nodiscard]] constexpr std::optional<int> code() const noexcept {
        return signal_ == 0 ? std::optional{code_} : std::nullopt;
    }
    /// The signal that has ended it.
    [[nodiscard]] constexpr std::optional<int> signal() const noexcept {
        return signal_ != 0 ? std::optional{signal_} : std::nullopt;
    }
    /// Whether the system has kept its memory in a file.
    [[nodiscard]] constexpr bool dumped_core() const noexcept { return dumped_core_; }
    /// Such as "code 3" or "signal 9", for people.
    [[nodiscard]] std::string to_string() const {
        if (signal_ == 0) return "code " + std::to_string(code_);
        return "signal " + std::to_string(signal_) + (dumped_core_ ? ", core dumped" : "");
    }

    friend constexpr bool operator==(const exit_status&, const exit_status&) = default;

private:
    constexpr exit_status(int code, int signal, bool dumped_core) noexcept
        : code_{code}, signal_{signal}, dumped_core_{dumped_core} {}

    int code_;
    int signal_;
    bool dumped_core_;
};

}  // namespace fairlead::io
