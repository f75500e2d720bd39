#include <fairlead/detail/coro/context_node.hpp>

namespace fairlead::coro {

const context_node* context_word::find(const void* key) const noexcept {
    inherit border = inherit::none;
    for (context_word at = *this; at; at = at.first().outer()) {
        border = std::max(border, at.crossed());
        const context_node& node = at.first();
        if (node.key() == key && node.reach() >= border) return &node;
    }
    return nullptr;
}

void held_context::hold() noexcept { word_.first().holders_.fetch_add(1, sync::relaxed); }  // [CX1]

// In a loop: a long list must not overflow the thread's stack.
void held_context::drop() noexcept {
    for (held_context last = std::move(*this); last;) {
        const context_node& node = last.word_.first();
        last.word_ = {};
        if (node.holders_.fetch_sub(1, sync::acq_rel) != 1) return;  // [CX1]
        last.word_ = std::exchange(const_cast<context_node&>(node).outer_.word_, {});
        delete &node;
    }
}

}  // namespace fairlead::coro
