// A plain loop. The floor of one worker.
#include "w6/loop.hpp"

namespace {

class serial_loops {
public:
    static constexpr const char* name = "serial";

    explicit serial_loops(std::uint64_t) {}

    template <class Body>
    void repeat(std::uint64_t rounds, std::size_t count, Body body) {
        for (; rounds != 0; --rounds) {
            for (std::size_t i = 0; i != count; ++i) body(i);
        }
    }
};

}  // namespace

int main(int argc, char** argv) { return bench::w6::main<serial_loops>(argc, argv); }
