#include <fairlead/detail/http/seats.hpp>

#include <utility>

namespace fairlead::http::detail {

void seats::drain() noexcept {
    const std::lock_guard lock{mutex_};
    draining_ = true;
    for (seat* each = first_; each != nullptr; each = each->next_) each->tell();
}

seat::seat(seats& all, basic_task& of) noexcept : all_{all}, task_{of} {
    const std::lock_guard lock{all_.mutex_};
    told_ = all_.draining_;
    next_ = all_.first_;
    if (next_ != nullptr) next_->previous_ = this;
    all_.first_ = this;
}

seat::~seat() {
    const std::lock_guard lock{all_.mutex_};
    if (next_ != nullptr) next_->previous_ = previous_;
    (previous_ != nullptr ? previous_->next_ : all_.first_) = next_;
}

void seat::tell() noexcept {
    const std::lock_guard lock{mutex_};
    told_ = true;
    if (idle_) task_.request_stop();
}

// The connection has no whole request.
connection_monitor::verdict seat::begin_idle() noexcept {
    const std::lock_guard lock{mutex_};
    idle_ = !told_;
    return idle_ ? verdict::go_on : verdict::refuse;
}

connection_monitor::verdict seat::resumes() noexcept {
    const std::lock_guard lock{mutex_};
    // A body ends no wait of an idle connection: its request goes on.
    const bool was_idle = std::exchange(idle_, false);
    return was_idle && told_ ? verdict::refuse : verdict::go_on;
}

bool seat::is_last() noexcept {
    const std::lock_guard lock{mutex_};
    return told_;
}

}  // namespace fairlead::http::detail
