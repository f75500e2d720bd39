// A model of the save-game service, written from its contract and not from its code: requests that
// bytes choose, each with its right answer, and a reader of answers.
#pragma once

#include "fuzz/input.hpp"

#include <fairlead/detail/base/assert.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "savegames/connection.hpp"

namespace fairlead::fuzz {

inline constexpr savegames::http_limits service_limits{.head_max = 512, .body_max = 256};

struct answer {
    int status = 0;
    bool closes = false;
    std::string version;  // Save-Version
    std::string body;
};

/// Takes the next answer off the front of `text`, and a "100 Continue" before it. Nothing if it is
/// not whole. `head_only`: to HEAD, without its body.
inline std::optional<answer> take_answer(std::string_view& text, bool head_only) {
    constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    constexpr std::string_view begin = "HTTP/1.1 ";
    if (text.starts_with(go_on)) text.remove_prefix(go_on.size());
    const std::size_t head_end = text.find("\r\n\r\n");
    if (head_end == text.npos || !text.starts_with(begin)) return std::nullopt;
    std::string_view head = text.substr(begin.size(), head_end + 2 - begin.size());
    text.remove_prefix(head_end + 4);

    answer found;
    std::from_chars(head.data(), head.data() + 3, found.status);
    std::size_t body_size = 0;
    while (!head.empty()) {
        const std::string_view line = head.substr(0, head.find("\r\n"));
        head.remove_prefix(line.size() + 2);
        const std::string_view name = line.substr(0, line.find(": "));
        const std::string_view value =
            name.size() == line.size() ? "" : line.substr(name.size() + 2);
        if (name == "Content-Length") {
            std::from_chars(value.data(), value.data() + value.size(), body_size);
        } else if (name == "Connection") {
            found.closes = value == "close";
        } else if (name == "Save-Version") {
            found.version = value;
        }
    }
    if (head_only) return found;
    if (text.size() < body_size) return std::nullopt;
    found.body = text.substr(0, body_size);
    text.remove_prefix(body_size);
    return found;
}

struct expected_answer {
    std::string request{};
    int status = 0;
    bool closes = false;
    bool head_only = false;
    std::string version{};            // empty: any
    std::optional<std::string> body;  // empty: any

    void compare(const answer& got) const {
        if (got.status != status) {
            std::fprintf(stderr, "%d, not %d, is the answer to\n%s\n", got.status, status,
                         request.c_str());
        }
        FAIRLEAD_ASSERT(got.status == status, "the answer has the right status");
        FAIRLEAD_ASSERT(got.closes == closes, "the answer says whether the connection ends");
        FAIRLEAD_ASSERT(version.empty() || got.version == version, "the version is the next one");
        FAIRLEAD_ASSERT(!body || got.body == *body, "a save comes back as it was put");
    }
};

// A request as the bytes choose it: mostly a good one, with at most one quirk of its head.
struct drawn_request {
    enum class framing : std::uint8_t { none, length, chunked };
    enum class quirk : std::uint8_t {
        none,
        no_host,
        two_hosts,
        foreign_host,
        origin,
        two_tokens,
        other_expectation,
        other_coding,
        unknown_path,
        broken_escape,
        bad_host,
        joined_line,
        empty_coding,
        two_lengths,
        count
    };

    explicit drawn_request(input& bytes) {
        method = methods[bytes.below(methods.size())];
        player = players[bytes.below(players.size())];
        where = bytes.below(8);
        if (const std::size_t drawn = bytes.below(32); drawn < std::size_t(quirk::count)) {
            odd = static_cast<quirk>(drawn);
        }
        const std::size_t options = bytes.byte();
        http_1_0 = options % 8 == 1;
        names_connection = (options & 16) != 0;
        expects_continue = (options & 32) != 0;
        is_json = (options & 64) == 0;
        body_framing = static_cast<framing>(bytes.below(3));
        if (odd == quirk::other_coding) body_framing = framing::none;
        if (odd == quirk::two_lengths) body_framing = framing::length;
        if (body_framing != framing::none) body = draw_body(bytes);
        if ((options & 128) != 0) head_size_wanted = 480 + bytes.below(64);
        chunk_max = 1 + bytes.below(64);
        keep_alive = names_connection == http_1_0;
    }

    [[nodiscard]] bool is_update() const { return where == 1; }
    [[nodiscard]] bool is_healthz() const { return where == 2; }
    [[nodiscard]] bool is_stats() const { return where == 3; }
    [[nodiscard]] bool names_no_game() const { return where == 4; }
    [[nodiscard]] bool has_bad_game() const { return where == 5; }
    [[nodiscard]] bool has_body() const {
        return body_framing == framing::chunked || !body.empty();
    }

    [[nodiscard]] std::string text() {
        std::string head{method};
        head += " " + target() + (http_1_0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
        const auto add = [&](std::string_view line) { (head += line) += "\r\n"; };
        if (odd == quirk::foreign_host) {
            add("Host: example.org");
        } else if (odd == quirk::bad_host) {
            add("Host: localhost:80@example.org");
        } else if (odd != quirk::no_host) {
            add("Host: localhost:80");
        }
        if (odd == quirk::two_hosts) add("Host: localhost:80");
        if (odd == quirk::joined_line) add("X: a\r\n Origin: null");
        if (odd == quirk::origin) add("Origin: null");
        if (odd == quirk::two_tokens) add("Authorization: Bearer a\r\nAuthorization: Bearer b");
        if (odd == quirk::other_expectation) {
            add("Expect: 200-ok");
        } else if (expects_continue) {
            add("Expect: 100-continue");
        }
        if (odd == quirk::other_coding) add("Transfer-Encoding: gzip");
        if (odd == quirk::empty_coding) add("Transfer-Encoding:");
        if (odd == quirk::two_lengths) add("Content-Length: " + std::to_string(body.size()));
        if (names_connection) add(http_1_0 ? "Connection: keep-alive" : "Connection: close");
        if (body_framing == framing::chunked) add("Transfer-Encoding: chunked");
        if (body_framing == framing::length) add("Content-Length: " + std::to_string(body.size()));
        constexpr std::string_view pad = "X: ";
        if (head.size() + pad.size() + 4 < head_size_wanted) {
            add(std::string{pad} +
                std::string(head_size_wanted - head.size() - pad.size() - 4, 'x'));
        }
        head += "\r\n";
        head_size = head.size();
        return head + body_as_sent();
    }

    static constexpr std::array methods{"GET", "PUT", "POST", "DELETE", "HEAD"};
    static constexpr std::array players{"anna", "b", "%61nna", "..", "a%20b"};

    std::string_view method;
    std::string_view player;
    std::size_t where = 0;  // else: a save
    quirk odd = quirk::none;
    bool http_1_0 = false;
    bool keep_alive = true;
    bool names_connection = false;
    bool expects_continue = false;
    bool is_json = true;
    framing body_framing = framing::none;
    std::string body;
    std::size_t chunk_max = 1;
    std::size_t head_size_wanted = 0;
    std::size_t head_size = 0;  // once the text was made

private:
    // A JSON string of some length, or what is no JSON.
    [[nodiscard]] std::string draw_body(input& bytes) const {
        const std::size_t size = bytes.below(2 * service_limits.body_max);
        std::string drawn(size, 'x');
        if (is_json && size >= 2) drawn.front() = drawn.back() = '"';
        return drawn;
    }

    [[nodiscard]] std::string target() const {
        if (odd == quirk::unknown_path) return "/games/chess";
        if (odd == quirk::broken_escape) return "/games/%4/saves/anna";
        if (is_healthz()) return "/healthz";
        if (is_stats()) return "http://localhost/stats?all";
        const std::string game = has_bad_game()    ? "/games/che%21ss"
                                 : names_no_game() ? ""
                                                   : "/games/chess";
        return game + "/saves/" + std::string{player} + (is_update() ? "/update" : "");
    }

    [[nodiscard]] std::string body_as_sent() const {
        if (body_framing != framing::chunked) return body;
        std::string sent;
        for (std::size_t at = 0; at < body.size(); at += chunk_max) {
            const std::string chunk = body.substr(at, chunk_max);
            std::array<char, 8> size{};
            const auto [end, code] =
                std::to_chars(size.data(), size.data() + size.size(), chunk.size(), 16);
            sent += std::string(size.data(), end) + "\r\n" + chunk + "\r\n";
        }
        return sent + "0\r\n\r\n";
    }
};

class service_model {
public:
    /// Another request, as text. What is expected of its answer is remembered.
    std::string request(input& bytes) {
        drawn_request drawn{bytes};
        std::string text = drawn.text();
        expected_answer answer{.request = text, .body = {}};
        answer.head_only = drawn.method == "HEAD";
        answer.closes = !drawn.keep_alive;
        if ((answer.status = refuse_head(drawn)) != 0) {
            answer.closes = true;
        } else if ((answer.status = refuse_request(drawn)) != 0) {
            answer.closes |= drawn.has_body();  // it was not read
        } else if (drawn.body.size() > service_limits.body_max) {
            answer.status = 413;
            answer.closes = true;
        } else {
            run(drawn, answer);
        }
        expected_.push_back(std::move(answer));
        return text;
    }

    [[nodiscard]] bool ended() const { return !expected_.empty() && expected_.back().closes; }
    [[nodiscard]] const std::vector<expected_answer>& expected() const { return expected_; }

private:
    using quirk = drawn_request::quirk;
    using framing = drawn_request::framing;

    struct profile {
        std::uint64_t version = 0;
        std::optional<std::string> save;
    };

    // The status of a head that cannot be parsed; 0 if it can.
    static int refuse_head(const drawn_request& drawn) {
        if (drawn.odd == quirk::joined_line) return 400;  // seen before the end of the head
        if (drawn.head_size > service_limits.head_max) return 431;
        if (drawn.odd == quirk::empty_coding || drawn.odd == quirk::two_lengths) return 400;
        const bool has_coding =
            drawn.odd == quirk::other_coding || drawn.body_framing == framing::chunked;
        if (has_coding && drawn.http_1_0) return 400;
        if (drawn.odd == quirk::other_coding) return 501;
        if (drawn.odd == quirk::two_hosts || drawn.odd == quirk::two_tokens) return 400;
        if (drawn.odd == quirk::bad_host) return 400;
        if (drawn.odd == quirk::no_host && !drawn.http_1_0) return 400;
        if (drawn.odd == quirk::other_expectation && !drawn.http_1_0) return 417;
        return 0;
    }

    // The status of a request that is refused before its body is read; 0 if it is not refused.
    static int refuse_request(const drawn_request& drawn) {
        if (drawn.odd == quirk::unknown_path) return 404;
        const bool gets = drawn.method == "GET";
        bool allowed = gets || drawn.method == "PUT" || drawn.method == "DELETE";
        if (drawn.odd != quirk::broken_escape) {
            if (drawn.is_update()) allowed = drawn.method == "POST";
            if (drawn.is_healthz()) allowed = gets || drawn.method == "HEAD";
            if (drawn.is_stats()) allowed = gets;
        }
        if (!allowed) return 405;
        if (drawn.odd == quirk::broken_escape) return 400;
        if (drawn.odd == quirk::origin || drawn.odd == quirk::foreign_host) return 403;
        const bool has_length = drawn.body_framing == framing::length;
        if (has_length && drawn.body.size() > service_limits.body_max) return 413;
        return drawn.has_bad_game() ? 400 : 0;
    }

    void run(const drawn_request& drawn, expected_answer& answer) {
        answer.status = 200;
        if (drawn.is_healthz() || drawn.is_stats()) return;
        answer.status = 400;
        const bool is_anna = drawn.player == "anna" || drawn.player == "%61nna";
        if (!is_anna && drawn.player != "b") return;
        const bool writes = drawn.method == "PUT" || drawn.is_update();
        if (writes && !(drawn.is_json && drawn.body.size() >= 2)) return;

        profile& of = profiles_[{drawn.names_no_game() ? "default" : "chess", is_anna}];
        answer.status = 404;
        if (drawn.method != "PUT" && !of.save) return;
        answer.status = drawn.method == "DELETE" ? 204 : 200;
        if (drawn.method == "GET") {
            answer.body = *of.save;
        } else {
            ++of.version;
            of.save.reset();
            // A merge patch that is no object takes the place of the whole document.
            if (writes) of.save = drawn.body;
        }
        if (answer.status == 200) answer.version = std::to_string(of.version);
    }

    std::map<std::pair<std::string_view, bool>, profile> profiles_;  // by game, and whether of Anna
    std::vector<expected_answer> expected_;
};

}  // namespace fairlead::fuzz
