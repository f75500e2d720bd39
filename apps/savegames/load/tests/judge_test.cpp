#include "savegames/load/judge.hpp"

#include <gtest/gtest.h>

#include <string>

#include "savegames/codec.hpp"

namespace savegames::load::judge_tests {
namespace {

using verdict = outcome::verdict;

class judging : public testing::Test {
protected:
    outcome answer(operation_kind kind, http_response got) {
        const request_plan plan{.kind = kind, .player = 0, .body = &text, .checksum = sum};
        return verdicts.end(plan, verdicts.begin(plan), &got);
    }
    http_response good(std::uint64_t version) const {
        return {.status = 200, .version = version, .checksum = checksum_text(sum), .body = text};
    }

    std::string text = R"({"level":1})";
    std::uint64_t sum = checksum(text);
    ledger kept{1};
    judge verdicts{kept, true};
};

TEST_F(judging, what_is_promised_is_good) {
    EXPECT_EQ(answer(operation_kind::put, good(1)).what, verdict::good);
    EXPECT_EQ(answer(operation_kind::get, good(1)).what, verdict::good);
    EXPECT_EQ(answer(operation_kind::update, good(2)).what, verdict::good);
    EXPECT_EQ(answer(operation_kind::erase, {.status = 204}).what, verdict::good);
    EXPECT_EQ(answer(operation_kind::get, {.status = 404}).what, verdict::absent);
    EXPECT_EQ(answer(operation_kind::erase, {.status = 404}).what, verdict::absent);
}

TEST_F(judging, broken_promises_are_wrong) {
    EXPECT_EQ(answer(operation_kind::put, good(5)).what, verdict::good);
    EXPECT_EQ(answer(operation_kind::get, {.status = 404}).what, verdict::wrong);
    EXPECT_EQ(answer(operation_kind::get, good(4)).what, verdict::wrong);
    EXPECT_EQ(answer(operation_kind::put, good(5)).what, verdict::wrong);
    http_response other = good(6);
    other.body = R"({"level":2})";
    EXPECT_EQ(answer(operation_kind::get, other).what, verdict::wrong);
    http_response no_checksum = good(6);
    no_checksum.checksum.clear();
    EXPECT_EQ(answer(operation_kind::get, no_checksum).what, verdict::wrong);
    EXPECT_EQ(answer(operation_kind::get, good(0)).what, verdict::wrong);
    http_response of_something_else = good(6);
    of_something_else.checksum = checksum_text(sum + 1);
    EXPECT_EQ(answer(operation_kind::put, of_something_else).what, verdict::wrong);
}

TEST_F(judging, refusals_are_errors_by_kind) {
    const auto contended = answer(operation_kind::update, {.status = 409});
    EXPECT_EQ(contended.what, verdict::error);
    EXPECT_EQ(contended.error_kind, "contended");
    EXPECT_EQ(answer(operation_kind::put, {.status = 503}).error_kind, "status 503");
    EXPECT_EQ(answer(operation_kind::put, {.status = 404}).error_kind, "status 404");
    const request_plan plan{.kind = operation_kind::get, .player = 0};
    const auto closed = verdicts.end(plan, verdicts.begin(plan), std::unexpected("closed"));
    EXPECT_EQ(closed.what, verdict::error);
    EXPECT_EQ(closed.error_kind, "closed");
}

TEST_F(judging, without_verification_only_statuses_count) {
    judge lenient{kept, false};
    const request_plan plan{.kind = operation_kind::get, .player = 0};
    const http_response bare{.status = 200};
    EXPECT_EQ(lenient.end(plan, lenient.begin(plan), &bare).what, verdict::good);
}

}  // namespace
}  // namespace savegames::load::judge_tests
