// Fairlead: with groups.
#include "w15/fairlead_tenants.hpp"
#include "w15/lag.hpp"
#include "w15/shares.hpp"

int main(int argc, char** argv) {
    using namespace bench;
    return run_main(argc, argv, "W15", "fairlead",
                    [](const options& asked) -> std::optional<measurement> {
                        if (asked.name == "shares") return w15::shares(asked);
                        if (asked.name == "lag") return w15::lag(asked);
                        return w15::measure<true>(asked);
                    });
}
