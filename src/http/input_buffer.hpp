// The bytes of a connection that were received: the message under way, and what came after it.
//
//     | used up | head of the message | body that was decoded | not decoded |  room  |
//               begin_                body_                   read_         end_
//
// The head stays in its place from `begin_body` to `end_message`, so that views into it stay valid.
// The bytes of the body that were decoded are overwritten by what comes next. A body that comes
// fast gets a block of its own, in which the next message may begin; then that block stays.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace fairlead::http {

class input_buffer {
public:
    // The message so far, before its head is complete.
    [[nodiscard]] std::string_view message() const noexcept {
        return {bytes_.get() + begin_, end_ - begin_};
    }
    // What the body decoder has not seen.
    [[nodiscard]] std::string_view unread() const noexcept {
        return {block() + read_, end_ - read_};
    }
    // In bytes.
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_ + large_capacity_; }

    // Where more of a head can be received. `size_max`: the largest head; there is room for a
    // little more. Moves the message.
    [[nodiscard]] std::span<std::byte> room_for_head(std::size_t size_max) {
        const std::size_t used = end_ - begin_;
        if (end_ == capacity_) {
            make_room(std::min(used + std::max(used, first_size), size_max + first_size));
        }
        return room();
    }

    // The head is complete, with `head_size` bytes. `body_room`: how many bytes of its body are to
    // be received at a time, at least one. Moves the message for the last time.
    void begin_body(std::size_t head_size, std::size_t body_room) {
        const std::size_t needed = head_size + body_room;
        if (capacity_ - begin_ < needed) make_room(needed);
        body_ = begin_ + head_size;
        read_ = body_;
    }

    // The head is complete, and there is no body to receive.
    void begin_without_body(std::size_t head_size) noexcept {
        body_ = begin_ + head_size;
        read_ = body_;
    }

    // Whether the latest read has filled the room for the body: more may be there at once.
    [[nodiscard]] bool is_full() const noexcept { return end_ == block_capacity(); }
    // A block for the body alone, with `size` bytes, instead of the room. Requires that all was
    // decoded.
    void enlarge_body(std::size_t size) {
        if (size <= block_capacity() - body_) return;
        large_ = std::make_unique_for_overwrite<char[]>(size);
        large_capacity_ = size;
        body_ = 0;
    }
    // Where more of the body can be received. Requires that all was decoded.
    [[nodiscard]] std::span<std::byte> room_for_body() noexcept {
        read_ = body_;
        end_ = body_;
        return room();
    }

    void add(std::size_t size) noexcept { end_ += size; }
    void take(std::size_t size) noexcept { read_ += size; }

    // The message has ended; what follows it is the next one.
    void end_message() noexcept {
        begin_ = read_;
        if (large_ != nullptr) {
            if (begin_ != end_) {
                bytes_ = std::move(large_);
                capacity_ = large_capacity_;
            }
            large_.reset();
            large_capacity_ = 0;
        }
        if (begin_ != end_) return;
        begin_ = 0;
        read_ = 0;
        end_ = 0;
        if (capacity_ <= kept_size) return;
        bytes_.reset();
        capacity_ = 0;
    }

private:
    static constexpr std::size_t first_size = 4096;
    static constexpr std::size_t kept_size = 16384;  // an idle connection keeps no more

    [[nodiscard]] std::span<std::byte> room() noexcept {
        return std::as_writable_bytes(std::span{block() + end_, block_capacity() - end_});
    }

    // The block in which `body_`, `read_` and `end_` are.
    [[nodiscard]] char* block() const noexcept {
        return large_ != nullptr ? large_.get() : bytes_.get();
    }
    [[nodiscard]] std::size_t block_capacity() const noexcept {
        return large_ != nullptr ? large_capacity_ : capacity_;
    }

    // Moves the message to the beginning of a block that has room for `size` bytes of it, which are
    // at least those that have come.
    void make_room(std::size_t size) {
        const std::size_t used = end_ - begin_;
        if (size > capacity_) {
            auto larger = std::make_unique_for_overwrite<char[]>(size);
            if (used != 0) std::memcpy(larger.get(), bytes_.get() + begin_, used);
            bytes_ = std::move(larger);
            capacity_ = size;
        } else {
            std::memmove(bytes_.get(), bytes_.get() + begin_, used);
        }
        begin_ = 0;
        read_ = 0;
        end_ = used;
    }

    std::unique_ptr<char[]> bytes_;
    std::size_t capacity_ = 0;
    std::unique_ptr<char[]> large_;  // of a body that comes fast; else null
    std::size_t large_capacity_ = 0;
    std::size_t begin_ = 0;
    std::size_t body_ = 0;
    std::size_t read_ = 0;
    std::size_t end_ = 0;
};

}  // namespace fairlead::http
