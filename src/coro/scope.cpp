#include <fairlead/coro/scope.hpp>

namespace fairlead {

coro::scope_child* scope::make_child_with_token(task<>& body, spawn_options& options,
                                                std::uint32_t depth) {
    return new coro::scope_child_with_token{
        *this, where_, std::move(body), std::move(options.stop), options.name, depth};
}

bool scope::begin_join(coro::root& joiner, std::coroutine_handle<> leaf, coro::frame_link& link,
                       time_point deadline) noexcept {
    const bool forks_first = joiner.has_forked();
    if (forks_first) {
        if (joiner.hears_stop()) request_stop();
    } else if (!must_wait(joiner)) {
        return joiner.take_turn_if_due(leaf, link);
    }
    joiner.wait_at(leaf, link, coro::root::until::completion, deadline);
    joiner.await_operation(*this);
    if (forks_first) joiner.run_forks_first();
    return true;
}

bool scope::interrupt(coro::interruption why) noexcept {
    if (why == coro::interruption::stop) {
        request_stop();
        return false;
    }
    std::lock_guard lock{mutex_};
    if (std::exchange(joiner_, nullptr) == nullptr) return false;  // it is being told
    join_expired_ = true;
    return true;
}

bool scope::must_wait(coro::root& holder) noexcept {
    std::lock_guard lock{mutex_};
    if (!has_children()) return false;
    if (holder.hears_stop()) stop_all();
    joiner_ = &holder;
    return true;
}

void scope::stop_all() noexcept {
    stopping_.store(true, sync::relaxed);
    for (auto* child = children_; child != nullptr; child = child->following_) {
        child->request_stop();
    }
}

// The holder is to be destroyed: nothing else would ask the children to stop.
bool scope::outlasts(coro::root& holder) noexcept {
    std::lock_guard lock{mutex_};
    if (!has_children()) return false;
    stop_all();
    joiner_ = &holder;
    return true;
}

void scope::list_forked(coro::scope_child& child) noexcept {
    std::lock_guard lock{mutex_};
    list(child);
    unlisted_.fetch_sub(1, sync::relaxed);  // the list has it
    if (is_stopping()) child.request_stop();
}

}  // namespace fairlead
