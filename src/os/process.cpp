#include <fairlead/detail/os/process.hpp>

#include <pthread.h>

namespace fairlead::os {

constinit unsigned counted_forks = 0;

void count_forks() noexcept {
    static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++counted_forks; });
    static_cast<void>(registered);
}

}  // namespace fairlead::os
