// What a TLS stream knows of its other end.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <string>
#include <string_view>

namespace fairlead::io {

/// What the handshake has found out. It stays as it is while the stream lives.
struct tls_peer {
    std::string_view version;  ///< "TLSv1.3" or "TLSv1.2"
    std::string_view cipher;   ///< the name of OpenSSL, such as "TLS_AES_256_GCM_SHA384"
    bool resumed = false;      ///< the handshake went on with an earlier session
    std::string alpn;          ///< the protocol that was agreed on; empty: none
    std::string server_name;   ///< the host that the client has asked for; empty: none
    /// Of the peer's certificate, as in RFC 2253: "CN=client 7,O=Harbour". Empty: it has none.
    std::string subject;
};

}  // namespace fairlead::io
