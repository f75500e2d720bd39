#include "savegames/receive_buffer.hpp"

#include <cstring>

namespace savegames {

bool receive_buffer::make_room() {
    if (begin_ != 0) {
        std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    const bool full = end_ == bytes_.size();
    if (!full && !filled_) return true;
    if (bytes_.size() == size_max) return !full;
    const std::size_t more = bytes_.size();
    if (full) {
        share_.grow(more);
    } else if (share_.try_grow(more) != grant::granted) {
        return true;
    }
    bytes_.resize(2 * more);
    return true;
}

void receive_buffer::shrink() {
    begin_ = end_ = 0;
    filled_ = false;
    if (bytes_.size() == size_min) return;
    const std::size_t size = bytes_.size();
    std::vector<std::byte>(size_min).swap(bytes_);
    share_.give_back(size - size_min);
}

}  // namespace savegames
