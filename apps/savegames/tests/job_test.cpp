// Tests the state machine step by step. The store answers when the test says so, and the test
// chooses the time; only the lease table reads the clock.
#include "savegames/job.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "savegames/flaky_store.hpp"
#include "savegames/tests/memory_store.hpp"
#include "savegames/tests/support.hpp"

namespace savegames::job_tests {
namespace {

using namespace std::chrono_literals;
using kind = step_result::kind;

constexpr owner_token other_owner{999};

class job_test : public testing::Test {
protected:
    std::unique_ptr<job> make(job_kind what, std::string body = {}, std::string player = "p") {
        return std::make_unique<job>(
            job_request{what, "chess", std::move(player), std::move(body), deadline}, context);
    }

    // Steps the job to its end. While the job waits, the time jumps to the end of the wait.
    response run(job& work) {
        for (int steps = 0; steps < 1000; ++steps) {
            const step_result result = work.step(now);
            if (result.what == kind::finished) return work.answer();
            if (result.what == kind::waiting && !work.due(now)) now = result.until;
        }
        ADD_FAILURE() << "the job does not end";
        return {};
    }

    response run(job_kind what, std::string body = {}, std::string player = "p") {
        return run(*make(what, std::move(body), std::move(player)));
    }

    // Makes the store hold the answers of one kind of operation.
    void hold(store_operation which) {
        store.set_plan([which](store_operation operation, const profile_key&) {
            return fault{operation == which ? fault::kind::hold : fault::kind::none};
        });
    }

    void fail(store_operation which, fault::kind how, error code) {
        store.set_plan([=](store_operation operation, const profile_key&) {
            return fault{operation == which ? how : fault::kind::none, code};
        });
    }

    // Steps the job until the store holds an answer.
    void run_into(job& work, store_operation held) {
        hold(held);
        for (int steps = 0; steps < 100 && work.due(now); ++steps) {
            ASSERT_NE(work.step(now).what, kind::finished);
        }
        store.set_plan({});
    }

    bool unlocked() { return inner.leases.size() == 0; }

    static std::string header(const response& from, std::string_view name) {
        for (const auto& [key, value] : from.headers) {
            if (key == name) return value;
        }
        return "none";
    }

    time_point now{1h};
    time_point deadline = now + 5s;
    memory_store inner;
    flaky_store store{inner, inner, {}};
    job_context context{store, store};
};

TEST_F(job_test, put_get_update_erase) {
    const std::string text = R"({ "level": 3, "gold": 10 })";
    const response stored = run(job_kind::put, text);
    EXPECT_EQ(stored.status, 200);
    EXPECT_EQ(header(stored, "Save-Version"), "1");
    const std::string sum = checksum_text(checksum(text));
    EXPECT_EQ(header(stored, "Save-Checksum"), sum);
    EXPECT_EQ(stored.body, R"({"version":1,"checksum":")" + sum + R"(","size":26})");
    EXPECT_TRUE(unlocked());

    const response read = run(job_kind::get);
    EXPECT_EQ(read.status, 200);
    EXPECT_EQ(read.body, text);  // byte for byte
    EXPECT_EQ(header(read, "Save-Version"), "1");
    EXPECT_EQ(header(read, "Save-Checksum"), sum);
    EXPECT_EQ(header(read, "Content-Type"), "application/json");

    const response updated = run(job_kind::update, R"({"level":4,"gold":null})");
    EXPECT_EQ(updated.status, 200);
    EXPECT_EQ(header(updated, "Save-Version"), "2");
    EXPECT_EQ(run(job_kind::get).body, R"({"level":4})");
    EXPECT_TRUE(unlocked());

    EXPECT_EQ(run(job_kind::erase).status, 204);
    EXPECT_TRUE(unlocked());
    EXPECT_EQ(run(job_kind::get).status, 404);
    EXPECT_EQ(run(job_kind::erase).status, 404);
    EXPECT_EQ(run(job_kind::update, "{}").status, 404);
    EXPECT_TRUE(unlocked());
}

TEST_F(job_test, wrong_requests) {
    for (const job_kind what : {job_kind::put, job_kind::get, job_kind::update, job_kind::erase}) {
        EXPECT_EQ(run(what, "{}", "a/b").status, 400);
        EXPECT_EQ(run(what, "{}", "..").status, 400);
        EXPECT_EQ(run(what, "{}", "").status, 400);
    }
    EXPECT_EQ(run(job_kind::put, "{").status, 400);
    EXPECT_EQ(run(job_kind::put, std::string(1000, '[')).status, 400);
    EXPECT_EQ(run(job_kind::update, "not json").status, 400);
    const response wrong = run(job_kind::get, {}, "a b");
    EXPECT_EQ(wrong.body, R"({"error":"bad_request","message":"player: an id has only letters, )"
                          R"(digits, '.', '_' and '-': byte 1 is 0x20"})");
    EXPECT_TRUE(unlocked());
}

TEST_F(job_test, limits_of_size) {
    context.save_limits.size_max = 100;
    context.patch_limits.size_max = 50;
    EXPECT_EQ(run(job_kind::put, '"' + std::string(98, 'x') + '"').status, 200);
    EXPECT_EQ(run(job_kind::put, '"' + std::string(99, 'x') + '"').status, 413);
    EXPECT_EQ(run(job_kind::update, '"' + std::string(49, 'x') + '"').status, 413);
    EXPECT_EQ(run(job_kind::put, R"({"a":")" + std::string(90, 'x') + R"("})").status, 200);
    EXPECT_EQ(run(job_kind::update, R"({"b":"xxxxxxxx"})").status, 413);  // the result is too large
    EXPECT_TRUE(unlocked());
}

TEST_F(job_test, heavy_parts_are_steps_of_their_own) {
    run(job_kind::put, R"({"a":1})");
    auto work = make(job_kind::update, R"({"a":2})");
    EXPECT_EQ(work->step(now).what, kind::waiting);  // lock
    EXPECT_EQ(work->step(now).what, kind::waiting);  // download
    EXPECT_EQ(work->step(now).what, kind::ready);    // unpack
    EXPECT_EQ(work->step(now).what, kind::ready);    // patch
    EXPECT_EQ(work->step(now).what, kind::waiting);  // pack; upload
    EXPECT_EQ(work->step(now).what, kind::waiting);  // unlock
    EXPECT_EQ(work->step(now).what, kind::finished);
    EXPECT_EQ(work->step(now).what, kind::finished);  // a superfluous step
    EXPECT_EQ(work->answer().status, 200);

    work = make(job_kind::put, R"({"a":3})");
    EXPECT_EQ(work->step(now).what, kind::ready);    // check
    EXPECT_EQ(work->step(now).what, kind::waiting);  // pack; lock
    EXPECT_EQ(work->step(now).what, kind::waiting);  // upload
    EXPECT_EQ(work->step(now).what, kind::waiting);  // unlock
    EXPECT_EQ(work->step(now).what, kind::finished);
}

TEST_F(job_test, spurious_steps_do_nothing) {
    auto work = make(job_kind::put, "{}");
    EXPECT_EQ(work->step(now).what, kind::ready);
    hold(store_operation::acquire);
    for (int i = 0; i < 5; ++i) {
        const step_result result = work->step(now);
        EXPECT_EQ(result.what, kind::waiting);
        EXPECT_EQ(result.until, deadline);
    }
    store.set_plan({});
    EXPECT_FALSE(work->due(now));
    EXPECT_EQ(store.release_held(), 1U);
    EXPECT_TRUE(work->due(now));
    EXPECT_EQ(run(*work).status, 200);
}

TEST_F(job_test, notify_is_called_once_for_each_operation) {
    run(job_kind::put, R"({"a":1})");
    auto work = make(job_kind::update, R"({"a":2})");
    int notified = 0;
    work->on_notify([&] { ++notified; });
    EXPECT_EQ(run(*work).status, 200);
    EXPECT_EQ(notified, 4);  // lock, download, upload, unlock
}

TEST_F(job_test, waits_for_the_lock_with_jittered_backoff) {
    ASSERT_TRUE(acquire(inner, key_of("p"), other_owner).value().granted);
    auto work = make(job_kind::put, "{}");
    EXPECT_EQ(work->step(now).what, kind::ready);
    auto doubled = context.backoff_min;
    for (int attempt = 0; attempt < 10; ++attempt) {
        EXPECT_EQ(work->step(now).what, kind::waiting);  // acquire
        const step_result refused = work->step(now);
        EXPECT_EQ(refused.what, kind::waiting);
        EXPECT_GE(refused.until - now, doubled / 2);
        EXPECT_LE(refused.until - now, doubled);
        EXPECT_FALSE(work->due(refused.until - 1ns));
        EXPECT_EQ(work->step(refused.until - 1ns).until,
                  refused.until);  // too early: it still waits
        EXPECT_TRUE(work->due(refused.until));
        now = refused.until;
        doubled = std::min(doubled * 2, context.backoff_max);
    }
    ASSERT_TRUE(release(inner, key_of("p"), other_owner).has_value());
    EXPECT_EQ(run(*work).status, 200);
}

TEST_F(job_test, two_jobs_back_off_differently) {
    context.backoff_min = context.backoff_max = 1000ms;
    ASSERT_TRUE(acquire(inner, key_of("p"), other_owner).value().granted);
    std::set<time_point> retries;
    for (int i = 0; i < 20; ++i) {
        auto work = make(job_kind::erase);
        EXPECT_EQ(work->step(now).what, kind::waiting);
        retries.insert(work->step(now).until);
    }
    EXPECT_GT(retries.size(), 10U);
}

TEST_F(job_test, lock_not_had_within_the_deadline_is_409) {
    ASSERT_TRUE(acquire(inner, key_of("p"), other_owner).value().granted);
    auto work = make(job_kind::put, "{}");
    const response answer = run(*work);
    EXPECT_EQ(answer.status, 409);
    EXPECT_EQ(header(answer, "Retry-After"), "1");
    EXPECT_EQ(
        answer.body,
        R"({"error":"locked","message":"other requests kept the profile locked; try again"})");
    EXPECT_EQ(now, deadline);
    EXPECT_TRUE(release(inner, key_of("p"), other_owner).has_value());
    EXPECT_TRUE(unlocked());
}

// Every phase in which a request can be when its time is over.
TEST_F(job_test, deadline_while_an_operation_is_under_way) {
    run(job_kind::put, R"({"a":1})");
    for (const auto& [what, where] : {std::pair{job_kind::get, store_operation::get},
                                      {job_kind::put, store_operation::acquire},
                                      {job_kind::put, store_operation::put},
                                      {job_kind::update, store_operation::acquire},
                                      {job_kind::update, store_operation::get},
                                      {job_kind::update, store_operation::put},
                                      {job_kind::erase, store_operation::acquire},
                                      {job_kind::erase, store_operation::erase}}) {
        auto work = make(what, R"({"a":2})");
        run_into(*work, where);
        EXPECT_FALSE(work->due(deadline - 1ns));
        EXPECT_EQ(work->step(deadline).what, kind::finished);
        EXPECT_EQ(work->answer().status, 504);
        work.reset();                         // the job ends before the store answers;
        EXPECT_EQ(store.release_held(), 1U);  // no job gets the answer,
        EXPECT_TRUE(unlocked());              // but the answer gives the lock back
        run(job_kind::put, R"({"a":1})");
    }
}

TEST_F(job_test, deadline_during_unlock_keeps_the_answer) {
    auto work = make(job_kind::put, "{}");
    run_into(*work, store_operation::release);
    EXPECT_EQ(work->step(deadline).what, kind::finished);
    EXPECT_EQ(work->answer().status, 200);
    EXPECT_EQ(store.release_held(), 1U);
    EXPECT_TRUE(unlocked());
}

TEST_F(job_test, deadline_after_the_commit_still_reports_it) {
    auto work = make(job_kind::put, "{}");
    run_into(*work, store_operation::put);
    EXPECT_EQ(store.release_held(), 1U);
    EXPECT_EQ(work->step(deadline).what, kind::finished);
    EXPECT_EQ(work->answer().status, 200);
    EXPECT_EQ(header(work->answer(), "Save-Version"), "1");
    EXPECT_TRUE(unlocked());
    auto erasing = make(job_kind::erase);
    run_into(*erasing, store_operation::erase);
    EXPECT_EQ(store.release_held(), 1U);
    erasing->expire();
    EXPECT_EQ(erasing->answer().status, 204);
    EXPECT_TRUE(unlocked());
}

TEST_F(job_test, deadline_between_two_heavy_parts_unlocks) {
    run(job_kind::put, R"({"a":1})");
    auto work = make(job_kind::update, R"({"a":2})");
    while (work->step(now).what != kind::ready) continue;
    work->expire();
    EXPECT_EQ(work->answer().status, 504);
    EXPECT_TRUE(unlocked());
    EXPECT_EQ(run(job_kind::get).body, R"({"a":1})");
}

TEST_F(job_test, expired_before_the_first_step) {
    auto work = make(job_kind::put, "{}");
    EXPECT_EQ(work->step(deadline + 1s).what, kind::finished);
    EXPECT_EQ(work->answer().status, 504);
    work->expire();  // a second call does nothing
    EXPECT_EQ(work->answer().status, 504);
}

TEST_F(job_test, destroyed_job_unlocks) {
    for (const auto where :
         {store_operation::acquire, store_operation::put, store_operation::release}) {
        auto work = make(job_kind::put, "{}");
        run_into(*work, where);
        work.reset();
        EXPECT_EQ(store.release_held(), 1U);
        EXPECT_TRUE(unlocked());
    }
}

TEST_F(job_test, no_notify_after_the_end) {
    auto flag = std::make_unique<int>(0);
    auto work = make(job_kind::put, "{}");
    work->on_notify([flag = flag.get()] { ++*flag; });
    run_into(*work, store_operation::put);
    const int before = *flag;
    work->expire();
    EXPECT_EQ(*flag, before);
    flag.reset();  // a late notify would write to it
    store.release_held();
}

TEST_F(job_test, a_game_over_its_share_of_the_store_is_told_so) {
    fail(store_operation::put, fault::kind::fail_before, error::over_share);
    const response answer = run(job_kind::put, "1");
    EXPECT_EQ(answer.status, 429);
    EXPECT_EQ(header(answer, "Retry-After"), "1");
    EXPECT_NE(answer.body.find("over_share"), std::string::npos);
    EXPECT_TRUE(unlocked());
}

TEST_F(job_test, store_failures) {
    run(job_kind::put, R"({"a":1})");
    for (const auto how : {fault::kind::fail_before, fault::kind::fail_after}) {
        for (const auto code : {error::store_failed, error::overloaded}) {
            for (const auto& [what, where] : {std::pair{job_kind::get, store_operation::get},
                                              {job_kind::put, store_operation::acquire},
                                              {job_kind::put, store_operation::put},
                                              {job_kind::update, store_operation::acquire},
                                              {job_kind::update, store_operation::get},
                                              {job_kind::update, store_operation::put},
                                              {job_kind::erase, store_operation::acquire},
                                              {job_kind::erase, store_operation::erase}}) {
                fail(where, how, code);
                const response answer = run(what, R"({"a":2})");
                EXPECT_EQ(answer.status, 503);
                EXPECT_EQ(header(answer, "Retry-After"), "1");
                EXPECT_TRUE(unlocked());
                store.set_plan({});
                run(job_kind::put, R"({"a":1})");
            }
        }
    }
}

TEST_F(job_test, failed_unlock_does_not_spoil_the_answer) {
    fail(store_operation::release, fault::kind::fail_before, error::store_failed);
    EXPECT_EQ(run(job_kind::put, "{}").status, 200);
    EXPECT_FALSE(unlocked());  // until the lease expires
}

TEST_F(job_test, lost_lease_and_foreign_write_are_409) {
    run(job_kind::put, R"({"a":1})");
    auto work = make(job_kind::update, R"({"a":2})");
    while (work->step(now).what != kind::ready) continue;
    save foreign = packed(R"({"a":7})");
    foreign.version = 9;
    inner.tamper(key_of("p"), foreign);
    EXPECT_EQ(run(*work).status, 409);
    EXPECT_EQ(run(job_kind::get).body, R"({"a":7})");

    const owner_token owner{77};
    job late{{job_kind::put, "chess", "p", "{}", deadline}, context, owner};
    EXPECT_EQ(late.step(now).what, kind::ready);
    EXPECT_EQ(late.step(now).what, kind::waiting);
    ASSERT_TRUE(release(inner, key_of("p"), owner).has_value());  // as if the lease had expired
    EXPECT_EQ(run(late).status, 409);
    EXPECT_EQ(run(job_kind::get).body, R"({"a":7})");
}

TEST_F(job_test, corrupt_save_is_500_and_stays_as_it_is) {
    save damaged = packed(R"({"a":1})");
    ++damaged.checksum;
    damaged.version = 1;
    inner.tamper(key_of("p"), damaged);
    EXPECT_EQ(run(job_kind::get).status, 500);
    EXPECT_EQ(run(job_kind::update, "{}").status, 500);
    EXPECT_EQ(inner.stored(key_of("p")).value(), damaged);
    EXPECT_TRUE(unlocked());
}

TEST_F(job_test, error_texts_are_json_whatever_is_in_them) {
    const response wrong = make_error(400, "bad_request", "bytes \xff and \"quotes\"");
    EXPECT_TRUE(check_json(wrong.body, {}).has_value()) << wrong.body;
}

// The job reserves memory before it makes a text. Without memory the answer is 429 or 503.
TEST_F(job_test, pays_for_texts_before_they_are_made) {
    shared_texts texts;
    context.texts = &texts;
    const std::string text = '"' + std::string(shared_text_min, 'x') + '"';
    ASSERT_EQ(run(job_kind::put, text).status, 200);
    std::vector<std::size_t> asked;
    std::expected<reservation, grant> paid = reservation{};
    const auto ask = [&](job_kind what) {
        auto work = make(what, what == job_kind::update ? R"({"a":1})" : "");
        job_request request = work->request();
        request.reserve = [&](std::size_t bytes) {
            asked.push_back(bytes);
            return paid;
        };
        job paying{std::move(request), context};
        return run(paying);
    };
    EXPECT_EQ(ask(job_kind::get).content(), text);
    EXPECT_EQ(asked, std::vector{text.size()});
    for (const auto& [refusal, status] :
         {std::pair{grant::over_share, 429}, {grant::exhausted, 503}}) {
        paid = std::unexpected(refusal);
        EXPECT_EQ(ask(job_kind::get).status, status);
        EXPECT_EQ(ask(job_kind::update).status, status);
        EXPECT_TRUE(unlocked());
    }
    EXPECT_EQ(header(run(job_kind::get), "Save-Version"), "1");
    EXPECT_EQ(asked.back(), 2 * text.size() + 7);
    EXPECT_EQ(texts.size(), 0U);
}

// Each part of the work on a text is a step, and `next_bytes` says before each step how long it
// is.
TEST_F(job_test, tells_of_long_steps_before) {
    const std::string text = R"({"a":")" + std::string(100'000, 'x') + R"("})";
    const auto long_steps = [&](job_kind what, std::string body) {
        auto work = make(what, std::move(body));
        std::vector<std::size_t> bytes;
        for (auto result = step_result{}; result.what != kind::finished;) {
            if (const std::size_t next = work->next_bytes(); next > 1'000) bytes.push_back(next);
            result = work->step(now);
        }
        EXPECT_EQ(work->answer().status, 200);
        return bytes;
    };
    const std::size_t size = text.size();
    EXPECT_EQ(long_steps(job_kind::put, text), (std::vector{size, size}));
    EXPECT_EQ(long_steps(job_kind::get, ""), std::vector{size});
    EXPECT_EQ(long_steps(job_kind::update, R"({"b":1})"), (std::vector{size, size + 7, size + 13}));
}

}  // namespace
}  // namespace savegames::job_tests
