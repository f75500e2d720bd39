// Checks each answer against what the service promises and has acknowledged before.
#pragma once

#include <expected>
#include <string>

#include "savegames/load/http_client.hpp"
#include "savegames/load/ledger.hpp"
#include "savegames/load/statistics.hpp"
#include "savegames/load/workload.hpp"

namespace savegames::load {

// Judges the answers of one run, and enters them in the ledger. As thread-safe as the ledger.
class judge {
public:
    // If not `verify`, only statuses and transport errors count.
    judge(ledger& kept, bool verify) : kept_{kept}, verify_{verify} {}

    // Call it before the request is sent.
    [[nodiscard]] ledger::glimpse begin(const request_plan& plan);

    // Call it when the answer has come, or when it is known that none will come.
    [[nodiscard]] outcome end(const request_plan& plan, const ledger::glimpse& before,
                              const std::expected<const http_response*, std::string>& answer);

private:
    [[nodiscard]] outcome end_good(const request_plan& plan, const ledger::glimpse& before,
                                   const http_response& answer);
    [[nodiscard]] outcome end_absent(const request_plan& plan, const ledger::glimpse& before);
    [[nodiscard]] std::string check_good(const request_plan& plan, const ledger::glimpse& before,
                                         const http_response& answer);

    ledger& kept_;
    bool verify_;
};

}  // namespace savegames::load
