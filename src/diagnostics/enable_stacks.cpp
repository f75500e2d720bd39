#include <fairlead/diagnostics/enable_stacks.hpp>

#include "diagnostics/blocked_stack_reader.hpp"

namespace fairlead::diagnostics {
namespace {

constexpr blocked_stack_reader reader{};

}  // namespace

void enable_stacks() noexcept { sched::use_stack_reader(&reader); }

}  // namespace fairlead::diagnostics
