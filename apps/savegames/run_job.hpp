// Runs a job to its end on the baseline schedulers.
//
// Nothing is lost: `done` is called exactly once for each job. If the job finishes on the
// scheduler, a thread of the scheduler calls it. If the scheduler stops first, or has stopped
// already, the thread that stops it or that posts the job calls it, with an expired job.
#pragma once

#include <functional>
#include <memory>

#include "savegames/job.hpp"
#include "savegames/trivial.hpp"
#include "savegames/updater.hpp"

namespace savegames {

// Takes the finished job: its `answer` is complete. Must not throw.
using job_done = std::move_only_function<void(std::unique_ptr<job>)>;

// In each period the updater asks the job whether it is due, and then steps it for as long as it
// is due. `work` has had no step. Does not use on_notify.
void run_on_updater(updater& on, std::unique_ptr<job> work, job_done done);

// One function steps the job, and blocks its thread while the job waits. Sets on_notify.
void run_on_trivial(trivial& on, std::unique_ptr<job> work, job_done done);

}  // namespace savegames
