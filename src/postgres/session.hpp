// A connection of a pool: one task, the owner, connects, sends, and takes the answers.
#pragma once

#include "postgres/copying.hpp"
#include "postgres/link.hpp"
#include "postgres/pipeline.hpp"
#include "postgres/pool_state.hpp"

#include <fairlead/coro/task.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace fairlead::postgres::detail {

class session {
public:
    /// The owner: keeps `at` in service until the connection ends, or it is asked to stop.
    [[nodiscard]] static task<> run(std::shared_ptr<pool_state> pool, std::shared_ptr<seat> at);

private:
    session(std::shared_ptr<pool_state> pool, std::shared_ptr<seat> at);

    [[nodiscard]] task<result<void>> open();
    [[nodiscard]] task<> serve();
    // Each gives why the connection is lost, or nothing.
    using loss = std::optional<error>;
    [[nodiscard]] loss send_all();
    [[nodiscard]] bool send(const slot& next);
    [[nodiscard]] bool set_server_deadline(time_point deadline);
    [[nodiscard]] loss take_answers();
    [[nodiscard]] loss do_duty(pool_state::duty what, executor where);
    void begin_cancel(executor where);
    [[nodiscard]] task<loss> wait(time_point limit);
    [[nodiscard]] static task<> cancel(std::shared_ptr<pool_state> pool, std::shared_ptr<seat> at,
                                       std::shared_ptr<PGcancel> how);

    const std::shared_ptr<pool_state> pool_;
    const std::shared_ptr<seat> at_;
    link link_;
    std::optional<pipeline> pipeline_;
    std::optional<copying> copying_;       // begins when the pipeline is empty
    std::int64_t server_deadline_ms_ = 0;  // 0: the default
    std::uint64_t prepared_ = 0;           // that are counted
    bool has_told_ = false;                // requests have got answers in this round
};

}  // namespace fairlead::postgres::detail
