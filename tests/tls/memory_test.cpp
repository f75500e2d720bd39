// No memory: each allocation of OpenSSL fails once. Every operation ends, with success or an error.
#include "support/sanitizer.hpp"
#include "tls/ends.hpp"

#include <openssl/crypto.h>

#include <atomic>
#include <cstdlib>
#include <string>

namespace fairlead::io::memory_tests {
namespace {

using test::done;
using test::read_text;
using test::stream;
using test::text_or_error;

// OpenSSL takes these functions before its first allocation alone, so they are set for all tests.
std::atomic<long> until_failure{-1};  // negative: none fails
std::atomic<long> blocks{0};

bool fails() {
    if (until_failure.load(std::memory_order::relaxed) < 0) return false;
    return until_failure.fetch_sub(1, std::memory_order::relaxed) == 0;
}
void* allocates(std::size_t size, const char*, int) {
    if (size == 0 || fails()) return nullptr;
    void* const made = std::malloc(size);
    if (made != nullptr) blocks.fetch_add(1, std::memory_order::relaxed);
    return made;
}
void frees(void* block, const char*, int) {
    if (block != nullptr) blocks.fetch_sub(1, std::memory_order::relaxed);
    std::free(block);
}
void* reallocates(void* block, std::size_t size, const char* file, int line) {
    if (block == nullptr) return allocates(size, file, line);
    if (size == 0) {
        frees(block, file, line);
        return nullptr;
    }
    return fails() ? nullptr : std::realloc(block, size);
}
const int taken = CRYPTO_set_mem_functions(&allocates, &reallocates, &frees);

// A message each way, and the ends. Gives the first error.
task<std::error_code> goes_on(test::connected made) {
    if (!made) co_return made.error();
    std::string text(3000, '.');
    const done written = co_await made->write_all(test::as_bytes_of(text));
    if (!written) co_return written.error();
    const done ended = co_await made->send_end();
    if (!ended) co_return ended.error();
    const text_or_error got = co_await read_text(*made);
    if (!got) co_return got.error();
    EXPECT_EQ(*got, text);
    co_return std::error_code{};
}
task<std::error_code> accepts(test::memory_stream below, tls_context context) {
    auto made = co_await stream::accept(std::move(below), context);
    co_return co_await goes_on(std::move(made));
}
task<std::error_code> connects(test::memory_stream below, tls_context context) {
    auto made = co_await stream::connect(std::move(below), context, "localhost");
    co_return co_await goes_on(std::move(made));
}

// Some thousand handshakes would take a minute: FAIRLEAD_TEST_STRIDE=1 makes all of them.
long stride() {
    const char* const given = std::getenv("FAIRLEAD_TEST_STRIDE");
    return given != nullptr ? std::atol(given) : test::sanitized ? 97 : 29;
}

class WithoutMemory : public testing::TestWithParam<tls_version> {
protected:
    // The errors of the two ends, when the allocation with this number fails. 0: none of them.
    std::pair<std::error_code, std::error_code> converse(long number) {
        test::memory_connection connection;
        auto server = spawn(home, accepts(std::move(connection.server), of_server));
        auto client = spawn(home, connects(std::move(connection.client), of_client));
        until_failure = number - 1;
        home.scheduler().run_until_idle();
        reached = until_failure < 0;
        until_failure = -1;
        EXPECT_TRUE(server.ended() && client.ended()) << "an end hangs";
        if (!server.ended() || !client.ended()) std::abort();
        return {server.get(), client.get()};
    }

    const test::watchdog guard;
    test::simulated_scheduler home;
    const test::harbour harbour;
    const tls_context of_server = harbour.server({.client_roots = test::trusting(harbour.root)});
    const tls_context of_client = harbour.client(
        {.identity = identity_of(test::issue({.purpose = "clientAuth"}, &harbour.root)),
         .version_max = GetParam(),
         .sessions_max = 0});
    bool reached = false;
};

TEST_P(WithoutMemory, EachAllocationFailsOnce) {
    ASSERT_EQ(taken, 1);
    for (int i = 0; i != 3; ++i) {
        const auto [server, client] = converse(0);
        ASSERT_FALSE(server || client) << server.message() << client.message();
    }
    const long before = blocks;
    int failed = 0;
    reached = true;
    for (long number = 1; reached && !HasFailure(); number += stride()) {
        const auto [server, client] = converse(number);
        if (server || client) ++failed;
    }
    EXPECT_GT(failed * stride(), 1000) << "the sweep meets most allocations";
    const auto [server, client] = converse(0);  // as if nothing had been
    EXPECT_FALSE(server || client);
    EXPECT_LT(blocks - before, 100) << "what failed leaks";
}

INSTANTIATE_TEST_SUITE_P(Versions, WithoutMemory,
                         testing::Values(tls_version::v1_2, tls_version::v1_3));

}  // namespace
}  // namespace fairlead::io::memory_tests
