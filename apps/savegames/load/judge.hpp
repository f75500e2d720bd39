// Whether an answer is what the service promises, given what it acknowledged before.
#pragma once

#include <expected>
#include <string>

#include "savegames/load/http_client.hpp"
#include "savegames/load/ledger.hpp"
#include "savegames/load/statistics.hpp"
#include "savegames/load/workload.hpp"

namespace savegames::load {

// Judges the answers of one run and enters them in its ledger. As thread-safe as the ledger.
class judge {
public:
    // With `verify` off, only statuses and transport errors count.
    judge(ledger& kept, bool verify) : kept_{kept}, verify_{verify} {}

    // Before the request is sent.
    [[nodiscard]] ledger::glimpse begin(const request_plan& plan);

    // When its answer has come, or none will.
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
