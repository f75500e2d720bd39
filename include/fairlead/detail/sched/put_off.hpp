// What a thread has put off, and does before it blocks: it may be what the block waits for.
//
// A continuation of a future is put off while another one runs on its thread.
#pragma once

#include <fairlead/detail/base/language.hpp>
#include <fairlead/detail/sync/per_thread.hpp>

namespace fairlead::sched {

/// Does what the calling thread has put off; null: there is nothing.
using put_off = sync::per_thread<void (*)() noexcept, class put_off_of_thread>;

/// Before the calling thread blocks.
void before_block() noexcept;

}  // namespace fairlead::sched
