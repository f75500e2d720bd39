// From OpenSSL's errors to error codes. The queue of errors belongs to the thread, and a task may
// change its thread at each await: so the queue is emptied before each call of OpenSSL and read
// after it, with no await between.
#pragma once

#include <fairlead/tls/tls_errc.hpp>

#include <openssl/ssl.h>

#include <system_error>

namespace fairlead::io::detail {

// An error of our own.
[[nodiscard]] inline std::error_code code_of(tls_errc error) noexcept {
    return {static_cast<int>(error), tls_category()};
}

// The first error of the thread's queue, which is empty afterwards. `otherwise`: the queue had
// none.
[[nodiscard]] std::error_code take_error(tls_errc otherwise) noexcept;

// The same after a call for a connection: the reason, when a certificate was rejected.
[[nodiscard]] std::error_code take_error_of(const SSL& connection) noexcept;

}  // namespace fairlead::io::detail
