#include "tls/callbacks.hpp"

#include "tls/settings.hpp"

#include <new>

namespace fairlead::io::detail {

tls_engine& tls_callbacks::engine_of(const SSL* connection) noexcept {
    return *static_cast<tls_engine*>(SSL_get_app_data(connection));
}

int tls_callbacks::choose_host(SSL* connection, int*, void*) noexcept {
    const char* const host = SSL_get_servername(connection, TLSEXT_NAMETYPE_host_name);
    if (host == nullptr) return SSL_TLSEXT_ERR_NOACK;
    tls_engine& engine = engine_of(connection);
    try {
        SSL_CTX* const its = engine.settings_->for_host(host);
        if (its == nullptr) return SSL_TLSEXT_ERR_NOACK;
        return SSL_set_SSL_CTX(connection, its) != nullptr ? SSL_TLSEXT_ERR_OK
                                                           : SSL_TLSEXT_ERR_ALERT_FATAL;
    } catch (const std::bad_alloc&) {
        engine.out_of_memory_ = true;
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
}

int tls_callbacks::choose_protocol(SSL* connection, const unsigned char** chosen,
                                   unsigned char* chosen_size, const unsigned char* offered,
                                   unsigned offered_size, void*) noexcept {
    const std::string& ours = engine_of(connection).settings_->protocols();
    // It takes the choice of the list that comes first, and gives a place within one of the two.
    unsigned char* match = nullptr;
    const int found = SSL_select_next_proto(
        &match, chosen_size, reinterpret_cast<const unsigned char*>(ours.data()),
        static_cast<unsigned>(ours.size()), offered, offered_size);
    if (found != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
    *chosen = match;
    return SSL_TLSEXT_ERR_OK;
}

int tls_callbacks::keep_session(SSL* connection, SSL_SESSION* session) noexcept {
    tls_engine& engine = engine_of(connection);
    if (SSL_SESSION_is_resumable(session) == 0) return 0;
    SSL_SESSION_up_ref(session);
    owned_session kept{session};
    try {
        engine.settings_->sessions().keep(engine.host_, std::move(kept));
    } catch (const std::bad_alloc&) {  // the next handshake is a full one
    }
    return 0;  // OpenSSL keeps its own reference
}

}  // namespace fairlead::io::detail
