// Shares by virtual time, without threads: servers that take turns by what `shares` says.
#include "sched/groups/shares.hpp"
#include "support/sanitizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace fairlead::sched::shares_tests {
namespace {

using namespace std::chrono_literals;

constexpr duration usual_slice = 1ms;

struct client : share {
    explicit client(double its_weight, duration its_slice = usual_slice)
        : share{its_weight, its_slice} {}
    virtual_duration service{};
    virtual_duration total{};
};

client& next_of(shares& all) { return static_cast<client&>(*all.next()); }

// --- the heap ------------------------------------------------------------------------------------

struct item {
    int key = 0;
    heap_links<item> links;
};

TEST(PairingHeap, IsAPriorityQueueWithErasure) {
    std::mt19937 random{1};
    pairing_heap<item, &item::links, &item::key> heap;
    std::deque<item> items;
    std::vector<item*> inside;
    const auto first = [&] {
        return (*std::ranges::min_element(inside, {}, [](const item* each) { return each->key; }))
            ->key;
    };
    for (int i = 0; i != 20'000; ++i) {
        switch (random() % (i < 10'000 ? 3 : 5)) {  // first it grows
            case 0:
            case 1:
                inside.push_back(&items.emplace_back(static_cast<int>(random() % 1'000)));
                heap.push(*inside.back());
                break;
            case 2:
            case 3:
                if (inside.empty()) break;
                ASSERT_EQ(heap.top()->key, first());
                std::erase(inside, heap.top());
                heap.pop();
                break;
            default:
                if (inside.empty()) break;
                const auto erased =
                    inside.begin() + static_cast<std::ptrdiff_t>(random() % inside.size());
                heap.erase(**erased);
                inside.erase(erased);
        }
        ASSERT_EQ(heap.empty(), inside.empty());
        if (i % 100 == 0 && !inside.empty()) {
            ASSERT_EQ(heap.top()->key, first());
        }
    }
}

// --- shares --------------------------------------------------------------------------------------

TEST(Shares, NobodyIsNextWhileNobodyCompetes) {
    shares all;
    EXPECT_EQ(all.next(), nullptr);
    client one{1};
    all.join(one);
    EXPECT_EQ(all.next(), &one);
    all.serve(one, 5ms);
    EXPECT_EQ(all.next(), &one) << "who is alone is always next";
    all.leave(one);
    EXPECT_EQ(all.next(), nullptr);
    EXPECT_TRUE(all.empty());
}

// Steps of 1 to 50 us, by one server and by two, each of which says beforehand what it will use at
// most.
TEST(Shares, AreByWeight) {
    for (const int servers : {1, 2, 8}) {
        if (test::sanitized && servers == 8) continue;  // three quarters of the steps
        SCOPED_TRACE(servers);
        std::mt19937 random{7};
        shares all;
        std::deque<client> clients;
        double weights = 0;
        for (int weight = 1; weight <= 64; ++weight) {
            all.join(clients.emplace_back(weight));
            weights += weight;
        }
        struct server {
            client* of = nullptr;
            duration step{};
            duration until{};
        };
        std::vector<server> all_servers(static_cast<std::size_t>(servers));
        constexpr duration most = 50us;
        duration now{};
        while (now < 10s) {
            server& free = *std::ranges::min_element(all_servers, {}, &server::until);
            now = free.until;
            if (free.of != nullptr) all.serve(*free.of, free.step - most);
            free.of = &next_of(all);
            all.serve(*free.of, most);
            free.step = std::chrono::microseconds{1 + random() % 50};
            free.of->service += free.step;
            free.until = now + free.step;
        }
        for (const client& each : clients) {
            const virtual_duration wanted = 10s * servers * (each.weight / weights);
            EXPECT_NEAR(each.service / wanted, 1, 0.02) << each.weight;
        }
    }
}

// Clients come and go, with steps up to a slice. No client is owed more than a slice and a step,
// and none owes more.
TEST(Shares, LagIsBounded) {
    std::mt19937 random{3};
    shares all;
    std::deque<client> clients;
    std::vector<client*> away;
    std::vector<client*> here;
    for (int i = 0; i != 100; ++i)
        away.push_back(&clients.emplace_back(static_cast<double>(1 + random() % 100)));
    for (int i = 0; i != 200'000; ++i) {
        if (!away.empty() && random() % 3 == 0) {
            std::swap(away[random() % away.size()], away.back());
            all.join(*away.back());
            here.push_back(away.back());
            away.pop_back();
        }
        if (here.empty()) continue;
        client& served = next_of(all);
        all.serve(served, std::chrono::microseconds{random() % 1'000});
        for (const client* each : here) {
            ASSERT_LE(all.lag(*each), 2 * usual_slice) << i;
            ASSERT_GE(all.lag(*each), -2 * usual_slice) << i;
        }
        if (random() % 3 == 0) {
            all.leave(served);
            std::erase(here, &served);
            away.push_back(&served);
        }
    }
}

// After an hour away it gets what it is owed from before, a slice at most, and then its half.
TEST(Shares, WhoSleepsGainsNothing) {
    shares all;
    client busy{1};
    client sleeper{1};
    all.join(busy);
    all.join(sleeper);
    for (int i = 0; i != 50; ++i) all.serve(busy, 1ms);  // though it was not next
    all.leave(sleeper);
    for (int i = 0; i != 3'600; ++i) all.serve(busy, 1s);
    all.join(sleeper);
    for (int i = 0; i != 1'000; ++i) {
        client& next = next_of(all);
        all.serve(next, 100us);
        next.service += 100us;
    }
    EXPECT_LE(sleeper.service, 50ms + 2 * usual_slice);
    EXPECT_GE(sleeper.service, 50ms);
}

// It leaves after each step, which is much longer than its slice, and comes back at once.
TEST(Shares, WhoLeavesStillOwes) {
    shares all;
    client busy{1};
    client evader{1};
    all.join(busy);
    all.join(evader);
    for (int i = 0; i != 10'000; ++i) {
        client& next = next_of(all);
        const duration step = &next == &busy ? 100us : 10ms;
        all.serve(next, step);
        next.service += step;
        if (&next == &evader) {
            all.leave(evader);
            all.join(evader);
        }
    }
    EXPECT_NEAR(evader.service / busy.service, 1, 0.02);
}

// Pauses between two steps cost a client nothing: a client that always has its next step gets no
// more than its share.
TEST(Shares, WhoPausesForAMomentKeepsItsShare) {
    shares all;
    client busy{1};
    client pausing{3};
    all.join(busy);
    all.join(pausing);
    for (int i = 0; i != 40'000; ++i) {
        client& next = next_of(all);
        all.serve(next, 50us);
        next.service += 50us;
        if (&next == &pausing) {
            all.leave(pausing);
            if (i % 2 == 0) {
                all.serve(busy, 10us);
                busy.service += 10us;
            }
            all.join(pausing);
        }
    }
    // Three quarters, but for 5 us of each pause at most.
    EXPECT_GE(pausing.service / busy.service, 50 / (50.0 / 3 + 5) * 0.98);
    EXPECT_LE(pausing.service / busy.service, 3.02);
}

// Two clients of one weight. The client with short slices waits less often for a long slice than
// the other client waits for a short one.
TEST(Shares, ShortSlicesAreServedSooner) {
    shares all;
    client patient{1, 10ms};
    client hasty{1, 1ms};
    all.join(patient);
    all.join(hasty);
    int turns_of_hasty = 0;
    const client* last = nullptr;
    for (int i = 0; i != 10'000; ++i) {
        client& next = next_of(all);
        turns_of_hasty += &next == &hasty && last != &hasty;
        last = &next;
        all.serve(next, 100us);
        next.service += 100us;
    }
    EXPECT_NEAR(hasty.service / patient.service, 1, 0.02);
    EXPECT_GE(turns_of_hasty,
              300);  // of 500 ms in slices of 1 ms; alone it had 50 by the other's slices
}

TEST(Shares, AWeightMayChange) {
    shares all;
    std::deque<client> clients;
    for (int i = 0; i != 4; ++i) all.join(clients.emplace_back(1));
    const auto serve_for = [&](duration time) {
        for (client& each : clients) each.service = {};
        for (duration done{}; done < time; done += 100us) {
            client& next = next_of(all);
            all.serve(next, 100us);
            next.service += 100us;
        }
    };
    serve_for(1s);
    all.set_weight(clients[0], 5);
    serve_for(1s);
    EXPECT_NEAR(clients[0].service / 1s, 5.0 / 8, 0.01);
    EXPECT_NEAR(clients[1].service / 1s, 1.0 / 8, 0.01);
    all.set_weight(clients[0], 1);
    serve_for(1s);
    EXPECT_NEAR(clients[0].service / 1s, 0.25, 0.01);
}

// Two servers, which take turns: some are for any, some for one of them.
struct two_servers {
    void serve_for(duration time) {
        for (client& each : clients) each.service = {};
        for (duration done{}; done < time; done += 100us) {
            for (const std::size_t server : {1U, 2U}) {
                auto* const next = static_cast<client*>(all.next(server));
                if (next == nullptr) continue;
                EXPECT_TRUE(next->server == shares::any || next->server == server);
                all.serve(*next, 100us);
                all.limit_owed(*next);
                next->service += 100us;
            }
        }
    }

    client& add(double weight, std::size_t server) {
        client& added = clients.emplace_back(weight);
        all.move_to(added, server);
        all.join(added);
        return added;
    }

    shares all{2};
    std::deque<client> clients;
};

TEST(Shares, ServersMayHaveSharesOfTheirOwn) {
    two_servers both;
    both.add(1, shares::any);
    both.add(1, 1);
    both.add(1, 2);
    both.serve_for(1s);
    for (const client& each : both.clients) EXPECT_NEAR(each.service / 1s, 2.0 / 3, 0.01);
    // They move while they compete.
    both.all.move_to(both.clients[0], 2);
    both.serve_for(1s);
    EXPECT_NEAR(both.clients[0].service / 1s, 0.5, 0.05);
    EXPECT_NEAR(both.clients[1].service / 1s, 1, 0.01);
    EXPECT_NEAR(both.clients[2].service / 1s, 0.5, 0.05);
    both.all.move_to(both.clients[0], shares::any);
    both.serve_for(1s);
    for (const client& each : both.clients) EXPECT_NEAR(each.service / 1s, 2.0 / 3, 0.05);
    both.all.move_to(both.clients[0], 2);
    EXPECT_TRUE(both.all.all_rest_of(shares::any));
    both.all.rest(both.clients[1]);
    EXPECT_EQ(both.all.next(1), nullptr);
    EXPECT_NE(both.all.next(2), nullptr);
    EXPECT_FALSE(both.all.all_rest());
}

// Its weight is worth more than one server can give; when it is worth less, it has not saved that
// up.
TEST(Shares, WhoIsForOneServerIsNotOwedForEverWhatThatCouldNotGive) {
    two_servers both;
    client& heavy = both.add(100, 1);
    client& light = both.add(1, 1);
    both.add(1, shares::any);
    both.serve_for(10s);
    EXPECT_NEAR(heavy.service / 10s, 100.0 / 101, 0.001);
    EXPECT_NEAR(light.service / 10s, 1.0 / 101, 0.001);
    both.all.set_weight(heavy, 1);
    both.serve_for(1s);
    EXPECT_NEAR(heavy.service / 1s, 0.5, 0.05);
    EXPECT_NEAR(light.service / 1s, 0.5, 0.05);
    // Nor does a client of any server owe for time that no other client could use.
    client& comer = both.add(1, shares::any);
    both.serve_for(1s);
    EXPECT_NEAR(comer.service / 1s, 0.5, 0.1);
}

// What their server could not give them is not taken from the one of them that rests now and then.
TEST(Shares, WhoRestsKeepsItsShareOfItsServer) {
    for (const double weight : {1.0, 10.0, 100.0}) {
        two_servers both;
        both.add(weight, shares::any);
        client& goes_on = both.add(100, 1);
        client& rests = both.add(100, 1);
        for (int i = 0; i != 1'000; ++i) {
            both.all.rest(rests);
            both.all.go_on(rests);
            both.serve_for(1ms);
            goes_on.total += goes_on.service;
            rests.total += rests.service;
        }
        EXPECT_NEAR(goes_on.total / 1s, 0.5, 0.02) << weight;
        EXPECT_NEAR(rests.total / 1s, 0.5, 0.02) << weight;
    }
}

// Clients of one server owe each other time because of a long step. No other client gets that time.
TEST(Shares, WhatThoseOfOneServerOweEachOtherStaysAmongThem) {
    two_servers both;
    client& others = both.add(100, shares::any);
    client& was_long = both.add(100, 1);
    client& waits = both.add(100, 1);
    both.all.serve(was_long, 500ms);
    both.all.serve(others, 500ms);
    both.serve_for(200ms);
    EXPECT_EQ(was_long.service, 0s);
    EXPECT_NEAR(waits.service / 200ms, 1, 0.01);
    EXPECT_NEAR(others.service / 200ms, 1, 0.01);
}

}  // namespace
}  // namespace fairlead::sched::shares_tests
