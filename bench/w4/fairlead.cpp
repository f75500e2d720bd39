#include "support/runtimes/fairlead.hpp"
#include "w4/messages.hpp"
#include "w4/recursive.hpp"

int main(int argc, char** argv) {
    return bench::run_main(argc, argv, "W4", "fairlead", [](const bench::options& asked) {
        const auto found = bench::w4::measure_ports<fairlead::policy::fair>(asked);
        return found ? found : bench::w4::measure<bench::fairlead_runtime>(asked);
    });
}
