#include <fairlead/detail/tls/tls_channel.hpp>

#include "tls/errors.hpp"

#include <mutex>

namespace fairlead::io::detail {

tls_step tls_channel::step(tls_outcome outcome, std::size_t count) const noexcept {
    return {.outcome = outcome,
            .count = count,
            .output = broken_ ? 0 : engine_->output().size(),
            .inputs = inputs_,
            .error = outcome == tls_outcome::failed ? engine_->error() : std::error_code{}};
}

tls_step tls_channel::handshake() {
    const std::lock_guard lock{lock_};
    return step(engine_->handshake());
}

tls_step tls_channel::read(std::span<std::byte> buffer) {
    const std::lock_guard lock{lock_};
    std::size_t count = 0;
    const tls_outcome outcome = engine_->read(buffer, count);
    return step(outcome, count);
}

std::error_code tls_channel::refuses_writes() const noexcept {
    if (broken_) return code_of(tls_errc::broken);
    if (engine_->sends_no_more()) return std::make_error_code(std::errc::broken_pipe);
    return {};
}

tls_step tls_channel::write(std::span<const std::byte> data) {
    std::size_t all = 0;
    for (;;) {
        // The lock is given up between two records: to encrypt one takes some microseconds, and a
        // reader may wait for the lock on its thread.
        const std::lock_guard lock{lock_};
        if (const std::error_code refused = refuses_writes()) {
            return {.outcome = tls_outcome::failed, .count = all, .error = refused};
        }
        std::size_t count = 0;
        const tls_outcome outcome = engine_->write(data.subspan(all), count);
        all += count;
        const bool is_full = engine_->output().size() >= tls_engine::output_limit;
        if (outcome != tls_outcome::done || all == data.size() || is_full) {
            return step(outcome, all);
        }
    }
}

tls_step tls_channel::end_sending() {
    const std::lock_guard lock{lock_};
    if (broken_) return {.outcome = tls_outcome::failed, .error = code_of(tls_errc::broken)};
    return step(engine_->end_sending());
}

std::expected<std::span<std::byte>, std::error_code> tls_channel::room_for_input(
    std::uint64_t inputs) {
    const std::lock_guard lock{lock_};
    if (input_ended_) return std::unexpected{code_of(tls_errc::truncated)};
    if (inputs != inputs_) return std::span<std::byte>{};
    return engine_->room_for_input();
}

std::error_code tls_channel::input_came(std::size_t size) noexcept {
    const std::lock_guard lock{lock_};
    ++inputs_;
    if (size != 0) {
        engine_->input_came(size);
        return {};
    }
    input_ended_ = true;
    return code_of(tls_errc::truncated);
}

bool tls_channel::take_output(tls_bytes& to) noexcept {
    const std::lock_guard lock{lock_};
    to.clear();
    if (broken_ || engine_->output().empty()) return false;
    to.swap(engine_->output());
    return true;
}

bool tls_channel::has_output() noexcept {
    const std::lock_guard lock{lock_};
    return !broken_ && !engine_->output().empty();
}

void tls_channel::break_writing() noexcept {
    const std::lock_guard lock{lock_};
    broken_ = true;
    engine_->output().release();
}

std::error_code tls_channel::why_broken() noexcept {
    const std::lock_guard lock{lock_};
    return broken_ ? code_of(tls_errc::broken) : std::error_code{};
}

}  // namespace fairlead::io::detail
