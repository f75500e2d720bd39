// OpenMP: `parallel for`, with the schedule that suits the case: static, or dynamic if bodies are
// unequal.
#include "w6/loop.hpp"

#include <type_traits>

namespace {

class openmp_loops {
public:
    static constexpr const char* name = "openmp";

    explicit openmp_loops(std::uint64_t workers) : workers_{static_cast<int>(workers)} {}

    /// The caller is one of the workers.
    template <class Body>
    void repeat(std::uint64_t rounds, std::size_t count, Body body) {
        for (; rounds != 0; --rounds) {
            if constexpr (std::is_same_v<Body, bench::w6::tiny_body>) {
#pragma omp parallel for num_threads(workers_) schedule(static) firstprivate(body)
                for (std::size_t i = 0; i < count; ++i) body(i);
            } else {
#pragma omp parallel for num_threads(workers_) schedule(dynamic, 1024) firstprivate(body)
                for (std::size_t i = 0; i < count; ++i) body(i);
            }
        }
    }

private:
    int workers_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w6::main<openmp_loops>(argc, argv); }
