// One connection to a server in virtual time, and its client.
#pragma once

#include "http/expect_found.hpp"
#include "http/memory_stream.hpp"

#include <fairlead/http/server.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead::http {

class one_connection : public testing::Test {
protected:
    void start(handler answers) {
        auto [theirs, ours] = make_pipe();
        client.emplace(std::move(ours));
        server.emplace(
            spawn(simulated, serve_connection(std::move(theirs), std::move(answers), options)));
        run(duration{});
    }

    // Sends `text`; gives what has come back after `time`.
    std::string say(std::string_view text, time_span time = duration{}) {
        client->out().bytes.append(text);
        client->out().readable.set();
        run(time);
        return std::exchange(client->in().bytes, {});
    }

    void run(time_span time) {
        simulated.run_for(time);
        simulated.scheduler().run_until_idle();
    }

    [[nodiscard]] bool closed() { return client->in().ended; }
    [[nodiscard]] std::vector<std::size_t>& writes() { return client->in().writes; }

    static server_options plain() {
        server_options made;
        made.server = "";
        made.date = false;
        return made;
    }

    server_options options = plain();
    test::simulated_scheduler simulated;
    std::optional<memory_stream> client;
    std::optional<join_handle<void>> server;

    void TearDown() override {
        if (!server) return;
        client.reset();
        run(std::chrono::hours{1});
        EXPECT_TRUE(server->ended());
    }
};

}  // namespace fairlead::http
