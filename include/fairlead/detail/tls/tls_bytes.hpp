// Bytes on their way between OpenSSL and a stream: appended at the end, taken from the front.
//
// The memory grows to what is needed and is given up when the bytes are gone, so that an idle
// connection keeps little. Asserts nothing about threads: the engine's lock guards it.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace fairlead::io::detail {

class tls_bytes {
public:
    [[nodiscard]] std::size_t size() const noexcept { return end_ - begin_; }
    [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        return {memory_.get() + begin_, size()};
    }

    // Room behind the bytes for at least `size` more. It stays in place until the next call of
    // `room`, also when bytes are taken meanwhile. May throw std::bad_alloc.
    [[nodiscard]] std::span<std::byte> room(std::size_t size) {
        if (begin_ == end_) begin_ = end_ = 0;
        if (capacity_ - end_ < size) make_room(size);
        return {memory_.get() + end_, capacity_ - end_};
    }
    // The first `size` bytes of the room have been written.
    void added(std::size_t size) noexcept { end_ += size; }

    void append(std::span<const std::byte> more) {
        const std::span<std::byte> where = room(more.size());
        if (!more.empty()) std::memcpy(where.data(), more.data(), more.size());
        added(more.size());
    }

    // Takes bytes from the front, at most `to.size()`; answers how many.
    std::size_t take(std::span<std::byte> to) noexcept {
        const std::size_t taken = to.size() < size() ? to.size() : size();
        if (taken != 0) std::memcpy(to.data(), memory_.get() + begin_, taken);
        begin_ += taken;
        return taken;
    }

    // Forgets the bytes and keeps the memory.
    void clear() noexcept { begin_ = end_ = 0; }
    // Forgets the bytes, and gives up the memory.
    void release() noexcept {
        memory_.reset();
        begin_ = end_ = capacity_ = 0;
    }

    void swap(tls_bytes& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(capacity_, other.capacity_);
        std::swap(begin_, other.begin_);
        std::swap(end_, other.end_);
    }

private:
    void make_room(std::size_t size) {
        const std::size_t kept = this->size();
        if (capacity_ - kept >= size) {
            std::memmove(memory_.get(), memory_.get() + begin_, kept);
        } else {
            const std::size_t twice = capacity_ * 2;
            const std::size_t needed = kept + size;
            const std::size_t capacity = needed > twice ? needed : twice;
            auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
            if (kept != 0) std::memcpy(larger.get(), memory_.get() + begin_, kept);
            memory_ = std::move(larger);
            capacity_ = capacity;
        }
        begin_ = 0;
        end_ = kept;
    }

    std::unique_ptr<std::byte[]> memory_;
    std::size_t capacity_ = 0;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

}  // namespace fairlead::io::detail
