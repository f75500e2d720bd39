// Prints the heads of the answers of one connection: the status, the fields of the answer, those
// that are the same in all answers (Server, Date), and those that say where the body ends.
#pragma once

#include <fairlead/http/handler.hpp>
#include <fairlead/http/head.hpp>
#include <fairlead/http/server_options.hpp>

#include <chrono>
#include <cstddef>
#include <string>

namespace fairlead::http {

class answer_heads {
public:
    // `options` stay.
    explicit answer_heads(const server_options& options) noexcept : options_{options} {}

    // Appends the head to `out`. `keep`: the connection goes on after the answer. Throws
    // std::bad_alloc.
    void print(std::string& out, const request_head& asked, const response& answer,
               const framing& body, bool keep);

    // The connection has waited: the next head looks at the time. Those of a batch look once.
    void time_passes() noexcept { dated_ = false; }

private:
    void renew();

    const server_options& options_;
    std::string standing_;         // the fields Server and Date
    std::size_t server_size_ = 0;  // of the first one
    std::chrono::sys_seconds second_ = std::chrono::sys_seconds::min();
    bool dated_ = false;  // Date is right, unless time has passed
};

}  // namespace fairlead::http
