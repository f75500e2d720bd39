// What the stages of a pipeline share: the links between them, the turns of the workers, and the
// failure. stage.hpp says how they work together.
#pragma once

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/future/failure_traits.hpp>
#include <fairlead/message/envelope.hpp>
#include <fairlead/message/pipeline_stage.hpp>
#include <fairlead/sched/executor.hpp>
#include <fairlead/wait/event.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace fairlead::messages {

// What lies before a stage, or behind the last one.
class link_base {
public:
    virtual ~link_base() = default;
    virtual void close() noexcept = 0;
    virtual void close_and_drop() noexcept = 0;
};

template <class T>
class link final : public link_base {
public:
    // Once, before the first use: the stage behind says how many wait.
    void open(std::size_t capacity) { elements_.emplace(capacity); }
    [[nodiscard]] channel<envelope<T>>& elements() noexcept { return *elements_; }

    void close() noexcept override { elements_->close(); }
    void close_and_drop() noexcept override { elements_->close_and_drop(); }

private:
    std::optional<channel<envelope<T>>> elements_;
};

class pipeline_state;

class stage_base {
public:
    stage_base(stage_options options, std::size_t number)
        : options_{options}, number_{number}, turns_(options.at_most), left_{options.at_most} {
        FAIRLEAD_ASSERT(options.at_most != 0, "a stage runs one call at least");
        turns_.front().take.set();
        turns_.front().give.set();
    }
    virtual ~stage_base() = default;

    // Starts its workers; they keep the pipeline.
    virtual void start(executor where, const std::shared_ptr<pipeline_state>& of) = 0;
    [[nodiscard]] virtual std::size_t waiting() noexcept = 0;

    [[nodiscard]] stage_progress progress() noexcept {
        stage_progress now;
        {
            const std::lock_guard lock{mutex_};
            now = progress_;
        }
        now.name = options_.name;
        now.in_flight = static_cast<std::size_t>(now.in - now.out - now.dropped);
        now.waiting = waiting();
        return now;
    }

    // --- for its workers -------------------------------------------------------------------------

    [[nodiscard]] const stage_options& options() const noexcept { return options_; }
    // Which one it is in the pipeline; also that of the link in front of it.
    [[nodiscard]] std::size_t number() const noexcept { return number_; }
    [[nodiscard]] auto turn_to_take(std::size_t worker) noexcept {
        return turns_[worker].take.wait();
    }
    [[nodiscard]] auto turn_to_give(std::size_t worker) noexcept {
        return turns_[worker].give.wait();
    }
    void pass_take(std::size_t worker) noexcept { turns_[next(worker)].take.set(); }
    void pass_give(std::size_t worker) noexcept { turns_[next(worker)].give.set(); }

    void count_in() noexcept {
        const std::lock_guard lock{mutex_};
        ++progress_.in;
    }
    void count_end(bool is_out) noexcept {
        const std::lock_guard lock{mutex_};
        ++(is_out ? progress_.out : progress_.dropped);
    }
    // Whether it was the last one.
    [[nodiscard]] bool worker_has_ended() noexcept {
        const std::lock_guard lock{mutex_};
        return --left_ == 0;
    }

private:
    struct turns {
        auto_event take;
        auto_event give;
    };

    [[nodiscard]] std::size_t next(std::size_t worker) const noexcept {
        return worker + 1 == turns_.size() ? 0 : worker + 1;
    }

    const stage_options options_;
    const std::size_t number_;
    std::vector<turns> turns_;  // of each worker
    sync::mutex mutex_;
    std::size_t left_;         // guarded by mutex_: workers that have not ended
    stage_progress progress_;  // guarded by mutex_: the counts
};

// What the stages share.
class pipeline_state {
public:
    void start(executor where, const std::shared_ptr<pipeline_state>& self) {
        running_ = stages.size();
        for (const auto& each : stages) each->start(where, self);
    }

    // The item with this number has no result: see invariants 3 and 5.
    void fail(std::size_t stage, std::uint64_t item, std::exception_ptr why) noexcept {
        {
            const std::lock_guard lock{mutex_};
            if (item < failed_) {
                failed_ = item;
                failure_ = std::move(why);
            }
        }
        for (std::size_t i = 0; i <= stage; ++i) links[i]->close_and_drop();
    }
    [[nodiscard]] std::exception_ptr failure() noexcept {
        const std::lock_guard lock{mutex_};
        return failure_;
    }

    // Nothing more passes the stage.
    void close_behind(std::size_t stage) noexcept {
        if (stage + 1 != links.size()) links[stage + 1]->close();
    }
    void stage_has_ended(std::size_t stage) noexcept {
        close_behind(stage);
        {
            const std::lock_guard lock{mutex_};
            if (--running_ != 0) return;
        }
        ended.set();
    }

    // In this order: see invariant 4.
    void end() noexcept {
        for (const auto& each : links) each->close_and_drop();
    }

    // Not changed after the start. A link in front of each stage, and one behind the last stage if
    // that gives results.
    std::vector<std::unique_ptr<stage_base>> stages;
    std::vector<std::shared_ptr<link_base>> links;
    event ended;

private:
    sync::mutex mutex_;
    std::size_t running_ = 0;  // guarded by mutex_, as the next ones
    std::uint64_t failed_ = std::numeric_limits<std::uint64_t>::max();
    std::exception_ptr failure_;
};

// A worker of a stage. Tells its end, also if its frame is destroyed with the scheduler: an item
// that has no result then has failed.
class stage_worker {
public:
    stage_worker(std::shared_ptr<pipeline_state> all, stage_base& of, std::size_t number) noexcept
        : all_{std::move(all)}, of_{of}, number_{number}, item_{number} {}
    stage_worker(const stage_worker&) = delete;
    stage_worker& operator=(const stage_worker&) = delete;
    ~stage_worker() {
        if (!has_ended_) fail(std::make_exception_ptr(stopped_error{}));
        if (of_.worker_has_ended()) all_->stage_has_ended(of_.number());
    }

    [[nodiscard]] auto turn_to_take() const noexcept { return of_.turn_to_take(number_); }
    [[nodiscard]] auto turn_to_give() const noexcept { return of_.turn_to_give(number_); }
    void pass_take() const noexcept { of_.pass_take(number_); }
    void pass_give() const noexcept { of_.pass_give(number_); }

    void take() noexcept {
        has_item_ = true;
        of_.count_in();
    }
    // `is_out`: its result was given.
    void end_item(bool is_out) noexcept {
        if (!std::exchange(has_item_, false)) return;
        of_.count_end(is_out);
        item_ += of_.options().at_most;
    }

    void fail(std::exception_ptr why) noexcept {
        all_->fail(of_.number(), item_, std::move(why));
        end_item(false);
    }
    // In the turn of an item that has failed.
    void close_behind() const noexcept { all_->close_behind(of_.number()); }

    // A wait has ended early. `closed`: there is no further item.
    void end_by(wait_error why) noexcept {
        if (why != wait_error::closed) fail(failure_traits<std::exception_ptr>::from(why));
        has_ended_ = true;
    }

private:
    const std::shared_ptr<pipeline_state> all_;
    stage_base& of_;
    const std::size_t number_;
    std::uint64_t item_;  // the one it has, or takes next
    bool has_item_ = false;
    bool has_ended_ = false;
};

}  // namespace fairlead::messages
