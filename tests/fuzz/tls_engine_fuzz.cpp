// Bytes as choices of an attacker between two engines of TLS: see tls_engine_check.hpp.
#define OPENSSL_SUPPRESS_DEPRECATED  // to replace the random numbers

#include "fuzz/tls_engine_check.hpp"

#include <openssl/rand.h>

#include <cstdint>

namespace {

std::uint64_t state = 0;

// SplitMix64. An input must do the same in each run.
int random_bytes(unsigned char* to, int size) {
    for (int i = 0; i < size; ++i) {
        state += 0x9e3779b97f4a7c15;
        std::uint64_t mixed = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
        to[i] = static_cast<unsigned char>(mixed >> 56);
    }
    return 1;
}
int is_ready() { return 1; }

const RAND_METHOD same_each_time{nullptr, &random_bytes, nullptr,
                                 nullptr, &random_bytes, &is_ready};
const int replaced = RAND_set_rand_method(&same_each_time);

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fairlead::fuzz;
    state = 0;
    check_tls_engine<tls_reads>(input{{data, size}});
    return replaced - 1;
}
