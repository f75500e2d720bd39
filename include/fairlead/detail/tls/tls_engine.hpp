// TLS without IO: bytes of the network and of the user go in and out of memory.
//
//        user                        engine                         network
//     read, write  <-->  OpenSSL  <-->  input, output  <-->  room_for_input, take_output
//
// Invariants:
// 1. No member calls the system or waits. OpenSSL sees a BIO of two byte buffers.
// 2. The thread's error queue of OpenSSL is empty when a member calls OpenSSL, and when the member
//    returns.
// 3. After an error the engine stays failed; `output` may still have the alert for the peer.
// 4. `output` is at most `output_limit` and one record when `write` is called again only after
//    `wants_output`; what a read answers is no larger than the input it has taken.
//
// One thread at a time: see tls_channel.hpp. ADR 38 says why there is no socket in OpenSSL.
#pragma once

#include <fairlead/detail/base/language.hpp>
#include <fairlead/detail/tls/tls_bytes.hpp>
#include <fairlead/tls/tls_context.hpp>
#include <fairlead/tls/tls_errc.hpp>
#include <fairlead/tls/tls_peer.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <system_error>

struct ssl_st;  // OpenSSL's SSL

namespace fairlead::io::detail {

enum class tls_outcome : std::uint8_t {
    done,         // a read has bytes, a write has taken bytes, the handshake or the end is made
    wants_input,  // needs more from the network
    ended,        // the peer has sent close_notify
    failed,       // see error()
};

class tls_engine {
public:
    // For a client: `host` is what the peer's certificate must be for, a name or an address.
    // Errors: `invalid_argument` for a host that is empty, too long or has a zero byte;
    // `not_enough_memory`.
    [[nodiscard]] static std::expected<std::unique_ptr<tls_engine>, std::error_code> client(
        const tls_context& context, const std::string& host);
    [[nodiscard]] static std::expected<std::unique_ptr<tls_engine>, std::error_code> server(
        const tls_context& context);

    tls_engine(const tls_engine&) = delete;
    tls_engine& operator=(const tls_engine&) = delete;
    ~tls_engine();

    [[nodiscard]] tls_outcome handshake();
    // `count`: how many bytes the buffer got.
    [[nodiscard]] tls_outcome read(std::span<std::byte> buffer, std::size_t& count);
    // Takes at least one byte of `data`, at most one record: `count` of them. `data` is not empty.
    [[nodiscard]] tls_outcome write(std::span<const std::byte> data, std::size_t& count);
    // Puts close_notify into the output, once. No write afterwards.
    [[nodiscard]] tls_outcome end_sending();

    // Why it has failed.
    [[nodiscard]] std::error_code error() const noexcept { return error_; }
    [[nodiscard]] bool sends_no_more() const noexcept { return sends_no_more_; }

    // Where bytes of the network go. It stays until the next call, whatever runs meanwhile. May
    // throw std::bad_alloc.
    [[nodiscard]] std::span<std::byte> room_for_input();
    // The first `size` bytes of the room have come.
    void input_came(std::size_t size) noexcept;

    // What is to be sent.
    [[nodiscard]] tls_bytes& output() noexcept { return output_; }
    // A writer sends before it encrypts more.
    static constexpr std::size_t output_limit = 64 * 1024;

    // After the handshake.
    [[nodiscard]] const tls_peer& peer() const noexcept { return peer_; }

    // OpenSSL's SSL, for tests: to ask for a key update, for example.
    [[nodiscard]] ssl_st* native_handle() const noexcept { return ssl_; }

private:
    friend struct tls_bio;
    friend class tls_callbacks;

    explicit tls_engine(std::shared_ptr<tls_settings> settings) noexcept
        : settings_{std::move(settings)} {}

    [[nodiscard]] bool make_connection();
    [[nodiscard]] std::error_code expect_host(const std::string& host);
    [[nodiscard]] tls_outcome outcome_of(int result) noexcept;
    void describe_peer();

    std::shared_ptr<tls_settings> settings_;
    ssl_st* ssl_ = nullptr;
    tls_bytes input_;
    tls_bytes output_;
    std::error_code error_;
    bool out_of_memory_ = false;  // in a callback of OpenSSL
    bool connected_ = false;
    bool sends_no_more_ = false;
    bool flows_ = false;    // the last input filled its room: more of it is likely
    std::size_t room_ = 0;  // the size of the last room for input
    std::string host_;      // of a client
    tls_peer peer_;
};

}  // namespace fairlead::io::detail
