// Shares: whose turn it is among those who compete, by virtual time.
//
// Each share has a weight. Its virtual time goes on by the service that it gets, divided by its weight; the virtual time of
// all is the mean of theirs, by weight. Who is behind the mean is owed service; who is ahead of it owes, and is not
// eligible. Of the eligible the one with the earliest virtual deadline is next: the time by which a slice of service, the
// request that it makes, would be served at its rate. So a share that wants short slices is served sooner and more often, and
// none gets more than its weight. Who has less than the mean weight makes requests that are shorter in proportion: it is served
// a little now and then, rather than a slice after a long time, so that its share is right soon.
//
// A share is for any server, or for one: then it alone serves it, when it is next of those that this server may serve. The
// mean is that of all. What one server has to give may be less than its shares are due: then they lag behind the mean, by
// so much at most, from where their virtual times are counted on, so that they stay where they are among each other.
//
// Who can use no more than it is served now rests: it competes, but is not next. Who has nothing to do leaves. Both keep what
// they are owed, up to one slice, so that pauses between two tasks cost nothing, and long ones bring nothing; what it owes
// who is away pays off by the time that goes by.
//
// Plain code without time: the caller says who was served for how long.
//
// Source: I. Stoica, H. Abdel-Wahab: Earliest Eligible Virtual Deadline First, 1995; Linux has it since 6.6.
#pragma once

#include "sched/groups/pairing_heap.hpp"

#include <fairlead/base/time.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace fairlead::sched {

// Service by weight. A double: nothing is lost by division, and it does not run out.
using virtual_duration = std::chrono::duration<double>;

enum class share_state : unsigned char { away, resting, eligible, ahead };

struct share {
    share(double its_weight, duration its_slice) noexcept : weight{its_weight}, slice{its_slice} {}

    double weight;
    virtual_duration slice;

    // Of `shares`.
    virtual_duration served{};    // its virtual time; of its server, while it competes
    virtual_duration deadline{};  // of its request
    virtual_duration owed{};      // when it left
    share_state state = share_state::away;
    std::size_t server = 0;  // who alone serves it, from 1 on; 0: any
    heap_links<share> links;
};

class shares {
public:
    static constexpr std::size_t any = 0;  // server

    // Servers 1 to `servers` may have shares of their own.
    explicit shares(std::size_t servers = 0) : of_server_(servers + 1) {}

    // Whether nobody competes.
    [[nodiscard]] bool empty() const noexcept { return weights_ == 0; }

    // Whether nobody could be next, at any server.
    [[nodiscard]] bool all_rest() const noexcept { return count_waiting_ == 0; }

    // Whether nobody of the shares of this server could be next.
    [[nodiscard]] bool all_rest_of(std::size_t of) const noexcept {
        return of_server_[of].eligible.empty() && of_server_[of].not_eligible.empty();
    }

    // It has something to do from now on.
    void join(share& who) noexcept {
        const double others = weights_;
        weights_ += who.weight;
        ++count_;
        virtual_duration kept = std::min(who.owed, request_of(who));
        if (others != 0) kept *= weights_ / others;  // as the mean moves with it
        who.served = std::max(who.served, mean_ - kept) - ahead_of(who);
        who.deadline =
            who.served;  // its first request is short: how many there will be is not known
        enroll(of_server_[who.server], who);
        mean_ -= lag(who) / weights_;  // the mean with it
        insert(who);
    }

    // It has nothing to do any more.
    void leave(share& who) noexcept {
        remove(who);
        who.state = share_state::away;
        withdraw(of_server_[who.server], who);
        who.served += ahead_of(who);
        who.owed = std::max(mean_ - who.served, virtual_duration{});
        weights_ -= who.weight;
        --count_;
        if (weights_ != 0)
            mean_ += (mean_ - who.served) * who.weight / weights_;  // the mean without it
    }

    // It can use no more for now. It competes.
    void rest(share& who) noexcept {
        remove(who);
        who.state = share_state::resting;
    }

    // It can again. What it is owed because of others' long steps it keeps; but not for ever what it could not use,
    // as its share is more than all that it may run at once.
    void go_on(share& who) noexcept {
        limit_owed(who);
        server& its = of_server_[who.server];
        virtual_duration least = mean_of(who) - rest_requests * request_of(who);
        if (who.server != any) least = std::min(least, its.mean - rest_requests * request_of(who));
        if (who.served < least) {
            const virtual_duration service = (least - who.served) * who.weight;
            mean_ += service / weights_;
            its.mean += service / its.weights;
            who.served = least;
            make_request(who);
        }
        insert(who);
    }

    // Likewise, what all that are for the one server that this one is for are owed by the others. It competes.
    void limit_owed(const share& who) noexcept {
        server& its = of_server_[who.server];
        const double others = weights_ - its.weights;
        if (who.server == any || others == 0) return;
        const virtual_duration excess = mean_of(who) - rest_requests * request_of(who) - its.mean;
        if (excess <= virtual_duration{}) return;
        its.ahead += excess * weights_ / others;  // as the mean moves with them
        mean_ += excess * its.weights / others;
    }

    // From now on it is for this server.
    void move_to(share& who, std::size_t to) noexcept {
        if (who.state == share_state::away) {
            who.server = to;
            return;
        }
        const bool waits = is_waiting(who);
        const virtual_duration further = of_server_[who.server].ahead - of_server_[to].ahead;
        remove(who);
        withdraw(of_server_[who.server], who);
        who.server = to;
        who.served += further;
        who.deadline += further;
        enroll(of_server_[to], who);
        if (waits) insert(who);
    }

    // Whose turn it is of those that are for this server alone, or for any. Null: nobody could be next.
    [[nodiscard]] share* next_own(std::size_t of) noexcept { return first_of(of_server_[of]); }

    // Whose turn it is of those that this server may serve, likewise.
    [[nodiscard]] share* next(std::size_t of = any) noexcept {
        share* const of_any = next_own(any);
        if (of == any) return of_any;
        share* const own = next_own(of);
        if (own == nullptr || of_any == nullptr) return own == nullptr ? of_any : own;
        return goes_before(*of_any, *own) ? of_any : own;
    }

    // It was served, or, if negative, not as long as was said before.
    void serve(share& who, virtual_duration service) noexcept {
        const virtual_duration time = service / who.weight;
        if (who.state == share_state::away) {
            who.served += time;
            who.owed = std::max(who.owed - time, virtual_duration{});
            return;
        }
        const bool rests = who.state == share_state::resting;
        remove(who);
        who.served += time;
        mean_ += service / weights_;
        of_server_[who.server].mean += service / of_server_[who.server].weights;
        if (who.served >= who.deadline) make_request(who);
        if (!rests) insert(who);
    }

    // What it is owed, of service; negative: what it owes. It competes.
    [[nodiscard]] virtual_duration lag(const share& who) const noexcept {
        return (mean_of(who) - who.served) * who.weight;
    }

    // How much of it is served at once. It competes.
    [[nodiscard]] virtual_duration request(const share& who) const noexcept {
        return request_of(who) * who.weight;
    }

    // What it is owed stays the same.
    void set_weight(share& who, double weight) noexcept {
        if (who.state == share_state::away) {
            who.weight = weight;
            return;
        }
        const bool rests = who.state == share_state::resting;
        const virtual_duration due = lag(who);
        remove(who);
        withdraw(of_server_[who.server], who);
        weights_ += weight - who.weight;
        who.weight = weight;
        who.served = mean_of(who) - due / weight;
        enroll(of_server_[who.server], who);
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

    // Those that are for one, or for any.
    struct server {
        heap_of_deadlines eligible;  // of those that could be next
        heap_of_times not_eligible;  // likewise, as they are ahead of the mean
        double weights = 0;          // of all that compete
        virtual_duration mean{};     // of their virtual times, by weight
        virtual_duration ahead{};  // of theirs are the virtual times of all; never of those for any
    };

    static void enroll(server& its, const share& who) noexcept {
        its.weights += who.weight;
        its.mean += (who.served - its.mean) * who.weight / its.weights;
    }
    static void withdraw(server& its, const share& who) noexcept {
        its.weights -= who.weight;
        if (its.weights != 0) its.mean += (its.mean - who.served) * who.weight / its.weights;
    }

    [[nodiscard]] virtual_duration ahead_of(const share& who) const noexcept {
        return of_server_[who.server].ahead;
    }
    // By its own virtual time. It competes.
    [[nodiscard]] virtual_duration mean_of(const share& who) const noexcept {
        return mean_ - ahead_of(who);
    }

    [[nodiscard]] static bool is_waiting(const share& who) noexcept {
        return who.state == share_state::eligible || who.state == share_state::ahead;
    }

    [[nodiscard]] share* first_of(server& of) noexcept {
        const virtual_duration mean = mean_ - of.ahead;
        auto& ahead = of.not_eligible;
        while (!ahead.empty() && ahead.top()->served <= mean) move(*ahead.top());
        // Who was eligible may be ahead since another has left.
        while (!of.eligible.empty() && of.eligible.top()->served > mean) move(*of.eligible.top());
        // Of all one is behind the mean, or at it, but for what was lost in rounding, and for those that rest.
        return of.eligible.empty() ? ahead.top() : of.eligible.top();
    }

    // Of two that are the first each of theirs: one for any, the other not.
    [[nodiscard]] bool goes_before(const share& one, const share& other) const noexcept {
        if (one.state != other.state) return one.state == share_state::eligible;
        return one.state == share_state::eligible ? one.deadline <= other.deadline + ahead_of(other)
                                                  : one.served <= other.served + ahead_of(other);
    }

    void insert(share& who) noexcept {
        ++count_waiting_;
        if (who.served <= mean_of(who)) {
            who.state = share_state::eligible;
            of_server_[who.server].eligible.push(who);
        } else {
            who.state = share_state::ahead;
            of_server_[who.server].not_eligible.push(who);
        }
    }

    void remove(share& who) noexcept {
        if (!is_waiting(who)) return;
        --count_waiting_;
        if (who.state == share_state::eligible) {
            of_server_[who.server].eligible.erase(who);
        } else {
            of_server_[who.server].not_eligible.erase(who);
        }
    }

    void move(share& who) noexcept {
        remove(who);
        insert(who);
    }

    virtual_duration mean_{};
    double weights_ = 0;  // of all who compete
    std::size_t count_ = 0;
    std::size_t count_waiting_ = 0;
    std::vector<server> of_server_;  // any, and each of them
};

}  // namespace fairlead::sched
