// Parses whole messages, in pieces of any size, and says what was found.
#pragma once

#include <fairlead/http/body_decoder.hpp>
#include <fairlead/http/request_parser.hpp>
#include <fairlead/http/response_parser.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead::http {

// A complete message, with copies of what the views say.
struct seen {
    std::string first;  // method and target, or the status
    std::string host;
    std::string lines;
    std::string body;
    framing how;
    bool keep_alive = false;
    bool expects_continue = false;

    friend bool operator==(const seen&, const seen&) = default;
};

// All messages of a connection, and how it ends: `none` after a message or before its end.
struct outcome {
    std::vector<seen> messages;
    errc error = errc::none;
    bool between = true;  // all that came belongs to complete messages

    friend bool operator==(const outcome&, const outcome&) = default;
};

inline std::ostream& operator<<(std::ostream& to, const outcome& what) {
    to << what.messages.size() << " messages, " << make_error_code(what.error).message();
    for (const seen& each : what.messages) {
        to << "\n  " << each.first << " host " << each.host << " body " << each.body;
    }
    return to;
}

inline void describe(const request_head& head, seen& what) {
    what.first = std::string{head.method} + ' ' + std::string{head.target};
    what.host = head.host;
    what.lines = head.fields.lines();
    what.how = head.body;
    what.keep_alive = head.keep_alive;
    what.expects_continue = head.expects_continue;
}

inline void describe(const response_head& head, seen& what) {
    what.first = std::to_string(head.status) + ' ' + std::string{head.reason};
    what.lines = head.fields.lines();
    what.how = head.body;
    what.keep_alive = head.keep_alive;
}

// A connection that is given its bytes piece by piece. The received bytes move with each piece, as
// in a buffer that grows.
template <class Parser>
class conversation {
public:
    explicit conversation(const limits& limits = {}) : limits_{limits}, parser_{limits} {}

    void receive(std::string_view piece) {
        std::string moved;
        moved.reserve(received_.size() + piece.size());
        moved.append(received_).append(piece);
        received_.swap(moved);
        while (out_.error == errc::none && step()) {
        }
    }

    [[nodiscard]] outcome end() {
        if (in_body_ && out_.error == errc::none) {
            if (body_.end_of_input() == errc::none) end_message();
        }
        out_.between = received_.empty() && !in_body_;
        return out_;
    }

private:
    bool step() {
        if (!in_body_) {
            if (received_.empty()) return false;
            const auto complete = parser_.parse(received_);
            if (!complete) {
                out_.error = complete.error();
                return false;
            }
            if (!*complete) return false;
            now_ = {};
            const auto head = parser_.head(received_);
            describe(head, now_);
            body_ = body_decoder{head.body, limits_};
            received_.erase(0, parser_.head_size());
            in_body_ = true;
        }
        const auto piece = body_.decode(received_);
        if (!piece) {
            out_.error = piece.error();
            return false;
        }
        now_.body.append(piece->data);
        received_.erase(0, piece->taken);
        if (body_.done()) {
            end_message();
            return true;
        }
        return piece->taken != 0;
    }

    void end_message() {
        out_.messages.push_back(now_);
        parser_.reset();
        in_body_ = false;
    }

    limits limits_;
    Parser parser_;
    body_decoder body_;
    std::string received_;
    seen now_;
    outcome out_;
    bool in_body_ = false;
};

template <class Parser>
outcome in_pieces(std::string_view text, std::size_t size, const limits& limits = {}) {
    conversation<Parser> connection{limits};
    for (std::size_t at = 0; at < text.size(); at += size) {
        connection.receive(text.substr(at, size));
    }
    return connection.end();
}

template <class Parser>
outcome in_two(std::string_view text, std::size_t split, const limits& limits = {}) {
    conversation<Parser> connection{limits};
    connection.receive(text.substr(0, split));
    connection.receive(text.substr(split));
    return connection.end();
}

template <class Parser>
outcome at_once(std::string_view text, const limits& limits = {}) {
    return in_pieces<Parser>(text, std::max<std::size_t>(text.size(), 1), limits);
}

// What is found, whatever the pieces; the tests see to it that this is one thing.
template <class Parser>
outcome found_in(std::string_view text, const std::function<void(bool, std::string)>& same,
                 const limits& limits = {}) {
    const outcome whole = at_once<Parser>(text, limits);
    same(in_pieces<Parser>(text, 1, limits) == whole, "bytes alone");
    for (std::size_t split = 0; split <= text.size(); ++split) {
        same(in_two<Parser>(text, split, limits) == whole, "split at " + std::to_string(split));
    }
    return whole;
}

}  // namespace fairlead::http
