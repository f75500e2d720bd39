// The places for the results of a stream: as many results as there are places have not been taken.
//
//     free --a worker takes one, for the task that it begins--> held --the task ends--> ended
//      ^------------------------- the loop takes the result --------------------------'
#pragma once

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/settled.hpp>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace fairlead::combine {

template <class T>
class places {
public:
    // Allocates room for all results.
    explicit places(std::size_t count) : kept_(count), free_{count}, ended_{count} {
        for (std::size_t i = 0; i != count; ++i) put(free_, i);
    }

    // The waits for a place: of a worker, and of the loop.
    [[nodiscard]] auto next_free() noexcept { return free_.receive(); }
    [[nodiscard]] auto next_ended() noexcept { return ended_.receive(); }

    // The result in the place. For the worker that holds the place, and the loop.
    [[nodiscard]] std::optional<settled<T>>& result(std::size_t place) noexcept {
        return kept_[place].result;
    }

    // A worker holds the place, for the task of this number.
    void begin(std::size_t place, std::size_t index) noexcept { kept_[place].index = index; }
    // There is a result.
    void end(std::size_t place) noexcept { put(ended_, place); }
    [[nodiscard]] completion<T> take(std::size_t place) {
        kept& from = kept_[place];
        completion<T> taken{from.index, *std::move(from.result)};
        from.result.reset();
        put(free_, place);
        return taken;
    }

    // No worker waits any more.
    void close_free() noexcept { free_.close(); }
    // When the results are taken that there are, the loop has the end.
    void close_ended() noexcept { ended_.close(); }
    void drop_ended() noexcept { ended_.close_and_drop(); }

private:
    struct kept {
        std::size_t index = 0;
        std::optional<settled<T>> result;
    };

    // There is room: each place is in one channel at most.
    static void put(channel<std::size_t>& in, std::size_t place) noexcept {
        static_cast<void>(in.try_send(std::move(place)));
    }

    std::vector<kept> kept_;
    channel<std::size_t> free_;
    channel<std::size_t> ended_;
};

}  // namespace fairlead::combine
