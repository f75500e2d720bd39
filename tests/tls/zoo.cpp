#include "tls/zoo.hpp"

#include <fairlead/detail/base/assert.hpp>

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <utility>

namespace fairlead::test {
namespace {

constexpr long day = 24 * 60 * 60;

std::string text_of(BIO* memory) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(memory, &data);
    return {data, static_cast<std::size_t>(size)};
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* const made = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    FAIRLEAD_ASSERT(made != nullptr, "OpenSSL knows the extension");
    X509_add_ext(certificate, made, -1);
    X509_EXTENSION_free(made);
}

long next_serial = 1;

}  // namespace

std::string issued::pem() const {
    const io::detail::owned_bio memory{BIO_new(BIO_s_mem())};
    PEM_write_bio_X509(memory.get(), certificate.get());
    return text_of(memory.get());
}

std::string issued::key_pem() const {
    const io::detail::owned_bio memory{BIO_new(BIO_s_mem())};
    PEM_write_bio_PrivateKey(memory.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    return text_of(memory.get());
}

issued issue(const wanted& what, const issued* issuer) {
    issued made;
    made.key.reset(what.with_rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256"), &EVP_PKEY_free);
    made.certificate.reset(X509_new(), &X509_free);
    X509* const certificate = made.certificate.get();
    const issued& by = issuer != nullptr ? *issuer : made;

    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), next_serial++);
    X509_gmtime_adj(X509_getm_notBefore(certificate), what.from_days * day);
    X509_gmtime_adj(X509_getm_notAfter(certificate), what.to_days * day);
    X509_set_pubkey(certificate, made.key.get());
    X509_NAME* const name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(what.common_name.c_str()), -1,
                               -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(by.certificate.get()));
    extend(certificate, by.certificate.get(), NID_basic_constraints,
           what.is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
    if (what.is_authority) {
        extend(certificate, by.certificate.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
    }
    if (!what.purpose.empty()) {
        extend(certificate, by.certificate.get(), NID_ext_key_usage, what.purpose);
    }
    if (!what.alternatives.empty()) {
        extend(certificate, by.certificate.get(), NID_subject_alt_name, what.alternatives);
    }
    FAIRLEAD_ASSERT(X509_sign(certificate, by.key.get(), EVP_sha256()) != 0, "it is signed");
    return made;
}

issued authority(const std::string& name, const issued* issuer) {
    return issue({.common_name = name, .alternatives = "", .purpose = "", .is_authority = true},
                 issuer);
}

std::string revoking(const issued& revoked, const issued& issuer) {
    const std::unique_ptr<X509_CRL, io::detail::freed_by<&X509_CRL_free>> list{X509_CRL_new()};
    X509_CRL_set_version(list.get(), 1);
    X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(issuer.certificate.get()));
    ASN1_TIME* const time = X509_gmtime_adj(nullptr, -day);
    X509_CRL_set1_lastUpdate(list.get(), time);
    X509_REVOKED* const entry = X509_REVOKED_new();
    X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(revoked.certificate.get()));
    X509_REVOKED_set_revocationDate(entry, time);
    X509_CRL_add0_revoked(list.get(), entry);
    X509_gmtime_adj(time, 30 * day);
    X509_CRL_set1_nextUpdate(list.get(), time);
    ASN1_TIME_free(time);
    FAIRLEAD_ASSERT(X509_CRL_sign(list.get(), issuer.key.get(), EVP_sha256()) != 0, "it is signed");
    const io::detail::owned_bio memory{BIO_new(BIO_s_mem())};
    PEM_write_bio_X509_CRL(memory.get(), list.get());
    return text_of(memory.get());
}

io::tls_identity identity_of(const issued& own, const std::vector<issued>& between) {
    std::string chain = own.pem();
    for (const issued& each : between) chain += each.pem();
    return {.chain = io::tls_pem::text(chain), .key = io::tls_pem::text(own.key_pem())};
}

io::tls_pem trusting(const issued& root) { return io::tls_pem::text(root.pem()); }

io::tls_context harbour::server(io::tls_server_options options) const {
    if (options.identity.chain.empty()) options.identity = identity_of(localhost);
    auto made = io::tls_context::server(std::move(options));
    FAIRLEAD_ASSERT(made.has_value(), "the context can be made");
    return std::move(*made);
}

io::tls_context harbour::client(io::tls_client_options options) const {
    if (options.roots.empty()) options.roots = trusting(root);
    auto made = io::tls_context::client(std::move(options));
    FAIRLEAD_ASSERT(made.has_value(), "the context can be made");
    return std::move(*made);
}

}  // namespace fairlead::test
