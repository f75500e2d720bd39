// The reports of steps that block get their stacks.
#pragma once

#include <fairlead/detail/base/language.hpp>

namespace fairlead::diagnostics {

/// From now on, in all schedulers of the process, the report of a step that blocks has the calls
/// that the step is in (`blocked_step::stack`), and `blocked_step::print` names them. A program
/// calls this function once, at the beginning of `main`. Without the call the report has the name
/// of the task only.
///
/// Any thread, at any time: a scheduler that runs already has stacks from its next report on. It
/// cannot fail and does not allocate; further calls change nothing. Nothing takes the effect back,
/// so the library must stay loaded. Where the system does not tell stacks, they stay empty:
/// docs/manual/blocking.md has the limits.
void enable_stacks() noexcept;

}  // namespace fairlead::diagnostics
