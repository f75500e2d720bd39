#include "savegames/run_job.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

namespace savegames {
namespace {

// A job and its `done`. Calls `done` once: from `tell`, or else from the destructor, with the job
// expired.
class owned_job {
public:
    owned_job(std::unique_ptr<job> work, job_done done)
        : work_{std::move(work)}, done_{std::move(done)} {}
    owned_job(owned_job&&) = default;
    owned_job& operator=(owned_job&&) = delete;

    ~owned_job() {
        if (work_ == nullptr) return;
        work_->expire();
        tell();
    }

    job& operator*() const { return *work_; }

    void tell() { done_(std::move(work_)); }

private:
    std::unique_ptr<job> work_;
    job_done done_;
};

// A flag for which a thread blocks.
class wakeup_flag {
public:
    void raise() {
        const std::lock_guard lock{mutex_};
        raised_ = true;
        changed_.notify_one();
    }

    // Waits until the flag is raised, and lowers it; or until `until`. Returns how often the thread
    // woke.
    std::uint64_t wait(time_point until) {
        std::unique_lock lock{mutex_};
        std::uint64_t wakeups = 0;
        while (!raised_) {
            std::cv_status status = std::cv_status::no_timeout;
            if (until == time_point::max()) {
                changed_.wait(lock);
            } else {
                status = changed_.wait_until(lock, until);
            }
            ++wakeups;
            if (status == std::cv_status::timeout) break;
        }
        raised_ = false;
        return wakeups;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool raised_ = false;
};

// Steps the job while it is due. True: the job has finished.
bool run_while_due(job& work) {
    for (time_point now = clock::now(); work.due(now); now = clock::now()) {
        if (work.step(now).what == step_result::kind::finished) return true;
    }
    return false;
}

// Steps the job to its end. Returns how often the thread woke.
std::uint64_t run_blocking(job& work) {
    wakeup_flag flag;
    work.on_notify([&flag] { flag.raise(); });
    std::uint64_t wakeups = 0;
    for (;;) {
        const step_result result = work.step(clock::now());
        if (result.what == step_result::kind::finished) return wakeups;
        if (result.what == step_result::kind::waiting) wakeups += flag.wait(result.until);
    }
}

}  // namespace

void run_on_updater(updater& on, std::unique_ptr<job> work, job_done done) {
    on.post([owned = owned_job{std::move(work), std::move(done)}]() mutable {
        if (!run_while_due(*owned)) return false;
        owned.tell();
        return true;
    });
}

void run_on_trivial(trivial& on, std::unique_ptr<job> work, job_done done) {
    on.post([&on, owned = owned_job{std::move(work), std::move(done)}]() mutable {
        on.add_wakeups(run_blocking(*owned));
        owned.tell();
    });
}

}  // namespace savegames
