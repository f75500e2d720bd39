// The table of the flights of a `single_flight`, the flights, and what uses them.
#pragma once

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/coro/stop_on_token.hpp>
#include <fairlead/detail/sync/flight.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/waiter_list.hpp>

#include <cstddef>
#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <unordered_map>
#include <utility>

namespace fairlead::wait {

template <class K, class V, class Hash, class Equal>
class flights {
    struct table;

    // Shared by its users and its task. What is not in sync::flight is written before its end by
    // the task alone, and read by users after it.
    struct flight : sync::flight {
        flight(std::shared_ptr<table> of, const K& its_key)
            : sync::flight{of->mutex}, home{std::move(of)}, key{its_key} {}

        const std::shared_ptr<table> home;
        const K key;
        std::optional<V> value;
        std::exception_ptr failure;
        std::stop_source stop;
    };

    struct table {
        // The flight is the one of its key. Under the mutex.
        void erase(const flight& it) noexcept {
            const auto found = in_air.find(it.key);
            if (found != in_air.end() && found->second.get() == &it) in_air.erase(found);
        }

        sync::mutex mutex;
        std::unordered_map<K, std::shared_ptr<flight>, Hash, Equal> in_air;  // guarded by it
    };

    // Lies in the frame of the task of the flight, and publishes the result at its end; also if the
    // task never begins, or is destroyed.
    class ending {
    public:
        explicit ending(std::shared_ptr<flight> of) noexcept : of_{std::move(of)} {}
        ending(ending&&) noexcept = default;
        ending& operator=(ending&&) = delete;
        ~ending() {
            if (of_ == nullptr) return;
            sync::waiter_list ended;
            {
                const std::lock_guard lock{of_->home->mutex};
                of_->home->erase(*of_);
                of_->end(ended);
            }
            ended.tell_all();
        }

        [[nodiscard]] flight& of() const noexcept { return *of_; }

    private:
        std::shared_ptr<flight> of_;
    };

    template <class Make>
    static task<> fly(ending end, Make make) {
        const ending with_body{std::move(end)};  // a parameter lives as long as the frame
        flight& of = with_body.of();
        coro::root& self = co_await coro::running_root();
        const coro::stop_on_token in_vain{self, of.stop.get_token(), stopped_by::unwanted};
        try {
            of.value.emplace(co_await std::invoke(make, of.key));
        } catch (...) {
            of.failure = std::current_exception();
        }
    }

public:
    /// A user of a flight. Its end leaves the flight.
    class user {
    public:
        explicit user(std::shared_ptr<flight> of) noexcept : of_{std::move(of)} {}
        user(user&&) noexcept = default;
        user& operator=(user&&) = delete;
        ~user() {
            if (of_ == nullptr) return;
            bool is_in_vain = false;
            {
                const std::lock_guard lock{of_->home->mutex};
                is_in_vain = of_->leave();
                if (is_in_vain) of_->home->erase(*of_);
            }
            if (is_in_vain) of_->stop.request_stop();
        }

        [[nodiscard]] sync::flight& waits_for() const noexcept { return *of_; }

        /// After the end of the flight. Throws its failure.
        [[nodiscard]] waited<V> result() const {
            if (of_->failure) std::rethrow_exception(of_->failure);
            if (!of_->value) return std::unexpected{wait_error::closed};
            return *of_->value;
        }

    private:
        std::shared_ptr<flight> of_;
    };

    /// Joins the flight of `key`, or begins one as a task of `where`.
    template <class Make>
    [[nodiscard]] user join(const K& key, Make make, executor where, task_name name) {
        std::shared_ptr<flight> of;
        bool begins = false;
        {
            const std::lock_guard lock{table_->mutex};
            auto& there = table_->in_air.try_emplace(key).first->second;
            begins = there == nullptr;
            if (begins) there = begin(key);
            of = there;
            of->join();
        }
        user joined{of};
        if (begins) {
            spawn(where, fly<Make>(ending{std::move(of)}, std::move(make)),
                  {.name = name, .detached = true})
                .detach();
        }
        return joined;
    }

    [[nodiscard]] std::size_t size() {
        const std::lock_guard lock{table_->mutex};
        return table_->in_air.size();
    }

private:
    // Under the mutex. If there is no memory, the key is not left behind.
    [[nodiscard]] std::shared_ptr<flight> begin(const K& key) {
        try {
            return std::make_shared<flight>(table_, key);
        } catch (...) {
            table_->in_air.erase(key);
            throw;
        }
    }

    std::shared_ptr<table> table_ = std::make_shared<table>();
};

}  // namespace fairlead::wait
