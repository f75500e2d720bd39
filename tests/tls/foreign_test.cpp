// The other end is OpenSSL's own program, curl, sslscan or testssl, over TCP on loopback.
#include "support/sockets.hpp"
#include "support/threads.hpp"
#include "tls/zoo.hpp"

#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/with_scope.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/tls/tls_stream.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead::io::foreign_tests {
namespace {

using namespace std::chrono_literals;
using test::bytes_of;
using stream = tls_stream<>;

bool is_installed(const std::string& program) {
    return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

/// A program of the shell and its output.
class child {
public:
    explicit child(const std::string& command)
        : output_{::popen((command + " 2>&1").c_str(), "r")} {}
    child(const child&) = delete;
    child& operator=(const child&) = delete;
    ~child() {
        if (output_ != nullptr) ::pclose(output_);
    }

    /// The next line, with its end; empty at the end of the output.
    std::string line() {
        std::array<char, 1024> buffer;
        const char* const got = std::fgets(buffer.data(), buffer.size(), output_);
        return got != nullptr ? got : "";
    }
    /// All lines up to the end.
    std::string rest() {
        std::string all;
        for (std::string next = line(); !next.empty(); next = line()) all += next;
        return all;
    }
    /// Waits for the end. -1: a signal has ended it.
    int exit_status() {
        const int status = ::pclose(std::exchange(output_, nullptr));
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    std::FILE* output_;
};

/// What the sessions of a server have seen.
struct seen {
    std::mutex mutex;
    std::vector<std::error_code> errors;
    std::vector<tls_peer> peers;
    std::vector<std::string> texts;

    void add(auto& to, auto what) {
        const std::lock_guard lock{mutex};
        to.push_back(std::move(what));
    }
    // How many there are of one kind.
    [[nodiscard]] std::size_t count(const auto& of) {
        const std::lock_guard lock{mutex};
        return of.size();
    }
};

// Answers a request of HTTP, or sends a line back; then ends.
task<> answers(tcp_stream below, tls_context context, seen& told) {
    auto peer = co_await stream::accept(std::move(below), context, clock::now() + 20s);
    if (!peer) {
        told.add(told.errors, peer.error());
        co_return;
    }
    told.add(told.peers, peer->peer());
    std::string text;
    std::string buffer(4096, '\0');
    const auto is_whole = [&text] {
        return text.starts_with("GET ") ? text.ends_with("\r\n\r\n") : text.ends_with('\n');
    };
    while (!is_whole()) {
        const auto count =
            co_await peer->read_some(std::as_writable_bytes(std::span{buffer}), clock::now() + 20s);
        if (!count || *count == 0) {
            if (count) {
                told.add(told.texts, text);
            } else {
                told.add(told.errors, count.error());
            }
            co_return;
        }
        text.append(buffer, 0, *count);
    }
    told.add(told.texts, text);
    if (text.starts_with("GET ")) {
        text = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nashore";
    }
    const auto written = co_await peer->write_all(bytes_of(text), clock::now() + 20s);
    if (written) static_cast<void>(co_await peer->send_end(clock::now() + 20s));
    // The peer ends first: a close with unread data would be a reset.
    static_cast<void>(
        co_await peer->read_some(std::as_writable_bytes(std::span{buffer}), clock::now() + 20s));
}

task<> serves(tcp_listener listener, tls_context context, seen& told) {
    co_await with_scope([&](scope& sessions) -> task<> {
        for (;;) {
            auto peer = co_await listener.accept();
            if (!peer) co_return;
            sessions.spawn(answers(std::move(*peer), context, told));
        }
    });
}

class ForeignPeers : public testing::Test {
protected:
    explicit ForeignPeers(std::chrono::seconds limit = 120s) : guard{limit} {
        std::filesystem::create_directories(folder_);
        write("root.pem", harbour.root.pem());
        write("cert.pem", harbour.localhost.pem());
        write("key.pem", harbour.localhost.key_pem());
    }
    ~ForeignPeers() override {
        if (server_) {
            server_->request_stop();
            server_->get();
        }
        std::filesystem::remove_all(folder_);
    }

    void write(const std::string& name, const std::string& content) const {
        std::ofstream{folder_ / name} << content;
    }
    [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

    void serve(tls_server_options options = {}) {
        auto listener = tcp_listener::bind(home, address::loopback(0));
        ASSERT_TRUE(listener.has_value());
        port = std::to_string(listener->local_address()->port());
        server_.emplace(
            spawn(home, serves(std::move(*listener), harbour.server(std::move(options)), told)));
    }
    // Sends `input` by OpenSSL's client.
    [[nodiscard]] std::string s_client(const std::string& options, const std::string& input) const {
        return child{"printf '" + input + "' | openssl s_client -connect localhost:" + port +
                     " -CAfile " + path("root.pem") + " -verify_return_error " + options}
            .rest();
    }
    [[nodiscard]] std::string curl(const std::string& options) const {
        return "curl --silent --show-error --noproxy '*' --max-time 20 " + options +
               " https://localhost:" + port + "/";
    }

    const test::watchdog guard;
    scheduler home{test::with_epoll(2)};
    const test::harbour harbour;
    std::string port;
    seen told;

private:
    const std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("fairlead_foreign_" + std::to_string(::getpid()));
    std::optional<join_handle<void>> server_;
};

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

// --- clients -------------------------------------------------------------------------------------

TEST_F(ForeignPeers, CurlIsServed) {
    if (!is_installed("curl")) GTEST_SKIP() << "curl is not installed";
    serve({.alpn = {"http/1.1"}});
    for (const std::string version : {"--tls-max 1.2", "--tlsv1.3"}) {
        child client{curl("--cacert " + path("root.pem") + " " + version)};
        EXPECT_EQ(client.rest(), "ashore");
        EXPECT_EQ(client.exit_status(), 0);
    }
    ASSERT_EQ(told.count(told.peers), 2U);
    EXPECT_EQ(told.peers[0].version, "TLSv1.2");
    EXPECT_EQ(told.peers[1].version, "TLSv1.3");
    for (const tls_peer& each : told.peers) {
        EXPECT_EQ(each.alpn, "http/1.1");
        EXPECT_EQ(each.server_name, "localhost");
    }
}

TEST_F(ForeignPeers, CurlRefusesAnUnknownAuthority) {
    if (!is_installed("curl")) GTEST_SKIP() << "curl is not installed";
    serve();
    write("other.pem", test::authority("Stranger").pem());
    child client{curl("--cacert " + path("other.pem"))};
    static_cast<void>(client.rest());
    EXPECT_EQ(client.exit_status(), 60);
}

TEST_F(ForeignPeers, OpenSslIsServed) {
    serve();
    for (const std::string version : {"-tls1_2", "-tls1_3"}) {
        EXPECT_TRUE(contains(s_client("-quiet " + version, "over the bar\\n"), "over the bar\n"));
    }
}

TEST_F(ForeignPeers, OpenSslHasNoOldVersions) {
    serve();
    for (const std::string version : {"-tls1", "-tls1_1"}) {
        EXPECT_FALSE(
            contains(s_client("-quiet -cipher DEFAULT@SECLEVEL=0 " + version, "over the bar\\n"),
                     "over the bar\n"));
    }
    EXPECT_EQ(told.count(told.peers), 0U);
}

TEST_F(ForeignPeers, OpenSslHasNoCommonProtocol) {
    serve({.alpn = {"http/1.1"}});
    EXPECT_TRUE(contains(s_client("-alpn h2", "over the bar\\n"), "no application protocol"));
}

TEST_F(ForeignPeers, OpenSslUpdatesItsKeys) {
    serve();
    // A line of K asks both ends for new keys. The end is then sent with the new ones.
    const std::string output = s_client("-tls1_3", "K\\n");
    EXPECT_TRUE(contains(output, "KEYUPDATE")) << output;
    test::await([this] { return told.count(told.texts) + told.count(told.errors) != 0; });
    EXPECT_EQ(told.count(told.errors), 0U);
}

TEST_F(ForeignPeers, OpenSslMayNotRenegotiate) {
    serve();
    // A line of R begins a second handshake.
    const std::string output = s_client("-tls1_2", "R\\n");
    EXPECT_TRUE(contains(output, "RENEGOTIATING")) << output;
    EXPECT_TRUE(contains(output, "no renegotiation")) << output;
}

TEST_F(ForeignPeers, OpenSslResumesItsSession) {
    serve();
    for (const std::string version : {"-tls1_2", "-tls1_3"}) {
        const std::string file = path("session.pem");
        const std::string first = s_client(version + " -ign_eof -sess_out " + file, "line\\n");
        EXPECT_TRUE(contains(first, "New, ")) << first;
        const std::string second = s_client(version + " -ign_eof -sess_in " + file, "line\\n");
        EXPECT_TRUE(contains(second, "Reused, ")) << second;
    }
    ASSERT_EQ(told.count(told.peers), 4U);
    EXPECT_TRUE(told.peers[1].resumed && told.peers[3].resumed);
}

TEST_F(ForeignPeers, SslscanFindsNothingWeak) {
    if (!is_installed("sslscan")) GTEST_SKIP() << "sslscan is not installed";
    serve();
    const std::string output = child{"sslscan --no-colour localhost:" + port}.rest();
    for (const std::string version : {"SSLv2", "SSLv3", "TLSv1.0", "TLSv1.1"}) {
        EXPECT_TRUE(contains(output, version + "     disabled") ||
                    contains(output, version + "   disabled"))
            << output;
    }
    EXPECT_TRUE(contains(output, "TLSv1.2   enabled") && contains(output, "TLSv1.3   enabled"))
        << output;
    EXPECT_TRUE(contains(output, "Session renegotiation not supported")) << output;
    EXPECT_FALSE(contains(output, "Compression enabled")) << output;
    EXPECT_FALSE(contains(output, "ffdhe")) << output;
    // Each cipher has forward secrecy and authenticated encryption.
    std::size_t accepted = 0;
    std::istringstream lines{output};
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("Accepted") && !line.starts_with("Preferred")) continue;
        EXPECT_TRUE(contains(line, " TLS_") || contains(line, " ECDHE-")) << line;
        EXPECT_TRUE(contains(line, "GCM") || contains(line, "CHACHA20")) << line;
        ++accepted;
    }
    EXPECT_GE(accepted, 5U) << output;
}

class Scanned : public ForeignPeers {
protected:
    Scanned() : ForeignPeers{10min} {}
};

// Protocols, ciphers, forward secrecy, preferences, and the known attacks. What is said of the
// certificate is said of the zoo's.
TEST_F(Scanned, TestsslFindsNothingAboveLow) {
    if (!is_installed("testssl")) GTEST_SKIP() << "testssl.sh is not installed";
    serve();
    const std::string findings = path("findings.csv");
    const std::string output = child{"testssl --quiet --color 0 --warnings batch --csvfile " +
                                     findings + " -p -s -f -P -U localhost:" + port + " </dev/null"}
                                   .rest();
    std::ifstream file{findings};
    std::size_t fine = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("\"engine_problem\"")) continue;  // of the program's own OpenSSL
        for (const std::string severity : {"MEDIUM", "HIGH", "CRITICAL", "FATAL", "WARN"}) {
            EXPECT_FALSE(contains(line, "\",\"" + severity + "\",\"")) << line;
        }
        if (contains(line, "\",\"OK\",\"")) ++fine;
    }
    EXPECT_GE(fine, 20U) << output;
    for (const std::string attack : {"Heartbleed", "ROBOT", "SWEET32", "LUCKY13", "RC4"}) {
        EXPECT_TRUE(contains(output, attack)) << output;  // it has gone through all
    }
}

// --- servers -------------------------------------------------------------------------------------

/// OpenSSL's server, which sends each line back in reverse.
class ReversingServer : public ForeignPeers {
protected:
    void begin(const std::string& options) {
        server.emplace("exec openssl s_server -rev -naccept 1 -accept 127.0.0.1:0 -cert " +
                       path("cert.pem") + " -key " + path("key.pem") + " " + options +
                       " </dev/null");
        std::string line;
        do {
            line = server->line();
            ASSERT_FALSE(line.empty()) << "the server has ended";
        } while (!line.starts_with("ACCEPT"));
        port = line.substr(line.rfind(':') + 1);
    }

    task<std::expected<std::string, std::error_code>> asks(tls_context context, std::string line,
                                                           tls_peer& told_of) {
        const time_point deadline = clock::now() + 20s;
        const auto number = static_cast<std::uint16_t>(std::stoi(port));
        auto below = co_await tcp_stream::connect(address::loopback(number), deadline);
        if (!below) co_return std::unexpected{below.error()};
        auto made = co_await stream::connect(std::move(*below), context, "localhost", deadline);
        if (!made) co_return std::unexpected{made.error()};
        told_of = made->peer();
        line += '\n';
        const auto written = co_await made->write_all(bytes_of(line), deadline);
        if (!written) co_return std::unexpected{written.error()};
        std::string answer;
        std::string buffer(1000, '\0');
        while (!answer.ends_with('\n')) {
            const auto count =
                co_await made->read_some(std::as_writable_bytes(std::span{buffer}), deadline);
            if (!count) co_return std::unexpected{count.error()};
            if (*count == 0) break;
            answer.append(buffer, 0, *count);
        }
        co_return answer;
    }

    std::optional<child> server;
    tls_peer peer;
};

TEST_F(ReversingServer, IsUnderstood) {
    for (const std::string version : {"-tls1_2", "-tls1_3"}) {
        begin(version);
        const auto answer = block_on(home, asks(harbour.client(), "rab eht revo", peer));
        ASSERT_TRUE(answer.has_value()) << answer.error().message();
        EXPECT_EQ(*answer, "over the bar\n");
        EXPECT_EQ(peer.subject, "CN=localhost");
    }
}

TEST_F(ReversingServer, AsksForACertificate) {
    begin("-Verify 1 -verify_return_error -CAfile " + path("root.pem"));
    const auto sailor = test::identity_of(
        test::issue({.alternatives = "", .purpose = "clientAuth"}, &harbour.root));
    const auto answer =
        block_on(home, asks(harbour.client({.identity = sailor}), "rab eht revo", peer));
    ASSERT_TRUE(answer.has_value()) << answer.error().message();
    EXPECT_EQ(*answer, "over the bar\n");
}

TEST_F(ReversingServer, MissesACertificate) {
    begin("-Verify 1 -verify_return_error -CAfile " + path("root.pem"));
    const auto answer = block_on(home, asks(harbour.client(), "rab eht revo", peer));
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error(), tls_errc::alert) << answer.error().message();
}

TEST_F(ReversingServer, AgreesOnAProtocol) {
    begin("-alpn http/1.1");
    const auto client = harbour.client({.alpn = {"h2", "http/1.1"}});
    EXPECT_TRUE(block_on(home, asks(client, "rab eht revo", peer)).has_value());
    EXPECT_EQ(peer.alpn, "http/1.1");
}

}  // namespace
}  // namespace fairlead::io::foreign_tests
