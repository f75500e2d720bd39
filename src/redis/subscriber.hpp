// A connection for messages: it subscribes again by itself, and keeps messages for their receiver.
#pragma once

#include "redis/connection.hpp"

#include <fairlead/redis/subscription.hpp>

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace fairlead::redis::detail {

class subscriber final : public connection {
public:
    subscriber(connector connect, client_options options, std::vector<std::string> channels,
               std::vector<std::string> patterns)
        : connection{std::move(connect), std::move(options)},
          channels_{std::move(channels)},
          patterns_{std::move(patterns)} {}

    /// Waits for the first confirmation.
    [[nodiscard]] task<result<void>> opened(time_point deadline);
    [[nodiscard]] task<result<message>> receive(time_point deadline);
    [[nodiscard]] task<result<void>> change(bool add, std::string channel, time_point deadline);

private:
    std::vector<opening> openings() override;
    void on_opened(const value* refused) override;
    void on_push(value came) override;
    void on_lost() override;
    void on_offline(const error& why) override;
    [[nodiscard]] bool is_subscriber() const noexcept override { return true; }
    [[nodiscard]] std::optional<result<message>> try_receive();
    void add_gap();  // under mutex_

    // Guarded by mutex_.
    std::vector<std::string> channels_;
    std::vector<std::string> patterns_;
    std::deque<std::optional<message>> messages_;  // nothing: a gap
    bool was_opened_ = false;
    bool is_over_ = false;
    std::optional<error> failure_;

    auto_event news_;  // for the receiver
};

}  // namespace fairlead::redis::detail
