// The bytes that a connection has read but not parsed. The buffer counts in the budget of memory.
//
// An idle connection has a buffer of `size_min`. The buffer grows in two cases: if one part of the
// head is larger, and if a body comes faster than the connection reads it. So a client that sends
// little at a time has a small buffer. One thread at a time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "savegames/budget.hpp"

namespace savegames {

class receive_buffer {
public:
    static constexpr std::size_t size_min = std::size_t{4} << 10;
    static constexpr std::size_t size_max = std::size_t{64} << 10;

    // Throws std::bad_alloc.
    receive_buffer(budget& memory, budget::account& owner)
        : share_{memory, owner}, bytes_(size_min) {
        share_.grow(size_min);
    }

    // Makes room for the next read; grows the buffer if that helps and the budget allows it.
    // False: one part of the request is larger than `size_max`. Throws std::bad_alloc.
    [[nodiscard]] bool make_room();

    // Where the next read puts its bytes. After the read, call `add` with their number.
    [[nodiscard]] std::span<std::byte> room() noexcept { return std::span{bytes_}.subspan(end_); }
    void add(std::size_t size) noexcept {
        filled_ = end_ + size == bytes_.size();
        end_ += size;
    }

    // The bytes that were read but not parsed. Call `remove` with the number of parsed bytes.
    [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
    [[nodiscard]] std::span<const std::byte> content() const noexcept {
        return std::span{bytes_}.subspan(begin_, end_ - begin_);
    }
    void remove(std::size_t size) noexcept { begin_ += size; }

    // Drops all bytes, and shrinks the buffer to `size_min`. Throws std::bad_alloc.
    void shrink();

    // The size of the buffer in bytes.
    [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }

private:
    budget::share share_;
    std::vector<std::byte> bytes_;  // [begin_, end_) was read, but not parsed
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    bool filled_ = false;  // the latest read filled the buffer: more may wait in the socket
};

}  // namespace savegames
