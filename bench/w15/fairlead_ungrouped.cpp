// Fairlead without groups: what they buy, and what they cost.
#include "w15/fairlead_tenants.hpp"

int main(int argc, char** argv) {
    return bench::run_main(argc, argv, "W15", "fairlead_ungrouped", bench::w15::measure<false>);
}
