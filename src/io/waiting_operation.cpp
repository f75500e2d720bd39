#include <fairlead/detail/io/waiting_operation.hpp>

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/io/errors.hpp>
#include <fairlead/sched/scheduler.hpp>

namespace fairlead::io::detail {

std::error_code waiting_operation::cut_short() const noexcept {
    return code_of(bottom_->ends_waits().value_or(wait_error::expired));
}

std::expected<void, std::error_code> waiting_operation::ended_with(int error) const noexcept {
    if (error == 0) return {};
    return std::unexpected{error > 0 ? system_error(error) : cut_short()};
}

void waiting_operation::check_driver(const coro::root& bottom) const noexcept {
    FAIRLEAD_ASSERT(&bottom.home().driver() == driver_ || driver_ == nullptr,
                    "a stream is used on another scheduler than it was made for");
}

}  // namespace fairlead::io::detail
