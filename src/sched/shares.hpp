// Shares: whose turn it is among those who compete, by virtual time.
//
// Each share has a weight. Its virtual time goes on by the service that it gets, divided by its weight; the virtual time of
// all is the mean of theirs, by weight. Who is behind the mean is owed service; who is ahead of it owes, and is not
// eligible. Of the eligible the one with the earliest virtual deadline is next: the time by which a slice of service, the
// request that it makes, would be served at its rate. So a share that wants short slices is served sooner and more often, and
// none gets more than its weight. Who has less than the mean weight makes requests that are shorter in proportion: it is served
// a little now and then, rather than a slice after a long time, so that its share is right soon.
//
// Who can use no more than it is served now rests: it competes, but is not next. Who has nothing to do leaves. Both keep what
// they are owed, up to one slice, so that pauses between two tasks cost nothing, and long ones bring nothing; what it owes
// who is away pays off by the time that goes by.
//
// Plain code without time: the caller says who was served for how long.
//
// Source: I. Stoica, H. Abdel-Wahab: Earliest Eligible Virtual Deadline First, 1995; Linux has it since 6.6.
#pragma once

#include "sched/pairing_heap.hpp"

#include <fairlead/base/time.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace fairlead::sched {

// Service by weight. A double: nothing is lost by division, and it does not run out.
using virtual_duration = std::chrono::duration<double>;

struct share {
    share(double its_weight, duration its_slice) noexcept : weight{its_weight}, slice{its_slice} {}

    double weight;
    virtual_duration slice;

    // Of `shares`.
    virtual_duration served{};    // its virtual time
    virtual_duration deadline{};  // of its request
    virtual_duration owed{};      // when it left
    enum class place : unsigned char { away, resting, eligible, ahead } where = place::away;
    heap_links<share> links;
};

class shares {
public:
    // Whether nobody competes.
    [[nodiscard]] bool empty() const noexcept { return weights_ == 0; }

    // Whether nobody could be next.
    [[nodiscard]] bool all_rest() const noexcept { return eligible_.empty() && ahead_.empty(); }

    // It has something to do from now on.
    void join(share& who) noexcept {
        const double others = weights_;
        weights_ += who.weight;
        ++count_;
        virtual_duration kept = std::min(who.owed, request_of(who));
        if (others != 0) kept *= weights_ / others;  // as the mean moves with it
        who.served = std::max(who.served, mean_ - kept);
        who.deadline =
            who.served;  // its first request is short: how many there will be is not known
        mean_ -= lag(who) / weights_;  // the mean with it
        insert(who);
    }

    // It has nothing to do any more.
    void leave(share& who) noexcept {
        remove(who);
        who.where = share::place::away;
        who.owed = std::max(mean_ - who.served, virtual_duration{});
        weights_ -= who.weight;
        --count_;
        if (weights_ != 0) mean_ += lag(who) / weights_;  // the mean without it
    }

    // It can use no more for now. It competes.
    void rest(share& who) noexcept {
        remove(who);
        who.where = share::place::resting;
    }

    // It can again. What it is owed because of others' long steps it keeps; but not for ever what it could not use,
    // as its share is more than all that it may run at once.
    void go_on(share& who) noexcept {
        const virtual_duration least = mean_ - rest_requests * request_of(who);
        if (who.served < least) {
            mean_ += (least - who.served) * who.weight / weights_;
            who.served = least;
            make_request(who);
        }
        insert(who);
    }

    // Whose turn it is, or null if nobody could be next.
    [[nodiscard]] share* next() noexcept {
        while (!ahead_.empty() && ahead_.top()->served <= mean_) move(*ahead_.top());
        // Who was eligible may be ahead since another has left.
        while (!eligible_.empty() && eligible_.top()->served > mean_) move(*eligible_.top());
        // One is behind the mean, or at it, but for what was lost in rounding, and for those that rest.
        return eligible_.empty() ? ahead_.top() : eligible_.top();
    }

    // It was served, or, if negative, not as long as was said before.
    void serve(share& who, virtual_duration service) noexcept {
        const virtual_duration time = service / who.weight;
        if (who.where == share::place::away) {
            who.served += time;
            who.owed = std::max(who.owed - time, virtual_duration{});
            return;
        }
        const bool rests = who.where == share::place::resting;
        remove(who);
        who.served += time;
        mean_ += service / weights_;
        if (who.served >= who.deadline) make_request(who);
        if (!rests) insert(who);
    }

    // What it is owed, of service; negative: what it owes. It competes.
    [[nodiscard]] virtual_duration lag(const share& who) const noexcept {
        return (mean_ - who.served) * who.weight;
    }

    // How much of it is served at once. It competes.
    [[nodiscard]] virtual_duration request(const share& who) const noexcept {
        return request_of(who) * who.weight;
    }

    // What it is owed stays the same.
    void set_weight(share& who, double weight) noexcept {
        if (who.where == share::place::away) {
            who.weight = weight;
            return;
        }
        const bool rests = who.where == share::place::resting;
        const virtual_duration due = lag(who);
        remove(who);
        weights_ += weight - who.weight;
        who.weight = weight;
        who.served = mean_ - due / weight;
        make_request(who);
        if (!rests) insert(who);
    }

private:
    static constexpr double rest_requests = 20;

    using heap_of_deadlines = pairing_heap<share, &share::links, &share::deadline>;
    using heap_of_times = pairing_heap<share, &share::links, &share::served>;

    [[nodiscard]] virtual_duration request_of(const share& who) const noexcept {
        return who.slice * std::min(1 / who.weight, static_cast<double>(count_) / weights_);
    }
    void make_request(share& who) noexcept { who.deadline = who.served + request_of(who); }

    void insert(share& who) noexcept {
        if (who.served <= mean_) {
            who.where = share::place::eligible;
            eligible_.push(who);
        } else {
            who.where = share::place::ahead;
            ahead_.push(who);
        }
    }

    void remove(share& who) noexcept {
        if (who.where == share::place::eligible) eligible_.erase(who);
        if (who.where == share::place::ahead) ahead_.erase(who);
    }

    void move(share& who) noexcept {
        remove(who);
        insert(who);
    }

    virtual_duration mean_{};
    double weights_ = 0;  // of all who compete
    std::size_t count_ = 0;
    heap_of_deadlines eligible_;
    heap_of_times ahead_;
};

}  // namespace fairlead::sched
