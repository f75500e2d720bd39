// Shares: which of the shares that compete is next, by virtual time.
//
// Each share has a weight. Its virtual time goes on by the service that it gets, divided by its
// weight. The mean is that of all virtual times, by weight. A share behind the mean is owed
// service; a share ahead of it owes service, and is not eligible. The eligible share with the
// earliest virtual deadline is next: the time by which its request, a slice of service, would be
// served at its rate. So a share with short slices is served sooner and more often, and no share
// gets more than its weight. A share with less than the mean weight makes shorter requests, in
// proportion: it gets a little often, not a slice after a long time, so its part is right soon.
//
// A share is for any server, or for one server, which serves the shares for any as well. The mean
// is that of all shares. One server may have less to give than its own shares are due. They lag
// behind the mean then, but only so far: beyond that the server counts their virtual times from a
// later point (`ahead`), so their order stays.
//
// A share rests while it can use no more service than it gets: it competes, but is not next. A
// share with nothing to do leaves. Both keep what they are owed, up to `rest_requests` requests if
// the share rests, and up to one if it left. So short pauses cost nothing, long ones bring nothing.
// A share that is away pays off what it owes as the mean moves on.
//
// Plain code without time: the caller says which share was served for how long.
// Source: I. Stoica, H. Abdel-Wahab: Earliest Eligible Virtual Deadline First, 1995; Linux has it
// since 6.6.
#pragma once

#include "sched/groups/pairing_heap.hpp"

#include <fairlead/base/time.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace fairlead::sched {

// Service divided by weight. A double: nothing is lost by division, and it does not run out.
using virtual_duration = std::chrono::duration<double>;

enum class share_state : unsigned char { away, resting, eligible, ahead };

struct share {
    share(double its_weight, duration its_slice) noexcept : weight{its_weight}, slice{its_slice} {}

    double weight;
    virtual_duration slice;

    // For `shares` only.
    virtual_duration served{};    // its virtual time; while it competes, as its server counts
    virtual_duration deadline{};  // of its request
    virtual_duration owed{};      // what it was owed when it left
    share_state state = share_state::away;
    std::size_t server = 0;  // the only server that serves it, from 1 on; 0: any
    heap_links<share> links;
};

class shares {
public:
    static constexpr std::size_t any = 0;  // server

    // Servers 1 to `servers` may have shares of their own.
    explicit shares(std::size_t servers = 0) : of_server_(servers + 1) {}

    // Whether no share competes.
    [[nodiscard]] bool empty() const noexcept { return weights_ == 0; }

    // Whether no share could be next, at any server.
    [[nodiscard]] bool all_rest() const noexcept { return count_waiting_ == 0; }

    // Whether no share of this server could be next.
    [[nodiscard]] bool all_rest_of(std::size_t of) const noexcept {
        return of_server_[of].eligible.empty() && of_server_[of].not_eligible.empty();
    }

    // The share has something to do from now on.
    void join(share& who) noexcept {
        const double others = weights_;
        weights_ += who.weight;
        ++count_;
        virtual_duration kept = std::min(who.owed, request_of(who));
        if (others != 0) kept *= weights_ / others;  // as the mean moves with it
        who.served = std::max(who.served, mean_ - kept) - ahead_of(who);
        who.deadline = who.served;  // a short first request: how many will follow is not known
        enroll(of_server_[who.server], who);
        mean_ -= lag(who) / weights_;  // the mean with it
        insert(who);
    }

    // The share has nothing to do any more.
    void leave(share& who) noexcept {
        remove(who);
        who.state = share_state::away;
        withdraw(of_server_[who.server], who);
        who.served += ahead_of(who);
        who.owed = std::max(mean_ - who.served, virtual_duration{});
        weights_ -= who.weight;
        --count_;
        if (weights_ != 0) mean_ += (mean_ - who.served) * who.weight / weights_;  // without it
    }

    // The share can use no more for now. Requires that it competes.
    void rest(share& who) noexcept {
        remove(who);
        who.state = share_state::resting;
    }

    // The share, which competes, can use more again. It keeps what long steps of other shares cost
    // it: `rest_requests` requests at most, as its limit may never let it use all of its part.
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

    // Limits what the shares of its server are owed by the other shares. Requires that it competes.
    void limit_owed(const share& who) noexcept {
        server& its = of_server_[who.server];
        const double others = weights_ - its.weights;
        if (who.server == any || others == 0) return;
        const virtual_duration excess = mean_of(who) - rest_requests * request_of(who) - its.mean;
        if (excess <= virtual_duration{}) return;
        its.ahead += excess * weights_ / others;  // as the mean moves with them
        mean_ += excess * its.weights / others;
    }

    // From now on the share is for this server.
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

    // The next of the shares for this server alone; of those for any, if `of` is `any`. Or null.
    [[nodiscard]] share* next_own(std::size_t of) noexcept { return first_of(of_server_[of]); }

    // The next of all shares that this server may serve. Or null.
    [[nodiscard]] share* next(std::size_t of = any) noexcept {
        share* const of_any = next_own(any);
        if (of == any) return of_any;
        share* const own = next_own(of);
        if (own == nullptr || of_any == nullptr) return own == nullptr ? of_any : own;
        return goes_before(*of_any, *own) ? of_any : own;
    }

    // The share was served. Negative: it was served less than was said before.
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

    // What service the share is owed; negative: what it owes. Requires that it competes.
    [[nodiscard]] virtual_duration lag(const share& who) const noexcept {
        return (mean_of(who) - who.served) * who.weight;
    }

    // How much service the share requests at once. Requires that it competes.
    [[nodiscard]] virtual_duration request(const share& who) const noexcept {
        return request_of(who) * who.weight;
    }

    // What the share is owed stays the same.
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

    // The shares that compete and are for one server, or for any.
    struct server {
        heap_of_deadlines eligible;  // shares that could be next
        heap_of_times not_eligible;  // shares that wait, but are ahead of the mean
        double weights = 0;          // of all these shares
        virtual_duration mean{};     // of their virtual times, by weight
        virtual_duration ahead{};    // to add to their virtual times; 0 for any
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
    // As its server counts virtual time. Requires that the share competes.
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
        // A share that was eligible may be ahead since another share has left.
        while (!of.eligible.empty() && of.eligible.top()->served > mean) move(*of.eligible.top());
        // None may be eligible: by rounding, or because the shares behind the mean rest.
        return of.eligible.empty() ? ahead.top() : of.eligible.top();
    }

    // Of the first share of each kind: `one` is for any server, `other` for one server.
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
    double weights_ = 0;  // of all shares that compete
    std::size_t count_ = 0;
    std::size_t count_waiting_ = 0;
    std::vector<server> of_server_;  // for any, then for each server
};

}  // namespace fairlead::sched
