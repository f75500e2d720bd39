#include <fairlead/coro/bulk.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

namespace fairlead::coro {

// So many chunks are a slice. One costs two readings of the clock at most, and an exchange.
constexpr int chunks_of_slice = 8;
// How much smaller a chunk may be when little is left.
constexpr std::size_t last_chunks = 16;

bulk::bulk(std::size_t count, visitor visit, bulk_options wanted) noexcept
    : visit_{visit},
      count_{count},
      grain_{std::max<std::size_t>(wanted.grain, 1)},
      slice_{wanted.slice} {}

// --- a step that claims ------------------------------------------------------------------------

class bulk::claimant {
public:
    claimant(bulk& loop, const scheduler& here, sched::offered_forks& offers) noexcept
        : loop_{loop}, here_{here}, offers_{offers}, wanted_{loop.grain_} {}

    // True: nothing is left to claim. False: the slice is over. `asked` may be asked to stop.
    [[nodiscard]] bool work(const root* asked) noexcept {
        const time_point begin = here_.now();
        for (time_point before = begin;;) {
            if (asked != nullptr && asked->ends_waits()) loop_.cut();
            offer_help();
            const chunk claimed = loop_.claim(wanted_);
            if (claimed.begin == claimed.end) return true;
            loop_.run(claimed);
            const time_point now = here_.now();
            adapt(claimed.end - claimed.begin, now - before);
            before = now;
            if (now - begin >= loop_.slice_) return !loop_.has_rest();
        }
    }

    // What was offered and is the caller's again, or null. It counts as active.
    [[nodiscard]] bulk_helper* take_back() noexcept {
        bulk_helper* const offered = std::exchange(offered_, nullptr);
        return offered != nullptr && offers_.take_back(*offered) ? offered : nullptr;
    }

private:
    // One helper lies there, until the workers are all at it.
    void offer_help() noexcept {
        if (loop_.workers_ == 1 || !offers_.empty()) return;
        // It is gone, or hidden behind older forks that are.
        bulk_helper* helper = take_back();
        if (helper == nullptr) {
            // Relaxed: one too many would do no harm.
            if (!loop_.has_rest() || loop_.active_.load(sync::relaxed) >= loop_.workers_) return;
            helper = loop_.make_helper();
            if (helper == nullptr) return;  // no memory: those that are at it do without
        }
        if (offers_.offer(*helper)) {
            offered_ = helper;
            offers_.open_all();  // with what is hidden below it, which is older
        } else {
            loop_.discard(*helper);
        }
    }

    // Chunks grow until they take as long as they are to take, by the clock of the scheduler.
    void adapt(std::size_t size, duration took) noexcept {
        const duration right = loop_.slice_ / chunks_of_slice;
        if (took < right / 2) {
            if (size == wanted_ && wanted_ <= loop_.count_ / 2) wanted_ *= 2;
        } else if (took > right * 2) {
            wanted_ = std::max(wanted_ / 2, loop_.grain_);
        }
    }

    bulk& loop_;
    const scheduler& here_;
    sched::offered_forks& offers_;
    std::size_t wanted_;
    bulk_helper* offered_ = nullptr;
};

// Less when little is left, so that all end at about the same time.
bulk::chunk bulk::claim(std::size_t wanted) noexcept {
    const std::size_t least = std::max(wanted / last_chunks, grain_);
    const std::size_t shares = workers_ == 1 ? 1 : 2 * workers_;
    std::size_t begin = next_.load(sync::relaxed);
    for (;;) {
        const std::size_t left = count_ - begin;
        const std::size_t size = std::min(left, std::clamp(left / shares, least, wanted));
        if (size == 0 ||
            next_.compare_exchange_weak(begin, begin + size, sync::relaxed, sync::relaxed)) {
            return {begin, begin + size};
        }
    }
}

// What was claimed before a failure runs to its end, so that the failure with the lowest index is
// what a plain loop would have had.
void bulk::run(chunk claimed) noexcept {
    try {
        visit_(*this, claimed.begin, claimed.end);
    } catch (...) {
        next_.store(count_, sync::relaxed);
        std::lock_guard lock{mutex_};
        if (claimed.begin >= failed_at_) return;
        failed_at_ = claimed.begin;
        failure_ = std::current_exception();
    }
}

void bulk::cut() noexcept {
    if (next_.exchange(count_, sync::relaxed) != count_) was_cut_ = true;
}

// --- the parent --------------------------------------------------------------------------------

bool bulk::start(std::coroutine_handle<> leaf, frame_link& link) noexcept {
    FAIRLEAD_ASSERT(parent_ == nullptr, "a loop was awaited twice");
    root& bottom = *link.bottom;
    parent_ = &bottom;
    scheduler& here = bottom.home();
    // A helper that finds nothing to claim is of no use.
    if (count_ > grain_) workers_ = here.workers();
    if (!bottom.has_forked()) bottom.start_forking();
    claimant self{*this, here, bottom.offers()};
    const bool all_claimed = self.work(&bottom);
    bulk_helper* helper = self.take_back();
    if (all_claimed) {
        if (helper != nullptr) discard(*helper);
    } else {
        // In the parent's place. If there is no memory for it, another is at it already.
        if (helper == nullptr) helper = make_helper();
        if (helper != nullptr) bottom.where().post(*helper);
    }
    if (leave()) return bottom.take_turn_if_due(leaf, link, await_cost::compound);
    bottom.wait_at(leaf, link, root::until::completion, never);
    bottom.await_operation(*this);
    return true;
}

void bulk::finish() {
    if (failure_) std::rethrow_exception(failure_);
    if (was_cut_) {
        parent_->throw_if_ended();
        throw stopped_error{};
    }
}

// --- helpers -----------------------------------------------------------------------------------

const task_kind bulk_helper::kind{.run = run, .abandon = abandon};

executor bulk_helper::target() const noexcept { return loop_.parent_->where(); }

void bulk_helper::run(basic_task& task) noexcept {
    auto& self = static_cast<bulk_helper&>(task);
    const executor where = self.target();
    scheduler& here = where.owner();
    sched::offered_forks& offers = sched::access::current_offers();
    offers.begin(sched::access::home_of(where));
    bulk::claimant step{self.loop_, here, offers};
    // The bodies start tasks as if they ran in the parent, which waits: its context stays as it is.
    const bool has_context = static_cast<bool>(self.loop_.parent_->context());
    if (has_context) sched::access::set_bearer(self.loop_.parent_);
    const bool all_claimed = step.work(nullptr);
    if (has_context) sched::access::set_bearer(nullptr);
    if (bulk_helper* const helper = step.take_back()) self.loop_.discard(*helper);
    if (all_claimed) {
        self.loop_.helper_ended(self);
    } else {
        where.post_last(self, immediately);
    }
}

void bulk_helper::abandon(basic_task& task) noexcept {
    auto& self = static_cast<bulk_helper&>(task);
    self.loop_.helper_ended(self);
}

// Null: there is no memory.
bulk_helper* bulk::make_helper() noexcept {
    const std::uint32_t depth = parent_->depth() + 1;
    bulk_helper* made = nullptr;
    if (!first_.has_value()) {
        made = &first_.emplace(*this, depth);
    } else {
        try {
            made = new bulk_helper{*this, depth};
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
    }
    active_.fetch_add(1, sync::relaxed);  // the caller counts as well, and leaves later
    return made;
}

// The caller counts as well, so it is not the last. The first is for the parent to use again: as it
// was not taken, there never was another.
void bulk::discard(bulk_helper& untaken) noexcept {
    if (&untaken == &*first_) {
        first_.reset();
    } else {
        delete &untaken;
    }
    active_.fetch_sub(1, sync::relaxed);
}

// The last touch of the loop, unless the parent waits for it: then it exists until the parent is
// completed.
void bulk::helper_ended(bulk_helper& ended) noexcept {
    root& parent = *parent_;
    if (&ended != &*first_) delete &ended;
    if (leave()) parent.complete();
}

}  // namespace fairlead::coro
