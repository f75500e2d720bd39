#include <fairlead/os/process.hpp>

#include <pthread.h>

namespace fairlead::os {
namespace {

// Written in a child only, before its fork returns: it has one thread then.
constinit unsigned depth = 0;

}  // namespace

void count_forks() noexcept {
    static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++depth; });
    static_cast<void>(registered);
}

unsigned fork_depth() noexcept { return depth; }

}  // namespace fairlead::os
