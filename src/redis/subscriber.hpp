// A connection for messages: it subscribes again by itself, and keeps messages for their receiver.
#pragma once

#include "redis/connection.hpp"

#include <fairlead/detail/io/subscription_queue.hpp>
#include <fairlead/redis/subscription.hpp>

#include <string>
#include <vector>

namespace fairlead::redis::detail {

class subscriber final : public connection {
public:
    subscriber(connector connect, client_options options, std::vector<std::string> channels,
               std::vector<std::string> patterns)
        : connection{std::move(connect), std::move(options)},
          channels_{std::move(channels)},
          patterns_{std::move(patterns)},
          messages_{this->options().messages_max} {}

    [[nodiscard]] auto& messages() noexcept { return messages_; }
    [[nodiscard]] task<result<void>> change(bool add, std::string channel, time_point deadline);

private:
    std::vector<opening> openings() override;
    void on_opened(const value* refused) override;
    void on_push(value came) override;
    void on_lost() override;
    void on_offline(const error& why) override;
    [[nodiscard]] bool is_subscriber() const noexcept override { return true; }
    // Guarded by mutex_.
    std::vector<std::string> channels_;
    std::vector<std::string> patterns_;

    io::detail::subscription_queue<message, error, errc> messages_;
};

}  // namespace fairlead::redis::detail
