// No tasks at all: plain calls. The floor.
#include "w5/blocking.hpp"

namespace {

class serial_forks {
public:
    static constexpr const char* name = "serial";

    explicit serial_forks(std::uint64_t) {}

    template <class Body>
    void run(Body body) {
        body();
    }

    template <class First, class Second>
    static void both(First first, Second second) {
        first();
        second();
    }

    template <class Body>
    static void for_each(std::size_t count, Body body) {
        for (std::size_t i = 0; i != count; ++i) body(i);
    }
};

}  // namespace

int main(int argc, char** argv) {
    return bench::w5::main<bench::w5::blocking_solver<serial_forks>>(argc, argv);
}
