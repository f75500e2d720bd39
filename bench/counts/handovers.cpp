#include "counts/handovers.hpp"

#include <fairlead/detail/lockfree/block_queue.hpp>
#include <fairlead/detail/lockfree/fork_deque.hpp>
#include <fairlead/detail/lockfree/run_queue.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <pthread.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>

namespace fl = fairlead;

namespace bench::counts {
namespace {

using namespace std::chrono_literals;

// A store to one of them says what follows.
struct alignas(64) {
    volatile char nobody;  // what is no part of a path
    volatile char first;   // this thread is at work
    volatile char second;  // the other
    volatile char mark;    // a path has run once more
} signs;

// The stack of a thread and its thread-local memory are its own. Accesses there count for neither
// thread after its turn has ended and the other turn has begun.
struct stack {
    const void* begin;
    const void* end;
};

stack own_stack() {
    pthread_attr_t attributes;
    void* begin = nullptr;
    std::size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0 ||
        pthread_attr_getstack(&attributes, &begin, &size) != 0) {
        std::abort();
    }
    pthread_attr_destroy(&attributes);
    return {begin, static_cast<char*>(begin) + size};
}

constexpr std::uint64_t together = 64;

struct node {
    node* next = nullptr;
};

// On lines of their own, wherever the memory comes from.
template <class Item>
struct alignas(64) apart : Item {
    using Item::Item;
};

using tasks = std::array<apart<fl::callback_task>, together>;

std::unique_ptr<tasks> make_tasks() {
    auto all = std::make_unique<tasks>();
    for (auto& each : *all) each.set_callback([](fl::callback_task&) {});
    return all;
}

// A scheduler that the other thread runs.
struct handover {
    explicit handover(other_thread& by) : other{by} {}

    void run() {
        other.run([this] { home->run_until_idle(); });
    }

    other_thread& other;
    std::unique_ptr<fl::scheduler> home =
        std::make_unique<fl::scheduler>(fl::scheduler_options{.run_on_caller = true});
};

// Runs `path(operations)` with each size; the mark after it ends the count. The objects of the path
// live longer: which thread has which line at the beginning depends on earlier runs.
template <class Path>
void in_all_sizes(std::uint64_t size, Path path) {
    for (const std::uint64_t operations : {2 * size, size, 2 * size}) {
        signs.first = 1;
        path(operations);
        signs.nobody = 1;
        signs.mark = 1;
    }
}

void post_tasks(other_thread& other, std::uint64_t size) {
    handover to{other};
    const auto all = make_tasks();
    in_all_sizes(size, [&](std::uint64_t left) {
        for (; left != 0; left -= together) {
            for (auto& each : *all) to.home->post(each);
            to.run();
        }
    });
}

void post_one(other_thread& other, std::uint64_t size) {
    handover to{other};
    const auto all = make_tasks();
    in_all_sizes(size, [&](std::uint64_t left) {
        for (; left != 0; --left) {
            to.home->post(all->front());
            to.run();
        }
    });
}

void post_callables(other_thread& other, std::uint64_t size) {
    handover to{other};
    in_all_sizes(size, [&](std::uint64_t left) {
        for (; left != 0; left -= together) {
            for (std::uint64_t i = 0; i != together; ++i) to.home->post([] {});
            to.run();
        }
    });
}

// Sleeping tasks, with a deadline or without, are woken from here, and run there.
template <bool WithDeadline>
void wake(other_thread& other, std::uint64_t size) {
    handover to{other};
    const auto all = make_tasks();
    in_all_sizes(size, [&](std::uint64_t left) {
        for (; left != 0; left -= together) {
            for (auto& each : *all) {
                if (WithDeadline) {
                    to.home->post_delay(each, 1h);
                } else {
                    to.home->post_wait(each);
                }
            }
            to.run();
            for (auto& each : *all) each.wakeup();
            to.run();
        }
    });
}

template <class Structure>
auto on_lines_of_its_own() {
    return std::make_unique<apart<Structure>>();
}

void claim(other_thread& other, std::uint64_t size) {
    using queue_of_nodes = fl::lockfree::block_queue<node>;
    const auto queue = on_lines_of_its_own<queue_of_nodes>();
    queue_of_nodes::consumer worker{*queue};
    node item;
    std::array<node*, together> in;
    in.fill(&item);
    in_all_sizes(size, [&](std::uint64_t left) {
        for (; left != 0; left -= together) {
            if (queue->push(in) != together) std::abort();
            other.run([&worker] {
                std::array<node*, together> out;
                if (worker.claim(out) != together) std::abort();
            });
        }
    });
}

void steal_from_a_run(other_thread& other, std::uint64_t size) {
    const auto run = on_lines_of_its_own<fl::lockfree::run_queue<node>>();
    node item;
    std::array<node*, 2 * together> in;
    in.fill(&item);
    in_all_sizes(size, [&](std::uint64_t left) {
        for (; left != 0; left -= together) {
            run->push(in);
            other.run([&run] {
                std::array<node*, 2 * together> out;
                if (run->steal(out) != together) std::abort();
            });
            while (run->pop() != nullptr) {
            }
        }
    });
}

void steal_a_fork(other_thread& other, std::uint64_t size) {
    const auto forks = std::make_unique<fl::lockfree::fork_deque<node>>(1);
    node item;
    in_all_sizes(size, [&](std::uint64_t left) {
        for (; left != 0; --left) {
            if (!forks->push(item) || !forks->open()) std::abort();
            other.run([&forks] {
                if (forks->steal() == nullptr) std::abort();
            });
            if (forks->pop() != nullptr) std::abort();
        }
    });
}

// A tracer makes a line of text of each access, so the sizes are small; but a block of the block
// queue is 1,024 items, and the run and the deque are rings of 256.
constexpr struct {
    const char* name;
    void (*run)(other_thread& other, std::uint64_t size);
    std::uint64_t size;
} paths[] = {
    {"post a task from outside, 64 in a row", post_tasks, 128},
    {"post a task from outside, alone", post_one, 128},
    {"post a callable from outside, 64 in a row", post_callables, 128},
    {"wait and be woken from outside, 64 in a row", wake<false>, 128},
    {"set a deadline and cancel it from outside, 64 in a row", wake<true>, 128},
    {"block queue: push and claim, 64 at once", claim, 2048},
    {"run queue: push 128, and steal 64 of them", steal_from_a_run, 256},
    {"fork deque: push, and steal", steal_a_fork, 256},
};

}  // namespace

other_thread::other_thread()
    : thread_{[this] {
          for (;;) {
              turn_.receive();
              if (step_ == nullptr) return;
              signs.second = 1;
              (*step_)();
              signs.nobody = 1;
              turn_back_.send();
          }
      }} {}

other_thread::~other_thread() {
    step_ = nullptr;
    turn_.send();
    thread_.join();
}

void other_thread::run(const std::function<void()>& step) {
    step_ = &step;
    signs.nobody = 1;
    turn_.send();
    turn_back_.receive();
    signs.first = 1;
}

namespace {

void run_all() {
    other_thread other;
    const stack first = own_stack();
    stack second{};
    other.run([&second] { second = own_stack(); });
    signs.nobody = 1;
    std::printf(R"({"nobody": %llu, "first": %llu, "second": %llu, "mark": %llu,
 "stacks": [[%llu, %llu], [%llu, %llu]], "paths": [)",
                reinterpret_cast<unsigned long long>(&signs.nobody),
                reinterpret_cast<unsigned long long>(&signs.first),
                reinterpret_cast<unsigned long long>(&signs.second),
                reinterpret_cast<unsigned long long>(&signs.mark),
                reinterpret_cast<unsigned long long>(first.begin),
                reinterpret_cast<unsigned long long>(first.end),
                reinterpret_cast<unsigned long long>(second.begin),
                reinterpret_cast<unsigned long long>(second.end));
    for (const auto& each : paths) {
        std::printf("%s\n  {\"name\": \"%s\", \"operations\": %llu}", &each == paths ? "" : ",",
                    each.name, static_cast<unsigned long long>(each.size));
    }
    std::printf("]}\n");
    std::fflush(stdout);
    for (const auto& each : paths) each.run(other, each.size);
}

}  // namespace

// Not on the first thread of the process, whose thread-local memory is not by its stack.
void run_handovers() { std::thread{run_all}.join(); }

}  // namespace bench::counts
