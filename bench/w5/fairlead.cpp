// Fairlead: a call for each node, on the stack of its parent.
#include "w5/blocking.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sched/parallel_invoke.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <ranges>

namespace fl = fairlead;

namespace {

class fairlead_solver {
public:
    static constexpr const char* name = "fairlead";

    explicit fairlead_solver(std::uint64_t workers)
        : scheduler_{{.workers = static_cast<unsigned>(workers)}} {}

    template <class Body>
    void run(Body body) {
        fl::block_on(scheduler_, step(body));
    }

    template <class First, class Second>
    static void both(const First& first, const Second& second) {
        static_cast<void>(fl::parallel_invoke(first, second));
    }

    template <class Body>
    static void for_each(std::size_t count, const Body& body) {
        fl::parallel_for_each(std::views::iota(std::size_t{0}, count), body);
    }

private:
    template <class Body>
    static fl::task<> step(Body& body) {
        body();
        co_return;
    }

    fl::scheduler scheduler_;
};

}  // namespace

int main(int argc, char** argv) {
    return bench::w5::main<bench::w5::blocking_solver<fairlead_solver>>(argc, argv);
}
