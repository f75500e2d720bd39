#include <fairlead/detail/future/gathering.hpp>

namespace fairlead::futures {

void gathering::start(std::span<arrival> arrivals) noexcept {
    for (std::size_t i = 0; i != arrivals.size(); ++i) {
        arrivals[i].bind(*this, i);
        if (!source(i).attach(arrivals[i])) arrivals[i].tell();
    }
    if ((state_.fetch_or(started, sync::acq_rel) & failed) != 0) drop_others();  // [GA1]
    leave(1);
}

void gathering::arrive(std::size_t index) noexcept {
    if (is_failure(index)) {
        const std::uint8_t before = state_.fetch_or(failed, sync::acq_rel);  // [GA1]
        if ((before & failed) == 0) {
            fail(index);
            if ((before & started) != 0) drop_others();
        }
    }
    leave(1);
}

// A source that has its result arrives, or has arrived.
void gathering::drop_others() noexcept {
    std::size_t dropped = 0;
    for (std::size_t i = 0; i != count_; ++i) {
        if (!source(i).withdraw()) continue;
        leave_source(i);
        ++dropped;
    }
    if (dropped != 0) leave(dropped);
}

void gathering::leave(std::size_t count) noexcept {
    if (left_.fetch_sub(count, sync::acq_rel) != count) return;
    if ((state_.load(sync::relaxed) & failed) == 0) complete();  // set before its setter has left
    delete this;
}

}  // namespace fairlead::futures
