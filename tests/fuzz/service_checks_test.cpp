// The checks of the fuzz targets of the save-game service, and of what its user gives, can fail:
// each finds a planted mistake.
#include "fuzz/options_check.hpp"
#include "fuzz/random_input.hpp"
#include "fuzz/saves_check.hpp"
#include "fuzz/service_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <expected>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace fairlead::fuzz::service_checks_tests {
namespace {

const std::filesystem::path corpus{FAIRLEAD_FUZZ_CORPUS};

// --- what a user gives ---------------------------------------------------------------------------

template <class Code>
void run_options() {
    run_with_changed_corpus(corpus / "options", check_options<Code>);
    run_with_random_bytes(check_options<Code>);
}

struct addresses_up_to_a_mistake : options_code {
    static auto parse_address(std::string_view host, std::uint16_t port) {
        return io::address::parse(host.substr(0, host.find_first_not_of("0123456789abcdef.:")),
                                  port);
    }
};

struct addresses_of_another_port : options_code {
    static auto parse_address(std::string_view host, std::uint16_t port) {
        return io::address::parse(host, static_cast<std::uint16_t>(port << 8 | port >> 8));
    }
};

struct scheduler_that_takes_any_limit : scheduler {
    static scheduler_options corrected(scheduler_options options) {
        options.stop_limit = std::max(options.stop_limit, duration::zero());
        return options;
    }
    explicit scheduler_that_takes_any_limit(scheduler_options options)
        : scheduler{corrected(std::move(options))} {}
};
struct limits_that_are_not_checked : options_code {
    using scheduler = scheduler_that_takes_any_limit;
};

struct errors_that_are_forgotten : options_code {
    static void complete(savegames::settings& given) try {
        savegames::complete(given);
    } catch (const savegames::usage_error&) {
    }
};

struct table_of_prefixes : savegames::token_table {
    static std::expected<table_of_prefixes, std::string> parse(std::string_view text,
                                                               std::string_view name) {
        auto table = token_table::parse(text, name);
        if (!table) return std::unexpected{table.error()};
        return table_of_prefixes{std::move(*table)};
    }
    [[nodiscard]] bool allows(std::string_view game, std::string_view token) const {
        return token_table::allows(game, token) ||
               token_table::allows(game, token.substr(0, token.size() - 1));
    }
};
struct tokens_by_prefix : options_code {
    using token_table = table_of_prefixes;
};

TEST(FuzzChecks, AcceptWhatAUserGives) { run_options<options_code>(); }
TEST(FuzzChecksDeathTest, SeeWhatIsNoAddress) {
    EXPECT_DEATH(run_options<addresses_up_to_a_mistake>(),
                 "both know it for an address, or neither");
}
TEST(FuzzChecksDeathTest, SeeAnotherPort) {
    EXPECT_DEATH(run_options<addresses_of_another_port>(), "with its port");
}
TEST(FuzzChecksDeathTest, SeeAWrongOptionThatIsTaken) {
    EXPECT_DEATH(run_options<limits_that_are_not_checked>(), "a scheduler with good options works");
}
TEST(FuzzChecksDeathTest, SeeAWrongSettingThatIsTaken) {
    EXPECT_DEATH(run_options<errors_that_are_forgotten>(), "memory for a body");
}
TEST(FuzzChecksDeathTest, SeeATokenThatIsTooLong) {
    EXPECT_DEATH(run_options<tokens_by_prefix>(), "a longer one does not");
}

// --- saves ---------------------------------------------------------------------------------------

template <class Code>
void run_saves() {
    run_with_changed_corpus(corpus / "saves", check_saves<Code>);
    run_with_random_bytes(check_saves<Code>);
}

struct texts_one_byte_too_long : saves_code {
    static auto unpack(const save& record, std::size_t size_max) {
        return savegames::unpack(record, size_max + 1);
    }
};

struct json_up_to_a_null : saves_code {
    static auto check_json(std::string_view text) {
        return saves_code::check_json(text.substr(0, text.find('\0')));
    }
};

struct patches_that_replace : saves_code {
    static auto apply_merge_patch(std::string_view document, std::string_view patch) {
        auto result = saves_code::apply_merge_patch(document, patch);
        if (result) *result = patch;
        return result;
    }
};

TEST(FuzzChecks, AcceptSaves) { run_saves<saves_code>(); }
TEST(FuzzChecksDeathTest, SeeATextOverItsLimit) {
    EXPECT_DEATH(run_saves<texts_one_byte_too_long>(), "but not over a limit");
}
TEST(FuzzChecksDeathTest, SeeWhatIsBehindANull) {
    EXPECT_DEATH(run_saves<json_up_to_a_null>(), "what is accepted is JSON within limits");
}
TEST(FuzzChecksDeathTest, SeeAPatchThatIsNotMerged) {
    EXPECT_DEATH(run_saves<patches_that_replace>(), "as the RFC has it");
}

// --- the service ---------------------------------------------------------------------------------

template <class Code>
void run_service() {
    run_with_changed_corpus(corpus / "service", check_service<Code>);
    run_with_random_bytes(check_service<Code>);
}

struct heads_one_byte_too_short : service_code {
    static constexpr savegames::http_limits limits{.head_max = service_limits.head_max - 1,
                                                   .body_max = service_limits.body_max};
};

struct store_that_keeps_all : savegames::memory_store {
    void erase(const savegames::profile_key&, const savegames::write_condition&,
               savegames::completion<void> done) override {
        done({});
    }
};
struct saves_that_are_not_erased : service_code {
    using store = store_that_keeps_all;
};

TEST(FuzzChecks, AcceptTheService) { run_service<service_code>(); }
TEST(FuzzChecksDeathTest, SeeAHeadThatIsRefusedTooEarly) {
    EXPECT_DEATH(run_service<heads_one_byte_too_short>(), "the answer has the right status");
}
TEST(FuzzChecksDeathTest, SeeASaveThatIsNotErased) {
    EXPECT_DEATH(run_service<saves_that_are_not_erased>(), "the answer has the right status");
}

}  // namespace
}  // namespace fairlead::fuzz::service_checks_tests
