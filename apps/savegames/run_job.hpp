// Runs a job to its end on the baseline schedulers.
//
// Nothing is lost: `done` is called exactly once for each job, on a thread of the scheduler when
// the job finished there, else (the scheduler stopped, or was stopped already) on the thread that
// stopped it or posted, with a job that has expired.
#pragma once

#include <functional>
#include <memory>

#include "savegames/job.hpp"
#include "savegames/trivial.hpp"
#include "savegames/updater.hpp"

namespace savegames {

// Gets the finished job: its `answer` is complete. Must not throw.
using job_done = std::move_only_function<void(std::unique_ptr<job>)>;

// Each period asks the job whether it can go on (its operation is complete, its time has come), and
// then steps it for as long as it can. `work` is fresh: on_notify is not used.
void run_on_updater(updater& on, std::unique_ptr<job> work, job_done done);

// One function that steps the job, and blocks its thread while the job waits. Takes on_notify.
void run_on_trivial(trivial& on, std::unique_ptr<job> work, job_done done);

}  // namespace savegames
