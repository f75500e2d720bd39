// What a connection has read and not parsed yet, counted in the budget of memory.
//
// An idle connection holds `size_min`. The buffer grows for a part of the head that is larger, and
// for a body that comes faster than it is read: a client that sends little at a time has a small
// buffer. One thread at a time.
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

    // Makes room for the next read, if need be and if it may. False: there is none, that part of
    // the request is too long. Throws std::bad_alloc.
    [[nodiscard]] bool make_room();

    // For the next read, which calls `add` with what it has read.
    [[nodiscard]] std::span<std::byte> room() noexcept { return std::span{bytes_}.subspan(end_); }
    void add(std::size_t size) noexcept {
        filled_ = end_ + size == bytes_.size();
        end_ += size;
    }

    // What was read, but not parsed. `remove`: so much was parsed.
    [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
    [[nodiscard]] std::span<const std::byte> content() const noexcept {
        return std::span{bytes_}.subspan(begin_, end_ - begin_);
    }
    void remove(std::size_t size) noexcept { begin_ += size; }

    // Drops what it has, and is as small as it was at first. Throws std::bad_alloc.
    void shrink();

    // How much memory it has.
    [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }

private:
    budget::share share_;
    std::vector<std::byte> bytes_;  // [begin_, end_): read, but not parsed
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    bool filled_ = false;  // the latest read has filled the buffer: there may be more
};

}  // namespace savegames
