// Objects of OpenSSL that free themselves.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>

namespace fairlead::io::detail {

template <auto Free>
struct freed_by {
    template <class T>
    void operator()(T* object) const noexcept {
        Free(object);
    }
};

using owned_bio = std::unique_ptr<BIO, freed_by<&BIO_free>>;
using owned_key = std::unique_ptr<EVP_PKEY, freed_by<&EVP_PKEY_free>>;
using owned_certificate = std::unique_ptr<X509, freed_by<&X509_free>>;
using owned_store = std::unique_ptr<X509_STORE, freed_by<&X509_STORE_free>>;
using owned_context = std::unique_ptr<SSL_CTX, freed_by<&SSL_CTX_free>>;
using owned_session = std::unique_ptr<SSL_SESSION, freed_by<&SSL_SESSION_free>>;

}  // namespace fairlead::io::detail
