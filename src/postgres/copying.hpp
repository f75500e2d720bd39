// A COPY on a connection, without waiting. Of one task.
//
//     begin: out of pipeline mode, the statement
//     results --> out: the server's bytes into the flow ---.
//        |  `---> in: the flow's bytes to the server ------+
//        `<------------------------------------------------'
//     the last result: into pipeline mode again
//
// 1. The library refuses COPY in pipeline mode. So a copy begins when nothing else is under way on
//    the connection, and nothing else is sent before its end.
// 2. The statement goes by the simple protocol. By the extended one an error after the begin of a
//    copy may consume the Sync of the statement, and that of the library's end of the copy would
//    then be answered as the end of the next statement.
// 3. A copy to the server that is given up fails there: nothing of it is kept. What a copy from the
//    server still sends is dropped, until it ends or is cancelled.
#pragma once

#include "postgres/flow.hpp"
#include "postgres/link.hpp"
#include "postgres/pipeline.hpp"

#include <fairlead/postgres/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead::postgres::detail {

class copying {
public:
    copying(link& over, std::string_view sql, std::shared_ptr<flow> with)
        : link_{over}, sql_{sql}, flow_{std::move(with)} {}

    /// Does what can be done now. `end`: it has ended, and the connection is in pipeline mode.
    /// False: the connection is lost, see `loss`.
    [[nodiscard]] bool advance(std::optional<batch_end>& end);
    /// Whether input of the server is awaited.
    [[nodiscard]] bool reads() noexcept {
        return step_ != step::out || is_other_direction_ || flow_->may_push();
    }
    /// Why the connection is lost.
    [[nodiscard]] const error& loss() const noexcept { return *loss_; }

private:
    enum class step : std::uint8_t { begin, results, out, in };
    // What a step gives.
    enum class next : std::uint8_t { goes_on, waits, ended, lost };

    [[nodiscard]] next begin();
    [[nodiscard]] next take_result();
    [[nodiscard]] next take_data();
    [[nodiscard]] next put_data();
    void begin_data(flow::kind direction);
    [[nodiscard]] next end_data(const char* why_not);
    [[nodiscard]] next lose(error why);

    link& link_;
    const std::string sql_;
    const std::shared_ptr<flow> flow_;
    step step_ = step::begin;
    std::string chunk_;  // of which `sent_` bytes have gone to the library
    std::size_t sent_ = 0;
    bool is_other_direction_ = false;
    batch_end end_;
    std::optional<error> loss_;
};

}  // namespace fairlead::postgres::detail
