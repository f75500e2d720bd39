// `explore`, with what the environment of the program asks for: see explorer.hpp.
#include "model/checker/explorer.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace fairlead::model {
namespace {

constexpr std::array access_names{"load", "store", "change", "failed_change"};
constexpr std::array order_names{"relaxed", "acquire", "release", "acq_rel", "seq_cst"};

template <class Enum, std::size_t Size>
Enum named(const std::array<const char*, Size>& names, const std::string& name) {
    for (std::size_t i = 0; i != Size; ++i) {
        if (name == names[i]) return static_cast<Enum>(i);
    }
    throw std::invalid_argument{"no access or memory order is called '" + name + "'"};
}

std::ostream& operator<<(std::ostream& out, const order_site& site) {
    return out << site.file << ' ' << site.line << ' ' << site.column << ' '
               << access_names[static_cast<std::size_t>(site.of)] << ' '
               << order_names[static_cast<std::size_t>(site.written)];
}

// What the environment asks for. Its sites are those of all explorations of the program.
class environment {
public:
    environment() {
        const char* const mutate = std::getenv("FAIRLEAD_MODEL_MUTATE");
        if (mutate == nullptr) return;
        std::istringstream words{mutate};
        mutation wanted;
        std::string of;
        std::string written;
        std::string weaker;
        words >> wanted.site.file >> wanted.site.line >> wanted.site.column >> of >> written >>
            weaker;
        wanted.site.of = named<access>(access_names, of);
        wanted.site.written = named<order>(order_names, written);
        wanted.weaker = named<order>(order_names, weaker);
        mutation_ = wanted;
    }
    environment(const environment&) = delete;
    environment& operator=(const environment&) = delete;
    ~environment() {
        if (path_ == nullptr) return;
        std::ofstream file{path_};
        for (const auto& [site, function] : sites_) file << site << ' ' << function << '\n';
    }

    // Whether the program is only asked how many of its searches the environment can lengthen.
    [[nodiscard]] bool counts_searches() const { return count_ != nullptr; }

    static bool can_lengthen(const options& wanted) {
        return wanted.how != search::exhaustive && wanted.executions_max != unlimited;
    }

    void apply(options& to) {
        if (can_lengthen(to)) {
            if (executions_ != 0) to.executions_max = executions_;
            if (time_ != std::chrono::milliseconds{0}) {
                to.executions_max = unlimited;
                to.time_max = time_;
            }
            if (seed_ != 0) to.seed = seed_;
        }
        if (replay_ != nullptr) to.replay = replay_;
        if (!to.mutate && mutation_) {
            to.mutate = mutation_;
            // With a weaker order there may be far more executions than there should be.
            to.executions_max = std::min(to.executions_max, with_mutation_max);
        }
        if (to.sites == nullptr && path_ != nullptr) to.sites = &sites_;
    }

private:
    // 0: it is not set.
    static std::uint64_t number(const char* name) {
        const char* const text = std::getenv(name);
        return text == nullptr ? 0 : std::stoull(text);
    }

    static std::chrono::milliseconds seconds(const char* name) {
        const char* const text = std::getenv(name);
        return text == nullptr ? std::chrono::milliseconds{0}
                               : std::chrono::duration_cast<std::chrono::milliseconds>(
                                     std::chrono::duration<double>{std::stod(text)});
    }

    static constexpr std::uint64_t with_mutation_max = 500'000;

    const char* const path_ = std::getenv("FAIRLEAD_MODEL_SITES");
    const char* const count_ = std::getenv("FAIRLEAD_MODEL_COUNT");
    const char* const replay_ = std::getenv("FAIRLEAD_MODEL_REPLAY");
    const std::uint64_t executions_ = number("FAIRLEAD_MODEL_EXECUTIONS");
    const std::chrono::milliseconds time_ = seconds("FAIRLEAD_MODEL_SECONDS");
    const std::uint64_t seed_ = number("FAIRLEAD_MODEL_SEED");
    std::optional<mutation> mutation_;
    std::map<order_site, std::string> sites_;
};

}  // namespace

verdict explore(const options& wanted, const std::function<void()>& scenario) {
    static environment of_program;
    if (of_program.counts_searches()) {
        if (environment::can_lengthen(wanted)) std::cout << "a search by chance" << std::endl;
        verdict nothing_seen;
        nothing_seen.complete = true;
        return nothing_seen;
    }
    options with_environment = wanted;
    of_program.apply(with_environment);
    explorer search{with_environment};
    verdict found = search.run(scenario);
    found.seed = with_environment.seed;
    // The environment shortens the search, not the caller, so the caller need not handle it.
    const bool cut_short = with_environment.executions_max != wanted.executions_max ||
                           with_environment.replay != wanted.replay;
    if (cut_short && found.passed) found.complete = true;
    return found;
}

}  // namespace fairlead::model
