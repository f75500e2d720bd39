// What OpenSSL asks during a handshake.
#pragma once

#include <fairlead/detail/tls/tls_engine.hpp>

#include <openssl/ssl.h>

namespace fairlead::io::detail {

class tls_callbacks {
public:
    // Gives the connection the identity of the host that the client asks for.
    static int choose_host(SSL* connection, int* alert, void*) noexcept;
    // The first protocol of the server that the client names, too.
    static int choose_protocol(SSL* connection, const unsigned char** chosen,
                               unsigned char* chosen_size, const unsigned char* offered,
                               unsigned offered_size, void*) noexcept;
    // Keeps a session of a client. 1: the session is kept.
    static int keep_session(SSL* connection, SSL_SESSION* session) noexcept;

private:
    [[nodiscard]] static tls_engine& engine_of(const SSL* connection) noexcept;
};

}  // namespace fairlead::io::detail
