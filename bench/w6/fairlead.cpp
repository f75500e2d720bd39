// Fairlead: for_each_index, with the options as they are.
#include "w6/loop.hpp"

#include <fairlead/coro/for_each.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sched/scheduler.hpp>

namespace {

class fairlead_loops {
public:
    static constexpr const char* name = "fairlead";

    explicit fairlead_loops(std::uint64_t workers)
        : scheduler_{{.workers = static_cast<unsigned>(workers)}} {}

    template <class Body>
    void repeat(std::uint64_t rounds, std::size_t count, const Body& body) {
        fairlead::block_on(scheduler_, loops(rounds, count, body));
    }

private:
    template <class Body>
    static fairlead::task<> loops(std::uint64_t rounds, std::size_t count, Body body) {
        for (; rounds != 0; --rounds) co_await fairlead::for_each_index(count, body);
    }

    fairlead::scheduler scheduler_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w6::main<fairlead_loops>(argc, argv); }
