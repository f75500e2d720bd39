// What tests of datagrams have in common.
#pragma once

#include "support/networks.hpp"
#include "support/sockets.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/udp.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::io {

using test::bytes_of;

inline std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i != size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 9) % 26);
    return text;
}

using text_or_error = std::expected<std::string, std::error_code>;

inline task<text_or_error> receives(datagram_socket& from, std::size_t size,
                                    time_point deadline = never) {
    std::string text(size, '\0');
    const auto came = co_await from.receive_from(std::as_writable_bytes(std::span{text}), deadline);
    if (!came) co_return std::unexpected{came.error()};
    EXPECT_EQ(came->segment, came->size);
    co_return text_of(came->data());
}

inline task<std::error_code> sends(datagram_socket& to, std::string text,
                                   std::optional<address> where, time_point deadline = never) {
    if (where) {
        const auto done = co_await to.send_to(bytes_of(text), *where, deadline);
        co_return done ? std::error_code{} : done.error();
    }
    const auto done = co_await to.send(bytes_of(text), deadline);
    co_return done ? std::error_code{} : done.error();
}

inline task<std::expected<void, unfinished_send>> sends_all(datagram_socket& to,
                                                            std::span<const datagram> all,
                                                            time_point deadline = never) {
    co_return co_await to.send(all, deadline);
}

// Some datagrams, in the order in which they have come.
struct batch {
    explicit batch(std::size_t count, std::size_t size = 2000) : room(count * size), slots(count) {
        for (std::size_t i = 0; i != count; ++i) {
            slots[i].buffer = std::span{room}.subspan(i * size, size);
        }
    }
    std::vector<std::byte> room;
    std::vector<arrived_datagram> slots;
};

inline task<std::expected<std::size_t, std::error_code>> receives_all(datagram_socket& from,
                                                                      batch& into,
                                                                      time_point deadline = never) {
    co_return co_await from.receive(into.slots, deadline);
}

class datagram_test : public testing::Test {
protected:
    [[nodiscard]] udp_socket bound(udp_options options = {}) {
        return udp_socket::bind(on.home(), address::loopback(0), options).value();
    }
    [[nodiscard]] udp_socket connected_to(const udp_socket& peer, udp_options options = {}) {
        return udp_socket::connect(on.home(), peer.local_address().value(), options).value();
    }
    [[nodiscard]] text_or_error receive(datagram_socket& from, std::size_t size = 2000,
                                        time_point deadline = never) {
        return on.run(receives(from, size, deadline));
    }
    [[nodiscard]] std::error_code send(datagram_socket& to, std::string text,
                                       std::optional<address> where = std::nullopt,
                                       time_point deadline = never) {
        return on.run(sends(to, std::move(text), where, deadline));
    }
    template <class T>
    join_handle<T> start(task<T> body) {
        auto handle = spawn(on.home(), std::move(body));
        on.home().run_until_idle();
        return handle;
    }
    template <class T>
    T finish(join_handle<T>& handle) {
        while (!handle.ended()) on.home().run_until(never, 1);
        return handle.get();
    }

    test::kernel_home on;
};

}  // namespace fairlead::io
