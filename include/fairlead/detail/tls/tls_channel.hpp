// An engine that one task reads and another one writes.
//
// - `lock_` is held for each call of the engine, never over a wait.
// - `input_turn` belongs to the task that waits for bytes of the network. Its owner reads only if
//   no input has come since it asked the engine, because another task may have had the turn before.
// - `output_turn` belongs to the task that sends. It sends until there is no output.
//
// A read may have output (an alert; newer versions of OpenSSL answer key updates from it), and may
// find the turn taken. It does not wait then, because the peer may wait for this read before it
// reads what the writer sends. The output is not forgotten:
//
//     1. The reader adds output under `lock_`, and fails to take the turn.
//     2. So the sender has not given the turn back before that. It looks for output, under `lock_`,
//        once more after it has given the turn back, and finds what the reader has added.
#pragma once

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/io/errors.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/tls/tls_engine.hpp>
#include <fairlead/wait/mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <system_error>

namespace fairlead::io::detail {

// What a call of the engine has come to.
struct tls_step {
    tls_outcome outcome;
    std::size_t count = 0;       // bytes read, or taken to be written
    std::size_t output = 0;      // bytes to be sent
    std::uint64_t inputs = 0;    // how often input had come
    std::error_code error = {};  // when it has failed
};

class tls_channel {
public:
    explicit tls_channel(std::unique_ptr<tls_engine> engine) noexcept
        : engine_{std::move(engine)} {}

    [[nodiscard]] tls_step handshake();
    [[nodiscard]] tls_step read(std::span<std::byte> buffer);
    // Encrypts from the front of `data`, up to the limit of the output.
    [[nodiscard]] tls_step write(std::span<const std::byte> data);
    [[nodiscard]] tls_step end_sending();

    // For the owner of the input turn. Empty: input has come since `inputs` was told. `truncated`:
    // none will come any more.
    [[nodiscard]] std::expected<std::span<std::byte>, std::error_code> room_for_input(
        std::uint64_t inputs);
    // 0 bytes: the end. Gives `truncated` at the end.
    [[nodiscard]] std::error_code input_came(std::size_t size) noexcept;

    // For the owner of the output turn: swaps all output into `to`, which has been sent. False:
    // there is none.
    [[nodiscard]] bool take_output(tls_bytes& to) noexcept;
    [[nodiscard]] bool has_output() noexcept;
    // A write was cut off. Later ones give `broken`, and what is left is not sent.
    void break_writing() noexcept;
    // `broken` after that.
    [[nodiscard]] std::error_code why_broken() noexcept;

    [[nodiscard]] const tls_engine& engine() const noexcept { return *engine_; }

    mutex input_turn;
    mutex output_turn;

private:
    [[nodiscard]] tls_step step(tls_outcome outcome, std::size_t count = 0) const noexcept;
    [[nodiscard]] std::error_code refuses_writes() const noexcept;

    sync::mutex lock_;
    const std::unique_ptr<tls_engine> engine_;  // what it refers to is guarded by lock_
    std::uint64_t inputs_ = 0;                  // guarded by lock_
    bool input_ended_ = false;                  // guarded by lock_
    bool broken_ = false;                       // guarded by lock_
};

// Why a wait of the task would end at once. Does not suspend.
[[nodiscard]] inline auto why_ended() noexcept {
    return coro::root_question{[](coro::root& self) noexcept { return self.ends_waits(); }};
}

}  // namespace fairlead::io::detail
