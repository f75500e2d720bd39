// Two engines of TLS and the bytes between them, which an attacker may change, drop and add.
//
// It checks what TLS is for: each end reads a prefix of what the other one has written, and an end
// only after all of it. While nothing was changed, all arrives, in whatever pieces the bytes come.
// A failure stays, and what an engine sends is bounded by what it gets.
#pragma once

#include "fuzz/input.hpp"
#include "tls/zoo.hpp"

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/tls/tls_engine.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace fairlead::fuzz {

using io::detail::tls_engine;
using io::detail::tls_outcome;

/// How an end reads. The tests of the check plant mistakes here.
struct tls_reads {
    static tls_outcome read(tls_engine& engine, std::span<std::byte> buffer, std::size_t& count) {
        return engine.read(buffer, count);
    }
};

/// One end: an engine, what it has written and read, and the bytes on the way to it.
template <class Reads>
class tls_end {
public:
    explicit tls_end(std::unique_ptr<tls_engine> engine) : engine_{std::move(engine)} {}

    // A handshake or a read.
    void go_on() {
        const std::size_t before = engine_->output().size();
        if (!connected_) {
            note(engine_->handshake());
            return;
        }
        std::array<std::byte, 700> buffer;
        std::size_t count = 0;
        const tls_outcome outcome = Reads::read(*engine_, buffer, count);
        FAIRLEAD_ASSERT((outcome == tls_outcome::done) == (count != 0), "a read has bytes");
        read_.append(reinterpret_cast<const char*>(buffer.data()), count);
        FAIRLEAD_ASSERT(engine_->output().size() - before <= came_ + 100,
                        "an answer is no larger than its cause");
        note(outcome);
    }

    void write(std::string_view text) {
        if (!connected_ || failed_ || engine_->sends_no_more()) return;
        std::size_t count = 0;
        const tls_outcome outcome = engine_->write(std::as_bytes(std::span{text}), count);
        FAIRLEAD_ASSERT(count <= text.size(), "a write takes no more than there is");
        FAIRLEAD_ASSERT((outcome == tls_outcome::done) == (count != 0), "a write takes bytes");
        written_.append(text.substr(0, count));
        if (outcome == tls_outcome::failed) failed_ = true;
    }

    void end() {
        if (!connected_ || failed_) return;
        if (engine_->end_sending() == tls_outcome::failed) failed_ = true;
    }

    // Moves what it sends to the way to `peer`.
    void send_to(tls_end& peer) {
        const auto bytes = engine_->output().bytes();
        peer.way_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        engine_->output().clear();
    }

    // Takes at most `size` bytes of its way. Answers how many.
    std::size_t receive(std::size_t size) {
        const auto room = engine_->room_for_input();
        const std::size_t taken = std::min({size, way_.size(), room.size()});
        if (taken == 0) return 0;
        std::memcpy(room.data(), way_.data(), taken);
        engine_->input_came(taken);
        came_ += taken;
        way_.erase(0, taken);
        return taken;
    }

    [[nodiscard]] std::string& way() { return way_; }
    [[nodiscard]] bool is_sound() const { return connected_ && !failed_; }
    [[nodiscard]] bool has_ended() const { return ended_; }

    // Of what `peer` has written.
    void check_what_is_read(const tls_end& peer) const {
        FAIRLEAD_ASSERT(peer.written_.starts_with(read_), "only what was written is read");
        if (!ended_) return;
        FAIRLEAD_ASSERT(peer.engine_->sends_no_more(), "only an end that was sent is an end");
        FAIRLEAD_ASSERT(read_ == peer.written_, "an end comes after all that was written");
    }
    void check_that_all_is_read(const tls_end& peer) const {
        FAIRLEAD_ASSERT(is_sound(), "nothing was changed, so nothing fails");
        FAIRLEAD_ASSERT(read_ == peer.written_, "nothing was changed, so all is read");
        FAIRLEAD_ASSERT(ended_ == peer.engine_->sends_no_more(), "and the end, too");
    }

private:
    void note(tls_outcome outcome) {
        FAIRLEAD_ASSERT(!failed_ || outcome == tls_outcome::failed, "a failure stays");
        FAIRLEAD_ASSERT((outcome == tls_outcome::failed) == bool{engine_->error()},
                        "a failure has an error");
        failed_ = outcome == tls_outcome::failed;
        if (outcome == tls_outcome::ended) ended_ = true;
        if (outcome == tls_outcome::done) connected_ = true;
    }

    std::unique_ptr<tls_engine> engine_;
    std::string way_;  // bytes that come to it
    std::string written_;
    std::string read_;
    std::size_t came_ = 0;
    bool connected_ = false;
    bool failed_ = false;
    bool ended_ = false;
};

template <class Reads>
class tls_conversation {
public:
    tls_conversation(const io::tls_context& of_client, const io::tls_context& of_server)
        : ends_{tls_end<Reads>{*tls_engine::client(of_client, "localhost")},
                tls_end<Reads>{*tls_engine::server(of_server)}} {}

    void operate(input& bytes) {
        const std::size_t which = bytes.below(2);
        tls_end<Reads>& one = ends_[which];
        tls_end<Reads>& other = ends_[1 - which];
        switch (bytes.below(10)) {
            case 0:
            case 1:
                one.go_on();
                break;
            case 2:
                one.send_to(other);
                break;
            case 3:
                one.receive(1 + bytes.below(300));
                break;
            case 4:
                one.receive(20000);
                break;
            case 5:
                one.write(std::string(1 + bytes.below(2000), static_cast<char>(bytes.byte())));
                break;
            case 6:
                one.end();
                break;
            case 7:
                settle();
                break;
            default:
                tamper(one.way(), bytes);
                break;
        }
        for (const std::size_t i : {0U, 1U}) ends_[i].check_what_is_read(ends_[1 - i]);
    }

    // Everything arrives that can.
    void settle() {
        for (int idle = 0; idle != 2; ++idle) {
            for (const std::size_t i : {0U, 1U}) {
                ends_[i].send_to(ends_[1 - i]);
                ends_[i].go_on();
                ends_[i].send_to(ends_[1 - i]);
                if (ends_[i].receive(20000) != 0) idle = -1;
            }
        }
        // What came in one piece may be read in several.
        for (int i = 0; i != 200; ++i) {
            ends_[0].go_on();
            ends_[1].go_on();
        }
    }

    void check_the_whole() {
        settle();
        for (const std::size_t i : {0U, 1U}) {
            ends_[i].check_what_is_read(ends_[1 - i]);
            if (!tampered_) ends_[i].check_that_all_is_read(ends_[1 - i]);
        }
    }

private:
    void tamper(std::string& way, input& bytes) {
        const std::size_t at = bytes.below(way.size() + 1);
        const std::size_t how = bytes.below(3);
        if (how == 0) {
            const std::string_view more = bytes.text(40);
            way.insert(at, more);
            tampered_ |= !more.empty();
        } else if (at != way.size()) {
            tampered_ = true;
            if (how == 1) way[at] = static_cast<char>(way[at] ^ (1 + bytes.below(255)));
            if (how == 2) way.erase(at, 1 + bytes.below(100));
        }
    }

    std::array<tls_end<Reads>, 2> ends_;
    bool tampered_ = false;
};

template <class Reads>
void check_tls_engine(input bytes) {
    static const test::harbour harbour;
    static const io::tls_context of_server = harbour.server({.alpn = {"h2", "http/1.1"}});
    static const std::array of_client{
        harbour.client({.version_max = io::tls_version::v1_2, .sessions_max = 0}),
        harbour.client({.alpn = {"h2"}, .sessions_max = 0})};
    tls_conversation<Reads> conversation{of_client[bytes.below(2)], of_server};
    if (bytes.flag()) conversation.settle();
    while (!bytes.empty()) conversation.operate(bytes);
    conversation.check_the_whole();
}

}  // namespace fairlead::fuzz
