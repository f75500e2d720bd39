#include "savegames/load/judge.hpp"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "savegames/codec.hpp"

namespace savegames::load {
namespace {

outcome wrong(std::string kind, std::string detail) {
    return {outcome::verdict::wrong, std::move(kind), std::move(detail)};
}

// Parses exactly 16 hexadecimal digits.
std::optional<std::uint64_t> parse_checksum(std::string_view text) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, value, 16);
    if (text.size() != 16 || code != std::errc{} || stop != end) return std::nullopt;
    return value;
}

}  // namespace

ledger::glimpse judge::begin(const request_plan& plan) {
    return plan.kind == operation_kind::erase ? kept_.begin_delete(plan.player)
                                              : kept_.begin(plan.player);
}

outcome judge::end(const request_plan& plan, const ledger::glimpse& before,
                   const std::expected<const http_response*, std::string>& answer) {
    const bool is_delete = plan.kind == operation_kind::erase;
    if (!answer) return {outcome::verdict::error, answer.error(), {}};
    const http_response& got = **answer;
    if (got.status == (is_delete ? 204 : 200)) return end_good(plan, before, got);
    if (got.status == 404 && plan.kind != operation_kind::put) return end_absent(plan, before);
    // After 500, 503 and 504 a write may or may not happen. Other refusals come before the write.
    if (is_delete && got.status < 500) kept_.delete_refused(plan.player);
    std::string kind = got.status == 409 ? "contended" : fmt::format("status {}", got.status);
    return {outcome::verdict::error, std::move(kind), {}};
}

outcome judge::end_good(const request_plan& plan, const ledger::glimpse& before,
                        const http_response& answer) {
    if (plan.kind == operation_kind::erase) {
        kept_.deleted(plan.player, before);
        return {};
    }
    if (!verify_) return {};
    std::string problem = check_good(plan, before, answer);
    if (problem.empty()) return {};
    return wrong("verification",
                 fmt::format("{} of player {}: {}", to_string(plan.kind), plan.player, problem));
}

// Says what is wrong with a 200; empty: nothing.
std::string judge::check_good(const request_plan& plan, const ledger::glimpse& before,
                              const http_response& answer) {
    const auto announced = parse_checksum(answer.checksum);
    if (!announced) {
        return fmt::format("Save-Checksum must be 16 hexadecimal digits, not \"{}\"",
                           answer.checksum);
    }
    if (answer.version == 0) return "Save-Version must be a number from 1 on";
    switch (plan.kind) {
        case operation_kind::get:
            if (const std::uint64_t found = checksum(answer.body); found != *announced) {
                return fmt::format("the body has the checksum {:016x}, Save-Checksum is {:016x}",
                                   found, *announced);
            }
            return kept_.saw(plan.player, before, answer.version, *announced);
        case operation_kind::put:
            if (*announced != plan.checksum) {
                return fmt::format(
                    "the body sent has the checksum {:016x}, acknowledged was {:016x}",
                    plan.checksum, *announced);
            }
            break;
        case operation_kind::update:
        case operation_kind::erase:
            break;
    }
    return kept_.wrote(plan.player, before, answer.version, *announced);
}

outcome judge::end_absent(const request_plan& plan, const ledger::glimpse& before) {
    std::string problem = plan.kind == operation_kind::erase
                              ? kept_.delete_found_nothing(plan.player, before)
                              : kept_.absent(plan.player, before);
    if (problem.empty() || !verify_) return {outcome::verdict::absent, {}, {}};
    return wrong("verification",
                 fmt::format("{} of player {}: {}", to_string(plan.kind), plan.player, problem));
}

}  // namespace savegames::load
