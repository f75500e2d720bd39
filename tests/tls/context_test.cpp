// Contexts: what is wrong with their files is said in words.
#include "support/folder.hpp"
#include "tls/zoo.hpp"

#include <fairlead/tls/tls_context.hpp>

#include <gtest/gtest.h>

#include <openssl/pem.h>
#include <string>
#include <string_view>

namespace fairlead::io::context_tests {
namespace {

using test::harbour;
using test::identity_of;

class Contexts : public testing::Test {
protected:
    [[nodiscard]] std::string write(const std::string& name, const std::string& content) const {
        folder_.put(name, content);
        return path(name);
    }
    [[nodiscard]] std::string path(const std::string& name) const { return folder_.path_of(name); }

    template <class Options>
    static tls_setup_error error_of(const Options& options) {
        auto made = [&options] {
            if constexpr (std::is_same_v<Options, tls_server_options>) {
                return tls_context::server(options);
            } else {
                return tls_context::client(options);
            }
        }();
        EXPECT_FALSE(made.has_value());
        return made ? tls_setup_error{} : made.error();
    }

    const harbour harbour_;

private:
    const fairlead::test::folder folder_;
};

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

TEST_F(Contexts, AreMadeOfFiles) {
    const test::issued& own = harbour_.localhost;
    const auto server = tls_context::server(
        {.identity = {.chain = tls_pem::file(write("chain.pem", own.pem() + harbour_.root.pem())),
                      .key = tls_pem::file(write("key.pem", own.key_pem()))}});
    EXPECT_TRUE(server.has_value() && server->is_server());
    const auto client =
        tls_context::client({.roots = tls_pem::file(write("roots.pem", harbour_.root.pem()))});
    EXPECT_TRUE(client.has_value() && !client->is_server());
}

TEST_F(Contexts, NameAFileThatIsMissing) {
    tls_identity identity = identity_of(harbour_.localhost);
    identity.key = tls_pem::file(path("none.pem"));
    const tls_setup_error error = error_of(tls_server_options{.identity = identity});
    EXPECT_EQ(error.code, std::errc::no_such_file_or_directory);
    EXPECT_TRUE(contains(error.text, "the key " + path("none.pem"))) << error.text;
    EXPECT_TRUE(contains(error.text, "No such file")) << error.text;
}

TEST_F(Contexts, NameAFileWithoutPem) {
    tls_identity identity = identity_of(harbour_.localhost);
    identity.chain = tls_pem::file(write("chain.pem", "no certificate"));
    const tls_setup_error error = error_of(tls_server_options{.identity = identity});
    EXPECT_EQ(error.code, tls_errc::bad_credentials);
    EXPECT_TRUE(contains(error.text, "the certificate " + path("chain.pem"))) << error.text;
    EXPECT_TRUE(contains(error.text, "no start line")) << error.text;
}

TEST_F(Contexts, NeedAKeyThatFits) {
    tls_identity identity = identity_of(harbour_.localhost);
    for (const bool rsa : {false, true}) {
        identity.key = tls_pem::text(test::issue({.with_rsa = rsa}).key_pem());
        const tls_setup_error error = error_of(tls_server_options{.identity = identity});
        EXPECT_EQ(error.code, tls_errc::bad_credentials);
        EXPECT_EQ(error.text, "the key: is not that of the certificate");
    }
}

TEST_F(Contexts, NeedAnIdentityForAServer) {
    EXPECT_TRUE(contains(error_of(tls_server_options{}).text, "has no certificate"));
    tls_identity half = identity_of(harbour_.localhost);
    half.key = {};
    EXPECT_TRUE(contains(error_of(tls_server_options{.identity = half}).text, "has no key"));
    EXPECT_TRUE(contains(
        error_of(tls_client_options{.roots = test::trusting(harbour_.root), .identity = half}).text,
        "has no key"));
}

// OpenSSL's default would ask at the terminal.
TEST_F(Contexts, TakeNoKeyWithAPassword) {
    const io::detail::owned_bio memory{BIO_new(BIO_s_mem())};
    ASSERT_EQ(PEM_write_bio_PKCS8PrivateKey(memory.get(), harbour_.localhost.key.get(),
                                            EVP_aes_128_cbc(), "secret", 6, nullptr, nullptr),
              1);
    char* data = nullptr;
    const long size = BIO_get_mem_data(memory.get(), &data);
    tls_identity identity = identity_of(harbour_.localhost);
    identity.key = tls_pem::text({data, static_cast<std::size_t>(size)});
    const tls_setup_error error = error_of(tls_server_options{.identity = identity});
    EXPECT_EQ(error.code, tls_errc::bad_credentials);
    EXPECT_EQ(error.text, "the key: has a password");
}

TEST_F(Contexts, NeedAChainThatIsWhole) {
    tls_identity identity = identity_of(harbour_.localhost);
    const std::string cut = harbour_.root.pem().substr(0, 200);
    identity.chain = tls_pem::text(harbour_.localhost.pem() + cut);
    EXPECT_EQ(error_of(tls_server_options{.identity = identity}).code, tls_errc::bad_credentials);
}

TEST_F(Contexts, NeedRoots) {
    EXPECT_TRUE(contains(error_of(tls_client_options{.roots = tls_pem::text("nothing")}).text,
                         "no certificate"));
    const tls_setup_error folder = error_of(tls_client_options{.roots = tls_pem::file("/")});
    EXPECT_FALSE(folder.text.empty());
}

TEST_F(Contexts, NameTheHostWithABadIdentity) {
    const tls_setup_error error = error_of(tls_server_options{
        .identity = identity_of(harbour_.localhost), .hosts = {{"a.example", {}}}});
    EXPECT_TRUE(contains(error.text, "for a.example: ")) << error.text;
}

TEST_F(Contexts, NeedProtocolsThatHaveNames) {
    for (const std::string& name : {std::string{}, std::string(256, 'h')}) {
        EXPECT_TRUE(
            contains(error_of(tls_server_options{.identity = identity_of(harbour_.localhost),
                                                 .alpn = {name}})
                         .text,
                     "ALPN"));
    }
}

TEST_F(Contexts, NeedAVersion) {
    EXPECT_EQ(error_of(tls_client_options{.version_min = tls_version::v1_3,
                                          .version_max = tls_version::v1_2})
                  .text,
              "no version is left");
}

TEST(TlsErrors, HaveTexts) {
    for (int i = 1; i <= static_cast<int>(tls_errc::certificate_rejected); ++i) {
        const std::error_code error{i, tls_category()};
        EXPECT_NE(error.message(), "unknown error of TLS") << i;
        EXPECT_EQ(error, static_cast<tls_errc>(i));
    }
    EXPECT_FALSE(is_certificate_error(std::make_error_code(std::errc::timed_out)));
    EXPECT_STREQ(tls_category().name(), "tls");
}

}  // namespace
}  // namespace fairlead::io::context_tests
