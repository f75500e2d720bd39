// OpenMP tasks, and the last child on the parent's own stack.
#include "w5/blocking.hpp"

namespace {

class openmp_forks {
public:
    static constexpr const char* name = "openmp";

    explicit openmp_forks(std::uint64_t workers) : workers_{static_cast<int>(workers)} {}

    /// The caller is one of the workers.
    template <class Body>
    void run(const Body& body) {
#pragma omp parallel num_threads(workers_)
#pragma omp single
        body();
    }

    template <class First, class Second>
    static void both(const First& first, const Second& second) {
#pragma omp task default(shared)
        first();
        second();
#pragma omp taskwait
    }

    template <class Body>
    static void for_each(std::size_t count, const Body& body) {
        if (count == 0) return;
        for (std::size_t i = 0; i != count - 1; ++i) {
#pragma omp task default(shared) firstprivate(i)
            body(i);
        }
        body(count - 1);
#pragma omp taskwait
    }

private:
    int workers_;
};

}  // namespace

int main(int argc, char** argv) {
    return bench::w5::main<bench::w5::blocking_solver<openmp_forks>>(argc, argv);
}
