#include <fairlead/detail/future/hop.hpp>
#include <fairlead/detail/future/trampoline.hpp>

#include <memory>

namespace fairlead::futures {

const task_kind hop::kind{.run = run_step, .abandon = give_back};

void hop::tell() noexcept { to_.post(static_cast<basic_task&>(*this)); }

void hop::run_step(basic_task& task) noexcept {
    const std::unique_ptr<hop> self{static_cast<hop*>(&task)};
    trampoline::run(*self->next_);
}

void hop::give_back(basic_task& task) noexcept {
    const std::unique_ptr<hop> self{static_cast<hop*>(&task)};
    self->next_->abandon();
}

}  // namespace fairlead::futures
