// The check of the engine of TLS finds mistakes that are planted here.
#include "fuzz/random_input.hpp"
#include "fuzz/tls_engine_check.hpp"

#include <gtest/gtest.h>

namespace fairlead::fuzz::tls_checks_tests {
namespace {

struct loses_bytes : tls_reads {
    static tls_outcome read(tls_engine& engine, std::span<std::byte> buffer, std::size_t& count) {
        const tls_outcome outcome = tls_reads::read(engine, buffer, count);
        if (count > 1) --count;
        return outcome;
    }
};

struct changes_bytes : tls_reads {
    static tls_outcome read(tls_engine& engine, std::span<std::byte> buffer, std::size_t& count) {
        const tls_outcome outcome = tls_reads::read(engine, buffer, count);
        if (count > 100) buffer[100] ^= std::byte{1};
        return outcome;
    }
};

struct ends_too_early : tls_reads {
    static tls_outcome read(tls_engine& engine, std::span<std::byte> buffer, std::size_t& count) {
        const tls_outcome outcome = tls_reads::read(engine, buffer, count);
        return outcome == tls_outcome::wants_input ? tls_outcome::ended : outcome;
    }
};

// As a socket's end inside OpenSSL would be told, with the option to ignore it.
struct calls_a_failure_an_end : tls_reads {
    static tls_outcome read(tls_engine& engine, std::span<std::byte> buffer, std::size_t& count) {
        const tls_outcome outcome = tls_reads::read(engine, buffer, count);
        return outcome == tls_outcome::failed ? tls_outcome::ended : outcome;
    }
};

template <class Reads>
void run() {
    run_with_random_bytes([](input bytes) { check_tls_engine<Reads>(bytes); }, 50);
}

TEST(TlsEngineCheck, HasNothingAgainstTheEngine) { run<tls_reads>(); }

#ifdef GTEST_HAS_DEATH_TEST
TEST(TlsEngineCheckDeathTest, FindsPlantedMistakes) {
    EXPECT_DEATH(run<loses_bytes>(), "read");
    EXPECT_DEATH(run<changes_bytes>(), "only what was written is read");
    EXPECT_DEATH(run<ends_too_early>(), "only an end that was sent is an end");
    EXPECT_DEATH(run<calls_a_failure_an_end>(), "a failure");
}
#endif

}  // namespace
}  // namespace fairlead::fuzz::tls_checks_tests
