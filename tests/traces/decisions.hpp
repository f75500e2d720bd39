// Receives the decisions of the scheduler in the build of the recorder.
// src/sched/task/trace.hpp sends them.
#pragma once

#include "history.hpp"

#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/sched/task.hpp>

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead::traces {

/// A running scenario with a scheduler, or only the scheduler's end, without workers. Tasks have
/// numbers from 1.
class decisions {
public:
    enum class about { rounds, destructor, kept_posts, edges };

    decisions(history& calls, std::span<basic_task* const> tasks, about topic = about::rounds)
        : calls_{calls}, topic_{topic} {
        const outside own;
        tasks_.assign(tasks.begin(), tasks.end());
        running_ = this;
    }
    decisions(const decisions&) = delete;
    decisions& operator=(const decisions&) = delete;
    ~decisions() { running_ = nullptr; }

    /// From now on the decisions of the calling thread are recorded.
    void begins() { calls_.begin_step(here()); }

    /// Stops the scheduler, whose workers see it one after the other. Nothing is recorded after
    /// that.
    template <class Scheduler>
    void stops(Scheduler& stopped) {
        calls_.note_done(here(), "stop", 0,
                         [&] { static_cast<void>(stopped.stop(std::chrono::hours{1})); });
        running_ = nullptr;
    }

    /// Waits until all tasks have ended, or no task goes on.
    template <class Scheduler>
    void drains(Scheduler& drained) {
        calls_.note(here(), "drain", 0, [&] { return drained.drain_for(patience); });
    }

    /// The sources of the tasks. Each task waits for its own source.
    void wait_for(std::span<wait_source* const> sources) {
        sources_.assign(sources.begin(), sources.end());
    }

    /// The number of events that tasks were told of.
    [[nodiscard]] unsigned events_told() const { return told_.load(sync::relaxed); }

    [[nodiscard]] static decisions* running() noexcept { return running_; }

    /// Whether the other threads run for a while now. A worker makes few accesses between its last
    /// look and its sleep, so chance alone rarely interrupts it there.
    [[nodiscard]] bool goes_slowly() const { return topic_ == about::kept_posts && choose(3) == 0; }

    /// The deadline of the scenario.
    [[nodiscard]] time_point deadline() const noexcept { return deadline_; }

    /// Sets the time of the next post of the calling thread.
    void will_post(time_point due) { due_[here()] = due; }

    /// Wakes the task by `notify`, which may find that it is the caller's duty to push it.
    template <class Notify>
    void notifies(const char* how, const basic_task& task, Notify&& notify) {
        const std::size_t thread = here();
        notifying_[thread] = how;
        calls_.begin_step(thread);
        notify();
        const outside own;
        if (notifying_[thread] != nullptr) say(how, tla(task), "FALSE", false);
        notifying_[thread] = nullptr;
    }

    /// Called in a step: the task looks for its signal.
    bool receives(basic_task& task) {
        if (running_ == nullptr) return task.receive_signal();
        return calls_.note(here(), "receive", index(task) + 1,
                           [&] { return task.receive_signal(); });
    }
    void ends(const basic_task& task) {
        const outside own;
        say("end", tla(task), "TRUE", true);
    }

    /// From a step: it has not ended yet.
    void goes_on() {
        const outside own;
        say("goes_on", "<<1>>", "0", true);
    }

    // --- from the scheduler ----------------------------------------------------------------------

    [[nodiscard]] bool is_of_topic(std::string_view what) const {
        const auto is_one_of = [what](const auto&... names) { return ((what == names) || ...); };
        const bool of_all = is_one_of("duty", "push", "push_behind", "take", "take_behind");
        const bool of_destructor = is_one_of("unpark", "give_back", "defer", "all_left");
        const bool of_kept_posts =
            is_one_of("decide", "wake_one", "wake_all", "post", "finished", "begin_search",
                      "end_search", "begin_watch", "end_watch", "rescue", "prepare_park", "stay",
                      "cancel_park", "awake", "enter_driver", "leave_driver");
        switch (topic_) {
            case about::rounds:
                return !of_destructor && !of_kept_posts && what != "announce";
            case about::destructor:
                return of_all || of_destructor || what == "announce";
            case about::kept_posts:
                return !of_destructor && !is_one_of("arrived", "tell", "told", "answer");
            case about::edges:
                return of_all ||
                       is_one_of("begin", "take_posts", "batch", "asleep", "in_transit", "release",
                                 "step", "keep", "enter_driver", "leave_driver", "arm", "notify",
                                 "wait", "collected", "cleared", "polled");
        }
        return false;
    }

    template <class... Decided>
    void trace(const std::string_view what, const Decided&... decided) {
        const outside own;
        const std::size_t thread = here();
        std::string values;
        ((values += (values.empty() ? "" : ",") + tla(decided)), ...);
        if (what == "duty") {
            say(std::exchange(notifying_[thread], nullptr), values, "TRUE", true);
            return;
        }
        if (topic_ == about::destructor) {
            // The code decides whether there is another thread some accesses before these points.
            const bool exact = what != "give_back" && what != "defer" && what != "all_left";
            say(std::string{what}, "<<" + values + ">>", "0", exact);
            return;
        }
        if (what == "notify") {
            if (values.starts_with("0")) return;  // the other direction
            told_.fetch_add(1, sync::relaxed);
        }
        // The role is also held, and the front emptied, without a round.
        if (what == "begin" || what == "begin_own") in_round_[thread] = true;
        if (what == "release" && !std::exchange(in_round_[thread], false)) return;
        const bool of_a_round =
            what == "take" || what == "take_behind" || what == "take_posts" || what == "arrived";
        if (of_a_round && !in_round_[thread]) return;
        if (what == "take_posts" && values == "<<>>") return;  // not known whose front was empty
        // The code reports these some accesses after the access that decided them.
        const bool exact = what != "claim" && what != "steal" && what != "answer" &&
                           what != "rescue" && what != "stay";
        const bool is_post = what == "push" || what == "push_behind" || what == "keep";
        say(std::string{what}, "<<" + values + ">>", is_post ? tla_due(due_[thread]) : "0", exact);
    }

private:
    static std::size_t here() { return this_thread(); }

    void say(const std::string& what, const std::string& argument, const std::string& result,
             bool exact) {
        if (running_ == nullptr) return;  // stopped; a step may outlast the stop
        calls_.note_step(here(), what, argument, result, exact);
    }

    [[nodiscard]] std::size_t index(const basic_task& task) const {
        return static_cast<std::size_t>(std::ranges::find(tasks_, &task) - tasks_.begin());
    }

    // --- as TLA+ writes it -----------------------------------------------------------------------

    [[nodiscard]] std::string tla(const basic_task& task) const {
        return std::to_string(index(task) + 1);
    }
    [[nodiscard]] std::string tla(const basic_task* task) const { return tla(*task); }
    [[nodiscard]] std::string tla(const wait_source* source) const {
        const auto found = std::ranges::find(sources_, source);
        return std::to_string(found == sources_.end() ? 0 : found - sources_.begin() + 1);
    }
    /// The events of epoll for the sources. Each carries a registration, of which the source is a
    /// part; or a part of the driver, behind which there is more of it than a registration has.
    [[nodiscard]] std::string tla(std::span<const epoll_event> events) const {
        std::string values;
        for (const epoll_event& each : events) {
            const auto is_told = [&](const wait_source* source) {
                const auto* const at = reinterpret_cast<const std::byte*>(source);
                const auto* const begin = static_cast<const std::byte*>(each.data.ptr);
                return !std::less{}(at, begin) && std::less{}(at, begin + sizeof(io::registration));
            };
            const auto source = std::ranges::find_if(sources_, is_told);
            if (source == sources_.end() || (each.events & (EPOLLIN | EPOLLRDHUP)) == 0) continue;
            const bool last = (each.events & EPOLLRDHUP) != 0;
            values += (values.empty() ? "<<" : ",<<") + tla(*source) + "," + tla(last) + ">>";
        }
        return "<<" + values + ">>";
    }
    [[nodiscard]] std::string tla(bool value) const { return value ? "TRUE" : "FALSE"; }
    [[nodiscard]] std::string tla(const char* name) const { return '"' + std::string{name} + '"'; }
    [[nodiscard]] std::string tla(std::size_t value) const { return std::to_string(value); }
    /// 1: the deadline of the scenario has come; 0: not yet; 2: never; -1: no thread has looked.
    [[nodiscard]] std::string tla(time_point time) const {
        if (time == never) return "2";
        if (time == immediately) return "-1";
        return time < deadline_ ? "0" : "1";
    }
    [[nodiscard]] std::string tla(std::span<basic_task* const> tasks) const {
        std::string values;
        for (const basic_task* each : tasks) values += (values.empty() ? "" : ",") + tla(*each);
        return "<<" + values + ">>";
    }
    [[nodiscard]] std::string tla(const basic_task::chain& tasks) const {
        std::vector<basic_task*> all;
        for (basic_task* each = tasks.front(); each != nullptr; each = each->*basic_task::link) {
            all.push_back(each);
        }
        return tla(std::span<basic_task* const>{all});
    }

    [[nodiscard]] std::string tla(const auto& reversed) const
        requires requires { reversed.newest; }
    {
        std::vector<basic_task*> all;
        for (basic_task* each = reversed.newest; each != nullptr; each = each->*basic_task::link) {
            all.insert(all.begin(), each);
        }
        return tla(std::span<basic_task* const>{all});
    }

    // When a task that is posted is due.
    [[nodiscard]] std::string tla_due(time_point due) const {
        return due == immediately ? "0" : tla(due);
    }

    static inline decisions* running_ = nullptr;

    history& calls_;
    const about topic_;
    std::vector<const basic_task*> tasks_;
    std::vector<const wait_source*> sources_;
    sync::atomic<unsigned> told_{0};
    const time_point deadline_ = some_time_later();
    // One element for each thread.
    std::array<time_point, history::threads_max + 1> due_{};
    std::array<const char*, history::threads_max + 1> notifying_{};
    std::array<bool, history::threads_max + 1> in_round_{};
};

}  // namespace fairlead::traces

namespace fairlead::sched {

template <class... Decided>
void trace(const char* what, const Decided&... decided) {
    if (traces::decisions* const running = traces::decisions::running()) {
        if (!running->is_of_topic(what)) return;
        running->trace(what, decided...);
        if (std::string_view{what} == "duty" || running->goes_slowly()) {
            traces::linger();  // the task is on its way now
        } else {
            traces::dawdle();
        }
    }
}

}  // namespace fairlead::sched
