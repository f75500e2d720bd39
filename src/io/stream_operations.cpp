#include <fairlead/detail/io/stream_operations.hpp>

#include <utility>

namespace fairlead::io::detail {

bool reading_operation::took(std::ptrdiff_t count, std::size_t room) noexcept {
    if (count < 0) {
        drained_ = false;
        return ended(count);
    }
    const auto size = static_cast<std::size_t>(count);
    size_ += size;
    // An end stays readable.
    drained_ = size != 0 && size < room && on_->short_read_is_last();
    return ended(0);
}

std::expected<std::size_t, std::error_code> reading_operation::await_resume() const noexcept {
    if (error_ == 0) return size_;
    // A deadline or a stop ended the wait: an edge may have come without an attempt after it.
    if (error_ < 0) drained_ = false;
    return std::unexpected{ended_with(error_).error()};
}

bool read_operation::attempt() noexcept {
    if (buffer_.empty()) return ended(0);
    return took(on_->receive(buffer_), buffer_.size());
}

bool scattered_read_operation::attempt() noexcept {
    if (room_ == 0) return ended(0);
    return took(on_->receive_into(parts_), room_);
}

bool exact_read_operation::attempt() noexcept {
    while (size_ != buffer_.size()) {
        const std::size_t before = size_;
        const std::span<std::byte> rest = buffer_.subspan(before);
        // After a short read an edge tells of more. If it has come, the source remembers it.
        if (!took(on_->receive(rest), rest.size()) || (error_ == 0 && drained_)) {
            error_ = -1;
            return false;
        }
        if (error_ != 0 || size_ == before) return true;
    }
    return ended(0);
}

std::expected<void, unfinished_read> exact_read_operation::await_resume() const noexcept {
    if (error_ == 0 && size_ == buffer_.size()) return {};
    const auto size = reading_operation::await_resume();
    return std::unexpected{unfinished_read{size_, size ? std::error_code{} : size.error()}};
}

bool write_operation::attempt() noexcept {
    while (!rest_.empty()) {
        const std::ptrdiff_t count = on_->send(rest_);
        if (count < 0) return ended(count);
        rest_ = rest_.subspan(static_cast<std::size_t>(count));
    }
    return ended(0);
}

std::expected<void, std::error_code> write_operation::await_resume() const noexcept {
    if (error_ == 0) return {};
    return ended_with(error_);
}

void gathered_write_operation::skip(std::size_t sent) noexcept {
    sent_of_first_ += sent;
    while (!rest_.empty() && sent_of_first_ >= rest_.front().size()) {
        sent_of_first_ -= rest_.front().size();
        rest_ = rest_.subspan(1);
    }
}

bool gathered_write_operation::attempt() noexcept {
    while (!rest_.empty() && rest_.back().empty()) rest_ = rest_.first(rest_.size() - 1);
    for (skip(0); !rest_.empty();) {
        // For one part the system has a call that costs less.
        const std::ptrdiff_t count = rest_.size() == 1
                                         ? on_->send(rest_.front().subspan(sent_of_first_))
                                         : on_->send_from(rest_, sent_of_first_);
        if (count < 0) return ended(count);
        skip(static_cast<std::size_t>(count));
    }
    return ended(0);
}

std::expected<void, std::error_code> gathered_write_operation::await_resume() const noexcept {
    if (error_ == 0) return {};
    return ended_with(error_);
}

bool write_some_operation::attempt() noexcept {
    if (data_.empty()) return ended(0);
    const std::ptrdiff_t count = on_->send(data_);
    if (count > 0) size_ = static_cast<std::size_t>(count);
    return ended(count);
}

std::expected<std::size_t, std::error_code> write_some_operation::await_resume() const noexcept {
    if (error_ == 0) return size_;
    return std::unexpected{ended_with(error_).error()};
}

bool connect_operation::attempt() noexcept { return ended(on_->connected()); }

std::expected<void, std::error_code> connect_operation::await_resume() const noexcept {
    return ended_with(error_);
}

bool accept_operation::attempt() noexcept {
    network::socket* made = nullptr;
    const bool has_ended = ended(on_->accept(made, options_));
    if (made != nullptr) accepted_ = socket_handle{*made};
    return has_ended;
}

std::expected<socket_handle, std::error_code> accept_operation::await_resume() noexcept {
    if (error_ == 0) return std::move(accepted_);
    return std::unexpected{ended_with(error_).error()};
}

}  // namespace fairlead::io::detail
