#include "sched/block/blocking_pool.hpp"

#include <mutex>
#include <new>
#include <utility>

namespace fairlead::sched {

blocking_pool::~blocking_pool() {
    member* ended = nullptr;
    {
        std::unique_lock lock{mutex_};
        ending_ = true;
        while (member* const idle = idle_) {
            idle_ = idle->next;
            idle->wake.send();
        }
        while (threads_ != 0) {
            lock.unlock();
            all_gone_.receive();
            lock.lock();
        }
        ended = std::exchange(ended_, nullptr);
    }
    join_all(ended);
}

void blocking_pool::submit(blocking_job& job) noexcept {
    member* ended = nullptr;
    member* idle = nullptr;
    {
        std::lock_guard lock{mutex_};
        queue_.push_back(job);
        if (callers_ == callers_max_) return;
        ++callers_;
        ended = std::exchange(ended_, nullptr);
        if (idle_ != nullptr) idle = std::exchange(idle_, idle_->next);
    }
    join_all(ended);
    if (idle != nullptr) {
        idle->calls = true;
        idle->wake.send();  // off the idle list, the thread waits for this signal
    } else if (!start_member(nullptr)) {
        call_on_caller();
    }
}

// No thread can be started. If another thread runs what is queued, or is about to, that thread runs
// the job, too. Otherwise the calling thread runs what is queued.
void blocking_pool::call_on_caller() noexcept {
    std::unique_lock lock{mutex_};
    if (callers_ == 1) call_all(lock);
    --callers_;
}

// Runs jobs until nothing is queued.
void blocking_pool::call_all(std::unique_lock<sync::mutex>& lock) noexcept {
    while (blocking_job* const job = queue_.pop_front()) {
        lock.unlock();
        job->run();  // the last touch of the job
        lock.lock();
    }
}

bool blocking_pool::submit_now(blocking_job& job) noexcept {
    member* idle = nullptr;
    {
        std::lock_guard lock{mutex_};
        if (idle_ != nullptr) idle = std::exchange(idle_, idle_->next);
    }
    if (idle == nullptr) return start_member(&job);
    idle->first = &job;
    idle->wake.send();
    return true;
}

bool blocking_pool::withdraw(blocking_job& job) noexcept {
    std::lock_guard lock{mutex_};
    if (!queue::has(job)) return false;
    queue_.erase(job);
    return true;
}

// Starts a thread that runs `first` at once. Null: it runs what is queued.
bool blocking_pool::start_member(blocking_job* first) noexcept {
    try {
        auto made = std::make_unique<member>();
        member& self = *made;
        self.first = first;
        self.calls = first == nullptr;
        // The thread needs the mutex to end, so it cannot end before `self.thread` is set.
        std::lock_guard lock{mutex_};
        auto started = os::start_thread(name_ + "/blocking", [this, &self] { run(self); });
        if (!started) return false;
        ++threads_;
        self.thread = std::move(*started);
        static_cast<void>(made.release());  // `join_all` deletes it
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void blocking_pool::run(member& self) noexcept {
    std::unique_lock lock{mutex_};
    for (;;) {
        if (blocking_job* const job = std::exchange(self.first, nullptr)) {
            lock.unlock();
            job->run();  // the last touch of the job
            lock.lock();
        }
        if (!self.calls && !queue_.empty() && callers_ != callers_max_) {
            ++callers_;
            self.calls = true;
        }
        if (std::exchange(self.calls, false)) {
            call_all(lock);
            --callers_;
        }
        if (ending_ || !wait_idle(self, lock)) break;
    }
    member* const others = std::exchange(ended_, nullptr);
    self.next = nullptr;
    ended_ = &self;
    if (--threads_ == 0 && ending_) all_gone_.send();
    lock.unlock();
    join_all(others);
}

// Sleeps until another thread chooses this one. False: it has been idle for `idle_max`.
bool blocking_pool::wait_idle(member& self, std::unique_lock<sync::mutex>& lock) noexcept {
    self.next = std::exchange(idle_, &self);
    lock.unlock();
    const bool woken = self.wake.receive_until(after(clock::now(), idle_max));
    lock.lock();
    if (woken) return true;
    if (retire(self)) return false;
    lock.unlock();  // another thread has chosen this one just now, and signals
    self.wake.receive();
    lock.lock();
    return true;
}

// Takes the thread off the idle list. False: another thread has done so.
bool blocking_pool::retire(member& self) noexcept {
    for (member** at = &idle_; *at != nullptr; at = &(*at)->next) {
        if (*at != &self) continue;
        *at = self.next;
        return true;
    }
    return false;
}

void blocking_pool::join_all(member* ended) noexcept {
    while (ended != nullptr) {
        const std::unique_ptr<member> each{std::exchange(ended, ended->next)};
        each->thread.join();
    }
}

}  // namespace fairlead::sched
