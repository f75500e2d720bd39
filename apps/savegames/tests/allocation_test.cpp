// The n-th allocation of a thread fails, for n = 1, 2, ... until none fails. Each time the request
// ends, and the process goes on.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <new>
#include <string>

#include "savegames/job.hpp"
#include "savegames/patch.hpp"
#include "savegames/tests/memory_store.hpp"
#include "savegames/tests/support.hpp"

namespace {

constexpr long never = std::numeric_limits<long>::max();

// How many allocations of this thread succeed before all later ones fail.
thread_local long allocations_left = never;
thread_local bool has_failed = false;

void* allocate(std::size_t size) {
    if (allocations_left != never && allocations_left-- <= 0) {
        allocations_left = 0;
        has_failed = true;
        throw std::bad_alloc{};
    }
    if (void* const made = std::malloc(size == 0 ? 1 : size)) return made;
    throw std::bad_alloc{};
}

}  // namespace

// Not inlined: a compiler that sees one half of a pair takes it for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) { return allocate(size); }
[[gnu::noinline]] void* operator new[](std::size_t size) { return allocate(size); }
// Without these the sanitizers use their own operators, whose memory must not reach `free`.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete[](void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete[](void* block, std::size_t) noexcept { std::free(block); }

namespace savegames::allocation_tests {
namespace {

// Calls `attempt` again and again, until none of its allocations fails. In each call all
// allocations after the first failed one fail, too.
template <class Attempt>
void sweep(Attempt attempt) {
    int failures = 0;
    for (long n = 0;; ++n) {
        has_failed = false;
        allocations_left = n;
        attempt();
        allocations_left = never;
        if (!has_failed) break;
        ++failures;
    }
    EXPECT_GT(failures, 5);
}

TEST(allocation, a_patch_fails_or_is_right) {
    const std::string document =
        R"({"a":{"b":[1,[2,{"c":3}],"a text that is not in the object"]},"d":{"e":{}},"f":[[],[4]]})";
    const std::string patch =
        R"({"a":{"b":null,"g":[{"h":[5]}]},"d":7,"i":{"j":{"k":null,"l":[6]}}})";
    const std::string wanted = R"({"a":{"g":[{"h":[5]}]},"d":7,"f":[[],[4]],"i":{"j":{"l":[6]}}})";
    sweep([&] {
        try {
            const auto patched = apply_merge_patch(document, patch, {});
            if (patched) {
                EXPECT_EQ(*patched, wanted);
            }
        } catch (const std::bad_alloc&) {
        }
    });
}

TEST(allocation, a_broken_document_fails) {
    const std::string document =
        R"({"a":{"b":[1,[2,{"c":"a text that is not in the object"}]]},"d":)";
    sweep([&] {
        try {
            EXPECT_FALSE(apply_merge_patch(document, "{}", {}).has_value());
            EXPECT_FALSE(check_json(document, {}).has_value());
        } catch (const std::bad_alloc&) {
        }
    });
}

// Whichever allocation fails, the job ends and keeps no lock.
TEST(allocation, a_job_ends_without_its_lock) {
    for (const job_kind what : {job_kind::put, job_kind::update, job_kind::get, job_kind::erase}) {
        sweep([&] {
            const long given = std::exchange(allocations_left, never);
            memory_store store;
            const profile_key key = key_of("a-player-with-a-name-that-is-allocated");
            ASSERT_TRUE(put(store, key, packed(R"({"a":1,"b":[1,[2]]})")).has_value());
            const job_context context{.profiles = store, .blobs = store};
            job_request request{what, "chess", key.player.text(), R"({"a":[2],"c":{"d":4}})"};
            allocations_left = given;
            int status = 0;
            try {
                job work{std::move(request), context};
                while (work.step(clock::now()).what != step_result::kind::finished) continue;
                status = work.answer().status;
            } catch (const std::bad_alloc&) {
            }
            allocations_left = never;
            EXPECT_TRUE(status == 0 || status == 200 || status == 204 || status == 503) << status;
            if (!has_failed) {
                EXPECT_NE(status, 0);
            }
            const auto locked = acquire(store, key, owner_token{1});
            EXPECT_TRUE(locked.has_value() && locked->granted);
        });
    }
}

}  // namespace
}  // namespace savegames::allocation_tests
