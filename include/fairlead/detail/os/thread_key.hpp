// A pointer of each thread that is handed to a function when the thread ends.
//
// A thread-local object with a destructor does the same, but where there is no memory to register
// the destructor, glibc ends the program. Here that is a result.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <pthread.h>

namespace fairlead::os {

class thread_key {
public:
    /// `at_end(value)` runs at the end of each thread whose value is not null, except for the
    /// thread that ends the program.
    explicit thread_key(void (*at_end)(void* value)) noexcept
        : is_made_{pthread_key_create(&key_, at_end) == 0} {}
    thread_key(const thread_key&) = delete;
    thread_key& operator=(const thread_key&) = delete;
    /// Threads that end from now on call nothing. Threads that have used the key must have ended
    /// before the function is unloaded.
    ~thread_key() {
        if (is_made_) pthread_key_delete(key_);
    }

    /// Sets the value of the calling thread. False: there is no memory for it.
    [[nodiscard]] bool set(void* value) noexcept {
        return is_made_ && pthread_setspecific(key_, value) == 0;
    }

private:
    pthread_key_t key_{};
    const bool is_made_;
};

}  // namespace fairlead::os
