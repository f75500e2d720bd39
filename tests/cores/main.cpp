// Plays one scenario, and prints one JSON object. Arguments are name=value: members of `asked`, and
// for the simulated machine those of `costs`.
//
//     simulated scenario=chains workers=64 policy=fair step=1000 near=23 far=107 ...
#include "cores/machine.hpp"
#include "cores/scenarios.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

using namespace fairlead::cores;

double number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
        throw std::invalid_argument{"no number: " + std::string{text}};
    }
    return value;
}

void take(asked& how, std::string_view name, std::string_view text) {
    if (name == "scenario") {
        how.scenario = text;
        return;
    }
    if (name == "policy") {
        how.policy = text == "stealing" ? fairlead::policy::stealing : fairlead::policy::fair;
        return;
    }
    const double value = number(text);
    if (name == "workers") {
        how.workers = static_cast<unsigned>(value);
    } else if (name == "many") {
        how.many = value;
    } else if (name == "groups") {
        how.groups = static_cast<unsigned>(value);
    } else if (name == "step") {
        how.step = static_cast<std::int64_t>(value);
    } else if (name == "gap") {
        how.gap = static_cast<std::int64_t>(value);
    } else if (name == "warm") {
        how.warm = static_cast<std::int64_t>(value);
    } else if (name == "window") {
        how.window = static_cast<std::int64_t>(value);
    } else if (name == "seed") {
        how.seed = static_cast<std::uint64_t>(value);
    } else if (!set(name, value)) {
        throw std::invalid_argument{"no setting is called '" + std::string{name} + "'"};
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        asked how;
        for (int i = 1; i < argc; ++i) {
            const std::string_view argument{argv[i]};
            const std::size_t at = argument.find('=');
            if (at == std::string_view::npos) throw std::invalid_argument{"not name=value"};
            take(how, argument.substr(0, at), argument.substr(at + 1));
        }
        outcome found;
        run(how.workers, [&] { found = play(how); });
        const waits all = waits_of_all();
        const auto as_long = [](std::uint64_t value) {
            return static_cast<unsigned long long>(value);
        };
        std::printf("{\"begun\": %llu, \"ran\": %llu, \"window\": %lld, \"tasks\": %llu",
                    as_long(found.begun), as_long(found.ran), static_cast<long long>(found.window),
                    as_long(all.count()));
        std::printf(", \"p50\": %llu, \"p99\": %llu, \"max\": %llu", as_long(all.at(0.5)),
                    as_long(all.at(0.99)), as_long(all.longest()));
        std::printf(", \"rounds\": %llu, \"wakeups\": %llu, \"stolen\": %llu",
                    as_long(found.counts.rounds), as_long(found.counts.wakeups),
                    as_long(found.counts.stolen));
        std::printf("%s}\n", print_window().c_str());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "cores: %s\n", error.what());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
