// Fairlead: fl::channel.
#include "w8/tasks.hpp"

#include <fairlead/channel/channel.hpp>

int main(int argc, char** argv) {
    return bench::run_main(argc, argv, "W8", "fairlead",
                           bench::w8::measure<fairlead::channel<std::uint64_t>>);
}
