// Which processor has which cache line, and how long an access takes: a directory as in MESI.
//
// Question it answers: an access begins now; when can its processor go on?
//
//   - An access that finds its line as it needs it takes `costs::access`, a read-modify-write
//     `costs::change` more.
//   - A load of a line that another processor has modified fetches it from there, and then both
//     share it. A load of a shared line fetches it from the nearest processor with a copy.
//   - A store and a read-modify-write take the line from every processor that has it, and last as
//     long as the way to the farthest.
//   - One such transfer of a line follows the other, in the order in which they were asked for.
//     Loads of a shared line do not wait for each other.
//   - A line leaves a processor in the middle of its transfer, when the request has arrived there.
//     Until then that processor goes on with it. So of many loops that exchange one word, the loop
//     on this processor succeeds.
//   - A store waits in the store buffer while its processor goes on. A read-modify-write and a
//     sequentially consistent store wait for the buffer.
//   - Loads of atomics in a row are under way at once, `costs::overlap` of them: a loop over slots
//     does not wait for one before it looks at the next. Plain loads are not, as they follow links;
//     a read-modify-write ends the row.
//   - No cache is ever full.
#pragma once

#include "cores/costs.hpp"

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace fairlead::cores {

inline constexpr std::size_t processors_max = 256;

enum class access : std::uint8_t {
    plain_load,
    plain_store,
    load,          // of an atomic
    store,         // relaxed or release
    fenced_store,  // sequentially consistent
    change,        // a read-modify-write
};

// What one processor has done.
struct traffic {
    std::uint64_t accesses = 0;
    std::uint64_t changes = 0;  // read-modify-writes, and sequentially consistent stores
    std::uint64_t near = 0;     // lines from another processor of the L3, or from the L3
    std::uint64_t far = 0;      // from another L3 of the socket
    std::uint64_t remote = 0;   // from another socket
};

class lines {
public:
    explicit lines(const costs& of);
    lines(const lines&) = delete;
    lines& operator=(const lines&) = delete;

    // Whether the processor has the line as the access needs it.
    [[nodiscard]] bool is_hit(std::size_t processor, const void* at, access what);

    // An access begins: when the line leaves where it is, and when the processor can go on.
    struct plan {
        double leaves;
        double end;
    };
    [[nodiscard]] plan begin(std::size_t processor, const void* at, access what, double now);

    // The line leaves where it is. Then the access happens.
    void move(std::size_t processor, const void* at, access what);

    [[nodiscard]] const traffic& of(std::size_t processor) const { return traffic_[processor]; }

    // --- which lines cost most -------------------------------------------------------------------

    // The part of the program to which this memory belongs from now on.
    void name(const void* at, std::size_t size, std::string of_part);
    struct part_counts {
        std::string name;
        std::uint64_t changes = 0;
        std::uint64_t fetches = 0;
        double waited = 0;  // for the line, in ns, of all processors
    };
    [[nodiscard]] std::vector<part_counts> parts() const;
    void forget_counts();

private:
    // Zeros: in no cache.
    struct line {
        std::bitset<processors_max> sharers;
        std::uint16_t modified_by;  // 1 + the processor, which alone has it then; 0: none
        std::uint16_t sent_to;      // 1 + the processor that has asked for it last
        std::uint16_t part;
        std::uint32_t changes;
        std::uint32_t fetches;
        double free_at;  // when it has arrived at `sent_to`
        double waited;
    };
    struct in_flight {
        double stores_done = 0;
        bool loads = false;  // the last miss was a load of an atomic
    };
    struct place {
        double distance;  // ns
        std::size_t from;
    };

    [[nodiscard]] line& at(const void* address);
    [[nodiscard]] double distance(std::size_t from, std::size_t to) const;
    [[nodiscard]] place source(const line& of, std::size_t processor, bool reads) const;
    [[nodiscard]] place nearest(const line& of, std::size_t processor) const;
    [[nodiscard]] place farthest(const line& of, std::size_t processor) const;
    void count(std::size_t processor, const place& where);

    const costs costs_;
    line* const of_blocks_;  // by the offset of the block
    std::unordered_map<std::uintptr_t, line> elsewhere_;
    std::array<in_flight, processors_max> in_flight_{};
    std::array<traffic, processors_max> traffic_{};
    std::vector<std::string> names_{"other"};
};

}  // namespace fairlead::cores
