// Which certificates a client accepts, and what it says of the other ones.
#include "tls/ends.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace fairlead::io::verification_tests {
namespace {

using test::authority;
using test::handshakes;
using test::identity_of;
using test::issue;
using test::issued;
using test::simulated_scheduler;

/// A server with a certificate, and a client that asks for a host.
struct exhibit {
    std::string name;
    tls_identity shown;
    tls_pem trusted;
    std::string host;
    std::optional<tls_errc> error;  // none: the client accepts
};

void PrintTo(const exhibit& shown, std::ostream* to) { *to << shown.name; }

std::vector<exhibit> certificates() {
    const issued root = authority("Root");
    const issued other_root = authority("Root of a stranger");
    const issued between = authority("Between", &root);
    const issued next = authority("Between, the second", &between);
    const tls_pem trusted = test::trusting(root);
    const auto shown = [&root](test::wanted what) { return identity_of(issue(what, &root)); };
    const issued of_next = issue({}, &next);
    const issued self_signed = issue({});
    const issued revoked = issue({}, &root);
    const issued spared = issue({}, &root);
    const tls_pem with_list = tls_pem::text(root.pem() + test::revoking(revoked, root));
    const issued old_between = issue({.common_name = "Old",
                                      .alternatives = "",
                                      .purpose = "",
                                      .from_days = -9,
                                      .to_days = -2,
                                      .is_authority = true},
                                     &root);
    const issued no_authority = issue({.common_name = "No authority", .purpose = ""}, &root);

    using enum tls_errc;
    return {
        {"good", shown({}), trusted, "localhost", {}},
        {"good_rsa", shown({.with_rsa = true}), trusted, "localhost", {}},
        {"host_in_capitals", shown({}), trusted, "LocalHost", {}},
        {"host_with_a_dot_behind", shown({}), trusted, "localhost.", {}},
        {"expired", shown({.from_days = -9, .to_days = -2}), trusted, "localhost",
         certificate_expired},
        {"not_yet_valid", shown({.from_days = 2}), trusted, "localhost", certificate_not_yet_valid},
        {"wrong_host", shown({}), trusted, "example.org", certificate_wrong_host},
        {"self_signed", identity_of(self_signed), trusted, "localhost", certificate_unknown_issuer},
        {"self_signed_and_trusted",
         identity_of(self_signed),
         test::trusting(self_signed),
         "localhost",
         {}},
        {"of_a_stranger", identity_of(issue({}, &other_root), {other_root}), trusted, "localhost",
         certificate_unknown_issuer},
        {"for_clients", shown({.purpose = "clientAuth"}), trusted, "localhost",
         certificate_wrong_purpose},
        {"for_every_purpose", shown({.purpose = ""}), trusted, "localhost", {}},
        {"name_in_the_subject_alone", shown({.alternatives = ""}), trusted, "localhost",
         certificate_wrong_host},
        {"wildcard", shown({.alternatives = "DNS:*.example.org"}), trusted, "www.example.org", {}},
        {"wildcard_for_two_labels", shown({.alternatives = "DNS:*.example.org"}), trusted,
         "a.www.example.org", certificate_wrong_host},
        {"wildcard_for_the_domain", shown({.alternatives = "DNS:*.example.org"}), trusted,
         "example.org", certificate_wrong_host},
        {"wildcard_in_part", shown({.alternatives = "DNS:w*.example.org"}), trusted,
         "www.example.org", certificate_wrong_host},
        {"wildcard_in_the_middle", shown({.alternatives = "DNS:www.*.org"}), trusted,
         "www.example.org", certificate_wrong_host},
        {"address", shown({.alternatives = "IP:127.0.0.1"}), trusted, "127.0.0.1", {}},
        {"address_of_six", shown({.alternatives = "IP:::1"}), trusted, "::1", {}},
        {"another_address", shown({.alternatives = "IP:127.0.0.1"}), trusted, "127.0.0.2",
         certificate_wrong_host},
        {"address_as_a_name", shown({.alternatives = "DNS:127.0.0.1"}), trusted, "127.0.0.1",
         certificate_wrong_host},
        {"long_chain", identity_of(of_next, {next, between}), trusted, "localhost", {}},
        {"long_chain_in_disorder", identity_of(of_next, {between, next}), trusted, "localhost", {}},
        {"gap_in_the_chain", identity_of(of_next, {next}), trusted, "localhost",
         certificate_unknown_issuer},
        {"expired_in_the_chain", identity_of(issue({}, &old_between), {old_between}), trusted,
         "localhost", certificate_expired},
        {"issued_by_no_authority", identity_of(issue({}, &no_authority), {no_authority}), trusted,
         "localhost", certificate_rejected},
        {"revoked", identity_of(revoked), with_list, "localhost", certificate_revoked},
        {"spared_by_the_list", identity_of(spared), with_list, "localhost", {}},
    };
}

class Certificates : public testing::TestWithParam<exhibit> {};

TEST_P(Certificates, AreVerified) {
    const test::watchdog guard;
    simulated_scheduler home;
    const exhibit& one = GetParam();
    const auto server = tls_context::server({.identity = one.shown});
    ASSERT_TRUE(server.has_value()) << server.error().text;
    for (const tls_version version : {tls_version::v1_2, tls_version::v1_3}) {
        const auto client = tls_context::client({.roots = one.trusted, .version_max = version});
        ASSERT_TRUE(client.has_value()) << client.error().text;
        const handshakes made =
            shake_hands(home, test::memory_connection{}, *client, *server, one.host);
        EXPECT_EQ(made.client.has_value(), !one.error.has_value())
            << (made.client ? "accepted" : made.client.error().message());
        if (!one.error) continue;
        EXPECT_EQ(made.client.error(), *one.error) << made.client.error().message();
        EXPECT_TRUE(is_certificate_error(made.client.error()));
        // The server learns of it, and does not wait for anything.
        ASSERT_FALSE(made.server.has_value());
        EXPECT_EQ(made.server.error(), tls_errc::alert) << made.server.error().message();
    }
}

INSTANTIATE_TEST_SUITE_P(Zoo, Certificates, testing::ValuesIn(certificates()),
                         [](const auto& which) { return which.param.name; });

TEST(Verification, IsOffForWhoAsksForIt) {
    simulated_scheduler home;
    const auto server = tls_context::server({.identity = identity_of(issue({}))});
    const auto client = tls_context::client({.accept_any_certificate = true});
    const handshakes made =
        shake_hands(home, test::memory_connection{}, *client, *server, "example.org");
    EXPECT_TRUE(made.both_made());
}

TEST(Verification, NeedsAHostThatIsOne) {
    simulated_scheduler home;
    const test::harbour harbour;
    const auto client = harbour.client();
    for (const std::string& host :
         {std::string{}, std::string{"."}, std::string{".."}, std::string{".example.org"},
          std::string(300, 'a'), std::string("localhost\0.example.org", 21)}) {
        test::memory_connection connection;
        auto made = home.run(
            test::stream::connect(std::move(connection.client), client, host, clock::now()));
        ASSERT_FALSE(made.has_value()) << host;
        EXPECT_EQ(made.error(), std::errc::invalid_argument);
    }
}

/// A server that asks for a certificate of the client.
class ClientCertificates : public test::connected_ends {
protected:
    [[nodiscard]] tls_server_options asking(bool required = true) const {
        return {.client_roots = test::trusting(harbour.root), .client_required = required};
    }
    [[nodiscard]] tls_identity sailor() const {
        return identity_of(
            issue({.common_name = "sailor 7", .alternatives = "", .purpose = "clientAuth"},
                  &harbour.root));
    }
    std::error_code error_of_server(tls_client_options options) {
        const auto made = shake_hands(home, test::memory_connection{},
                                      harbour.client(std::move(options)), harbour.server(asking()));
        return made.server ? std::error_code{} : made.server.error();
    }
};

TEST_F(ClientCertificates, AreShown) {
    connect({.identity = sailor()}, asking());
    EXPECT_EQ(server->peer().subject, "CN=sailor 7");
    EXPECT_EQ(client->peer().subject, "CN=localhost");
}

TEST_F(ClientCertificates, MayBeMissingWhereTheyAreNotRequired) {
    connect({}, asking(false));
    EXPECT_EQ(server->peer().subject, "");
}

TEST_F(ClientCertificates, AreRequired) {
    EXPECT_EQ(error_of_server({}), tls_errc::certificate_missing);
}

TEST_F(ClientCertificates, AreVerified) {
    const issued stranger = authority("Stranger");
    EXPECT_EQ(
        error_of_server({.identity = identity_of(issue({.purpose = "clientAuth"}, &stranger))}),
        tls_errc::certificate_unknown_issuer);
    EXPECT_EQ(error_of_server({.identity = identity_of(issue({}, &harbour.root))}),
              tls_errc::certificate_wrong_purpose);
}

// In TLS 1.3 a client is done before the server has looked at its certificate.
TEST_F(ClientCertificates, ARefusalIsReadAsAnAlert) {
    auto made =
        shake_hands(home, test::memory_connection{}, harbour.client(), harbour.server(asking()));
    ASSERT_TRUE(made.client.has_value());
    ASSERT_FALSE(made.server.has_value());
    const auto read = run(test::read_text(*made.client));
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error(), tls_errc::alert) << read.error().message();
}

}  // namespace
}  // namespace fairlead::io::verification_tests
