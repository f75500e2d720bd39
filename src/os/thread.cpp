#include <fairlead/os/thread.hpp>

#include <pthread.h>

#include <utility>

namespace fairlead::os {

std::expected<std::thread, std::error_code> start_thread(const std::string& name,
                                                         std::move_only_function<void()> body) {
    try {
        return std::thread{[short_name = name.substr(0, 15), body = std::move(body)]() mutable {
            pthread_setname_np(pthread_self(), short_name.c_str());
            body();
        }};
    } catch (const std::system_error& failure) {
        return std::unexpected{failure.code()};
    }
}

}  // namespace fairlead::os
