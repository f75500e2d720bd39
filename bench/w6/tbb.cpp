// oneTBB: parallel_for with its default, the auto_partitioner, and a plain loop over each of its
// ranges.
#include "w6/loop.hpp"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace {

class tbb_loops {
public:
    static constexpr const char* name = "tbb";

    explicit tbb_loops(std::uint64_t workers)
        : limit_{tbb::global_control::max_allowed_parallelism, workers},
          arena_{static_cast<int>(workers)} {}

    /// The caller is one of the workers.
    template <class Body>
    void repeat(std::uint64_t rounds, std::size_t count, const Body& body) {
        const auto part = [body](const tbb::blocked_range<std::size_t>& range) {
            const Body own = body;
            for (std::size_t i = range.begin(); i != range.end(); ++i) own(i);
        };
        arena_.execute([&] {
            for (; rounds != 0; --rounds) {
                tbb::parallel_for(tbb::blocked_range<std::size_t>{0, count}, part,
                                  tbb::auto_partitioner{});
            }
        });
    }

private:
    tbb::global_control limit_;
    tbb::task_arena arena_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w6::main<tbb_loops>(argc, argv); }
