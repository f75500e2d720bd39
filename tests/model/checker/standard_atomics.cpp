// What the compiler calls for the atomics of the standard library, and for functions, in a program
// that is instrumented as for the thread sanitizer but has its own functions in its place.
#include <cstdint>
#include <utility>

extern "C" {

// They neither order anything nor are a step nor cost anything. No scenario relies on them.
using word = std::uint32_t;
// Clang asks whether a static has been made.
std::uint8_t __tsan_atomic8_load(const std::uint8_t* at, int) { return *at; }
word __tsan_atomic32_load(const word* at, int) { return *at; }
void __tsan_atomic32_store(word* at, word value, int) { *at = value; }
word __tsan_atomic32_exchange(word* at, word value, int) { return std::exchange(*at, value); }
word __tsan_atomic32_fetch_add(word* at, word more, int) { return std::exchange(*at, *at + more); }
word __tsan_atomic32_fetch_sub(word* at, word less, int) { return std::exchange(*at, *at - less); }
word __tsan_atomic32_fetch_or(word* at, word bits, int) { return std::exchange(*at, *at | bits); }
bool __tsan_atomic32_compare_exchange_strong(word* at, word* expected, word value, int, int) {
    const word before = *at;
    if (before == *expected) *at = value;
    return std::exchange(*expected, before) == before;
}
bool __tsan_atomic32_compare_exchange_weak(word* at, word* expected, word value, int, int) {
    return __tsan_atomic32_compare_exchange_strong(at, expected, value, 0, 0);
}
// What clang calls for both.
word __tsan_atomic32_compare_exchange_val(word* at, word expected, word value, int, int) {
    static_cast<void>(__tsan_atomic32_compare_exchange_strong(at, &expected, value, 0, 0));
    return expected;
}

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

}  // extern "C"
