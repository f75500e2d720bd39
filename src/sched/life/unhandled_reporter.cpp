#include <fairlead/sched/failure_origin.hpp>
#include <fairlead/sched/options.hpp>

#include <cstdio>
#include <exception>
#include <utility>

namespace fairlead {

void unhandled_reporter::operator()(std::exception_ptr failure,
                                    const failure_origin& from) const noexcept {
    const bool is_handled = handler_ != nullptr;
    tell(std::move(failure), from);
    if (!is_handled) std::terminate();
}

void unhandled_reporter::tell(std::exception_ptr failure,
                              const failure_origin& from) const noexcept {
    if (handler_ != nullptr) {
        (*handler_)(std::move(failure), from);
        return;
    }
    const char* const name = from.last().name;
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& known) {
        std::fprintf(stderr, "fairlead: an exception left the task \"%s\": %s\n", name,
                     known.what());
    } catch (...) {
        std::fprintf(stderr, "fairlead: an exception left the task \"%s\": not a std::exception\n",
                     name);
    }
    std::fprintf(stderr, "fairlead: it was thrown by %s\n", from.to_string().c_str());
}

}  // namespace fairlead
