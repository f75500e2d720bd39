// A request with a budget: one deadline for the whole of it, a limit for each attempt, and a bucket
// of retries that all requests share.
#include <fairlead/fairlead.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

// Stands for a service that is called over the network.
struct service {
    fl::duration takes;
    int fails = 0;  // so many calls
    int calls = 0;

    fl::task<std::string> ask(std::string what) {
        ++calls;
        co_await fl::sleep_for(takes);
        if (fails > 0 && fails-- > 0) throw std::runtime_error{"refused"};
        co_return what + ", found";
    }
};

// [call]
// Calls one service: three attempts, each of them 80 ms at most, while the bucket has tokens. The
// deadline of the request ends it earlier.
fl::task<std::string> call(service& of, std::string what, fl::retry_budget& retries) {
    const fl::retry_policy policy{.attempts = 3, .first_delay = 20ms, .budget = &retries};
    const fl::waited<std::string> found =
        co_await fl::retry(policy, [&] { return fl::with_timeout(of.ask(what), 80ms); });
    if (!found) throw std::runtime_error{"no answer in three attempts"};
    co_return *found;
}
// [/call]

// [request]
struct services {
    service users;
    service orders;
    // Together no more than one retry for ten calls, after ten at once.
    fl::retry_budget retries{0.1, 10};
};

struct reply {
    int status;
    std::string body;
};

// Both calls inherit the deadline: none of them knows it.
fl::task<std::string> assemble(services& of) {
    const auto [user, orders] = co_await fl::when_all(call(of.users, "user", of.retries),
                                                      call(of.orders, "orders", of.retries));
    co_return user + "; " + orders;
}

fl::task<reply> answer(services& of) {
    try {
        const fl::waited<std::string> page = co_await fl::with_deadline(250ms, assemble(of));
        if (page) co_return reply{200, *page};
        co_return reply{504, "too late"};  // fl::wait_error::expired
    } catch (const std::runtime_error& failure) {
        co_return reply{502, failure.what()};
    }
}
// [/request]

struct measured {
    reply got;
    fl::duration took;
};

fl::task<measured> measure(services& of) {
    const fl::time_point begin = fl::clock::now();
    reply got = co_await answer(of);
    co_return measured{std::move(got), fl::clock::now() - begin};
}

fl::task<bool> use() {
    bool passed = true;
    const auto expect = [&](const char* what, bool holds) {
        std::printf("%s: %s\n", what, holds ? "yes" : "NO");
        passed = passed && holds;
    };

    services well{{10ms}, {10ms}};
    const measured quick = co_await measure(well);
    expect("an answer", quick.got.status == 200 && quick.took == 10ms);

    services shaky{{10ms, 1}, {10ms, 2}};
    const measured again = co_await measure(shaky);
    expect("an answer after retries", again.got.status == 200 && shaky.users.calls == 2 &&
                                          shaky.orders.calls == 3 && again.took < 250ms);

    services stuck{{10ms}, {10s}};
    const measured late = co_await measure(stuck);
    expect("no answer after 250 ms", late.got.status == 504 && late.took == 250ms);
    expect("an attempt has its own limit", stuck.orders.calls == 3);

    // An outage: each request would be three calls.
    services down{{10ms}, {10ms, 1'000'000}};
    constexpr int requests = 200;
    for (int i = 0; i != requests; ++i) static_cast<void>(co_await answer(down));
    std::printf("%d requests have made %d calls of a service that is down\n", requests,
                down.orders.calls);
    // Each request puts 0.2 tokens in, for its two calls.
    expect("retries do not multiply an outage", down.orders.calls <= requests + 10 + requests / 5);
    co_return passed;
}

}  // namespace

int main() {
    fl::test::simulated_scheduler simulated;  // the delays are exact
    return simulated.run(use()) ? 0 : 1;
}
