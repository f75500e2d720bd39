#include <fairlead/coro/scope.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace fairlead {

void coro::scope_child::fail() noexcept {
    std::exception_ptr failure = body_.outcome().failure();
    body_ = {};  // as in on_end
    owner_.child_failed(*this, std::move(failure));
}

void coro::scope_child::on_abandon() noexcept {
    owner_.end_of_child(*this, scope::ending::given_back);
}

void coro::forked_scope_child::become_task() noexcept { owner().list_forked(*this); }

coro::scope_child* scope::make_child_with_token(task<>& body, spawn_options& options,
                                                std::source_location spawned_at,
                                                std::uint32_t depth) {
    return new coro::scope_child_with_token{
        *this, where_,         std::move(body), std::move(options.stop), {options.name, spawned_at},
        depth, context_.word()};
}

bool scope::begin_join(coro::root& joiner, std::coroutine_handle<> leaf, coro::frame_link& link,
                       time_point deadline, bool ends) noexcept {
    join_may_end_ = ends;
    const bool forks_first = joiner.has_forked();
    if (forks_first) {
        if (joiner.hears_stop()) request_stop(joiner.stop_reason());
    } else if (!must_wait(joiner)) {
        return joiner.take_turn_if_due(leaf, link, coro::await_cost::compound);
    }
    joiner.wait_at(leaf, link, coro::root::until::completion, deadline);
    joiner.await_operation(*this);
    if (forks_first) joiner.run_forks_first();
    return true;
}

void scope::request_stop(stopped_by why) noexcept {
    std::lock_guard lock{mutex_};
    stop_all(why);
}

std::size_t scope::size() const noexcept {
    std::lock_guard lock{mutex_};
    return size_ + unlisted_.load(sync::relaxed);  // only a number
}

bool scope::interrupt(coro::interruption why) noexcept {
    std::lock_guard lock{mutex_};
    if (why == coro::interruption::stop) {
        stop_all(joiner_ != nullptr ? joiner_->stop_reason() : stopped_by::unsaid);
        return false;
    }
    if (joiner_ == nullptr) return false;  // it is being told
    if (join_may_end_) {
        joiner_ = nullptr;
        join_ended_by_ = why;
        return true;
    }
    // Children that have the same deadline end by it, and say so.
    if (joiner_->context().limit() != context_.word().limit()) stop_all(stopped_by::overdue);
    return false;
}

scope::missing scope::take_worst(const coro::root& joiner) noexcept {
    const ending worst = std::exchange(worst_, ending::whole);
    const missing why = joiner.ends_waits();
    return worst == ending::given_back ? why.value_or(wait_error::stopped) : why;
}

bool scope::must_wait(coro::root& holder) noexcept {
    std::lock_guard lock{mutex_};
    if (!has_children()) return false;
    if (holder.hears_stop()) stop_all(holder.stop_reason());
    FAIRLEAD_ASSERT(joiner_ == nullptr || joiner_ == &holder, "two tasks join the same scope");
    joiner_ = &holder;
    return true;
}

void scope::stop_all(stopped_by why) noexcept {
    const stopped_by first = stop_.ask(why);
    for (auto* child = children_; child != nullptr; child = child->following_) {
        child->request_stop(first);
    }
}

// The holder is to be destroyed: nothing else would ask the children to stop.
bool scope::outlasts(coro::root& holder) noexcept {
    std::lock_guard lock{mutex_};
    if (!has_children()) return false;
    stop_all(stopped_by::shutdown);
    joiner_ = &holder;
    return true;
}

void scope::unlist(coro::scope_child& child) noexcept {
    (child.previous_ != nullptr ? child.previous_->following_ : children_) = child.following_;
    if (child.following_ != nullptr) child.following_->previous_ = child.previous_;
    --size_;
}

void scope::list_forked(coro::scope_child& child) noexcept {
    std::lock_guard lock{mutex_};
    list(child);
    unlisted_.fetch_sub(1, sync::relaxed);  // the list has it
    if (is_stopping()) child.request_stop(stop_.reason());
}

// The child counts as running until end_of_child, so the scope exists.
void scope::child_failed(coro::scope_child& child, std::exception_ptr failure) noexcept {
    if (coro::is_stop(failure)) return end_of_child(child, ending::stopped);
    std::unique_ptr<coro::failure_trail> trail = child.trail_at_end(failure);
    {
        std::lock_guard lock{mutex_};
        if (failure_ == nullptr) {
            failure_ = std::move(failure);
            trail_ = std::move(trail);
        }
        stop_all(stopped_by::failure);
    }
    end_of_child(child, ending::whole);
}

void scope::rethrow_in(coro::root& joiner) {
    joiner.trail().keep(std::move(trail_));
    std::rethrow_exception(std::exchange(failure_, nullptr));
}

// The child is listed, or has no result, or may be the last.
void scope::end_of_child(coro::scope_child& child, ending how) noexcept {
    coro::root* to_tell = nullptr;
    {
        std::lock_guard lock{mutex_};
        if (child.is_listed_) {
            unlist(child);
        } else {
            unlisted_.fetch_sub(1, sync::relaxed);  // the mutex publishes it
        }
        worst_ = std::max(worst_, how);
        if (!has_children()) to_tell = std::exchange(joiner_, nullptr);
    }
    delete &child;
    if (to_tell != nullptr) to_tell->complete();
}

}  // namespace fairlead
