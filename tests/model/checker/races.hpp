// Plain memory of the checked program: data races, and touches of what is freed.
//
// The library and the scenarios are compiled with the instrumentation of the thread sanitizer, but
// not linked with the sanitizer itself: the compiler puts a call before each access of memory, and
// the calls come here. So every member of every class is checked, not only what a scenario declares
// as `plain`. Clang 16 leaves out a function's own accesses to members of its local variables, even
// if another thread has the address of the whole: the object under test must not be local then.
//
// For each eight bytes of the scenario's memory the checker keeps the last accesses: the thread,
// its epoch, and the bytes. A new access is a race if one of the two is a write and the older
// access has not happened before the new one. The checker's own accesses to its parts of the
// program's objects do not count.
//
// Source: C. Flanagan, S. Freund, "FastTrack", PLDI 2009; the cells are as those of
// ThreadSanitizer.
#pragma once

#include <cstddef>

namespace fairlead::model::races {

/// Begins an execution: no memory was touched yet.
void begin_execution();

/// The running thread accesses plain memory. `from`: the address of the code, for the trace.
void access(const void* at, std::size_t size, bool writes, const void* from = nullptr);

/// The running thread frees a block: all other accesses must have happened before, and none may
/// follow.
void free(const void* at, std::size_t size);

}  // namespace fairlead::model::races
