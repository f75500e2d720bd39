#include "sched/block/stack_reader.hpp"

#include <fairlead/detail/sync/atomic.hpp>

namespace fairlead::sched {
namespace {

// Release to acquire: the reader may be in a library that the thread which stores has just loaded,
// and the loader has written to its tables.
constinit sync::atomic<const stack_reader*> reader_of_process{nullptr};

}  // namespace

const stack_reader* current_stack_reader() noexcept {
    return reader_of_process.load(sync::acquire);
}

void use_stack_reader(const stack_reader* reader) noexcept {
    reader_of_process.store(reader, sync::release);
}

}  // namespace fairlead::sched
