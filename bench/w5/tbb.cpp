// oneTBB: parallel_invoke for two; task groups for more, the last child on the parent's own stack.
#include "w5/blocking.hpp"

#include <tbb/global_control.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

namespace {

class tbb_forks {
public:
    static constexpr const char* name = "tbb";

    explicit tbb_forks(std::uint64_t workers)
        : limit_{tbb::global_control::max_allowed_parallelism, workers},
          arena_{static_cast<int>(workers)} {}

    /// The caller is one of the workers.
    template <class Body>
    void run(Body body) {
        arena_.execute(body);
    }

    template <class First, class Second>
    static void both(const First& first, const Second& second) {
        tbb::parallel_invoke(first, second);
    }

    template <class Body>
    static void for_each(std::size_t count, const Body& body) {
        if (count == 0) return;
        tbb::task_group group;
        for (std::size_t i = 0; i + 1 != count; ++i) group.run([&body, i] { body(i); });
        body(count - 1);
        group.wait();
    }

private:
    tbb::global_control limit_;
    tbb::task_arena arena_;
};

}  // namespace

int main(int argc, char** argv) {
    return bench::w5::main<bench::w5::blocking_solver<tbb_forks>>(argc, argv);
}
