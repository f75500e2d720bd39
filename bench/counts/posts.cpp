// Tasks of callbacks, and callables: posted, and run once.
#include "counts/meter.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/group.hpp>

#include <array>
#include <deque>
#include <utility>

namespace fl = fairlead;

namespace bench::counts {
namespace {

// A scheduler on the caller. The caller posts from outside and then runs the tasks.
class outside {
public:
    fl::scheduler& home() { return home_; }
    void run() { home_.run_until_idle(); }

private:
    fl::scheduler home_{{.run_on_caller = true}};
};

void post_tasks_to(fl::executor to, outside& posted, std::uint64_t operations) {
    std::array<fl::callback_task, burst> tasks;
    for (fl::callback_task& each : tasks) each.set_callback([](fl::callback_task&) {});
    for (std::uint64_t done = 0; done != operations; done += burst) {
        for (fl::callback_task& each : tasks) to.post(each);
        posted.run();
    }
}

void post_tasks(std::uint64_t operations) {
    outside posted;
    post_tasks_to(posted.home(), posted, operations);
}

void post_tasks_to_a_group(std::uint64_t operations) {
    outside posted;
    fl::group group{posted.home()};
    post_tasks_to(group, posted, operations);
}

void post_a_batch(std::uint64_t operations) {
    outside posted;
    std::array<fl::callback_task, burst> tasks;
    std::array<fl::basic_task*, burst> all;
    for (std::size_t i = 0; i != burst; ++i) {
        tasks[i].set_callback([](fl::callback_task&) {});
        all[i] = &tasks[i];
    }
    for (std::uint64_t done = 0; done != operations; done += burst) {
        posted.home().post(all);
        posted.run();
    }
}

void post_lambdas(std::uint64_t operations) {
    outside posted;
    std::uint64_t sum = 0;
    for (std::uint64_t done = 0; done != operations; done += burst) {
        for (std::uint64_t i = 0; i != burst; ++i) posted.home().post([&sum] { ++sum; });
        posted.run();
    }
}

void post_to_an_idle_one(std::uint64_t operations) {
    outside posted;
    fl::callback_task task{[](fl::callback_task&) {}};
    for (std::uint64_t done = 0; done != operations; ++done) {
        posted.home().post(task);
        posted.run();
    }
}

// What a chain of tasks passes on, and the thread that waits for its end.
struct chain {
    fl::executor home;
    std::uint64_t left;
    fl::basic_task* caller;

    // Whether it goes on. The signal is the last touch.
    bool goes_on() {
        if (--left != 0) return true;
        caller->signal();
        return false;
    }
};

// A task that posts itself again.
fl::task<> hop_in(fl::executor home, std::uint64_t operations) {
    chain hops{home, operations, &co_await fl::current_task()};
    fl::callback_task task{[at = &hops](fl::callback_task& self) {
        if (at->goes_on()) at->home.post(self);
    }};
    home.post(task);
    static_cast<void>(co_await fl::receive_signal());
}

fl::task<> hop(fl::scheduler& home, std::uint64_t operations) { return hop_in(home, operations); }

fl::task<> hop_in_a_group(fl::scheduler& home, std::uint64_t operations) {
    fl::group group{home};
    co_await hop_in(group, operations);
}

// A task in each group, which posts itself again.
template <std::size_t Groups>
void chain_in_groups(std::uint64_t operations) {
    outside posted;
    struct tenant {
        tenant(fl::scheduler& home, std::uint64_t& left)
            : own{home}, busy{[this, &left](fl::callback_task& self) {
                  if (left == 0) return;
                  --left;
                  own.post(self);
              }} {
            own.post(busy);
        }
        fl::group own;
        fl::callback_task busy;
    };
    std::deque<tenant> all;
    for (std::size_t i = 0; i != Groups; ++i) all.emplace_back(posted.home(), operations);
    posted.run();
}

// Groups that have their turns one after the other, each for one step, which posts the task that
// has run before it. The first and last turns fall out.
template <std::size_t Groups>
void turns_of_groups(std::uint64_t operations) {
    outside posted;
    struct tenant {
        tenant(fl::scheduler& home, tenant*& last, std::uint64_t& left)
            : own{home}, step{[this, &last, &left](fl::callback_task&) {
                  tenant* const before = std::exchange(last, this);
                  if (left == 0 || before == nullptr) return;
                  --left;
                  before->own.post(before->step);
              }} {
            own.post(step);
        }
        fl::group own;
        fl::callback_task step;
    };
    tenant* last = nullptr;
    std::deque<tenant> all;
    for (std::size_t i = 0; i != Groups; ++i) all.emplace_back(posted.home(), last, operations);
    posted.run();
}

// Posts that stay: the group is paused. They are given back when the scheduler goes.
template <std::size_t Before>
void post_to_a_paused_group(std::uint64_t operations) {
    outside posted;
    fl::group group{posted.home()};
    group.pause();
    for (std::size_t i = 0; i != Before; ++i) group.post([] {});
    posted.run();
    for (std::uint64_t done = 0; done != operations; done += burst) {
        for (std::uint64_t i = 0; i != burst; ++i) group.post([] {});
        posted.run();
    }
}

// A callable that posts the next.
struct hopper {
    chain* at;
    void operator()() const {
        if (at->goes_on()) at->home.post(hopper{at});
    }
};

fl::task<> hop_of_lambdas(fl::scheduler& home, std::uint64_t operations) {
    chain hops{home, operations, &co_await fl::current_task()};
    home.post(hopper{&hops});
    static_cast<void>(co_await fl::receive_signal());
}

}  // namespace

void measure_posts(meter& to) {
    to.section("posts");
    to.measure("post a task from outside, 256 in a row", post_tasks);
    to.measure("post a task from outside, 256 in a batch", post_a_batch);
    to.measure("post a callable from outside, 256 in a row", post_lambdas);
    to.measure("post a task to an idle scheduler", post_to_an_idle_one);
    to.measure("post a task from outside to a group, 256 in a row", post_tasks_to_a_group);
    to.measure("post a callable to a paused group, 256 in a row", post_to_a_paused_group<0>);
    to.measure("post a callable to a paused group, 256 behind 100,000",
               post_to_a_paused_group<100'000>);
    to.measure("a step in each of 64 groups in turn", turns_of_groups<64>);
    to.measure("a step in each of 10,000 groups in turn", turns_of_groups<10'000>);
    to.measure("post a task from a step", hop);
    to.measure("post a task from a step in a group", hop_in_a_group);
    to.measure("post a task from a step in each of 64 groups", chain_in_groups<64>);
    to.measure("post a callable from a step", hop_of_lambdas);
}

}  // namespace bench::counts
