// Gives memory back to the system when a burst of requests has ended.
//
// The allocator keeps memory that is freed in small pieces, such as the values of a parsed save.
// After a burst, that is most of the memory that the burst took. So code that frees much notes it
// here. The task of the trimmer waits until enough was noted, and then until a second has passed
// without a note, but not longer than ten seconds. Then it calls malloc_trim on a thread that may
// block.
//
// Any thread; one mutex, held for an addition. Nothing polls: the task sleeps until enough was
// noted.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/wait/event.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace savegames {

// Makes the allocator map each large text by itself, so that the text goes back to the system when
// it is freed. Call it before there is a second thread.
void map_large_texts();

class memory_trimmer {
public:
    // A request that held less is not worth a note.
    static constexpr std::size_t note_min = std::size_t{64} << 10;

    // Says that `bytes` were freed.
    void note(std::size_t bytes);

    // Trims until the task is asked to stop.
    fairlead::task<> run();

private:
    static constexpr std::size_t worth = std::size_t{16} << 20;

    fairlead::task<bool> wait_for_quiet();
    [[nodiscard]] std::uint64_t notes() const;

    mutable std::mutex mutex_;
    std::size_t freed_ = 0;  // since the latest trim
    std::uint64_t notes_ = 0;
    fairlead::auto_event enough_;  // set by the note that makes `freed_` worth a trim
};

}  // namespace savegames
