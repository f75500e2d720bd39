#include "cores/lines.hpp"

#include "cores/heap.hpp"
#include "model/checker/replaced_new.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace fairlead::cores {
namespace {

constexpr std::size_t line_size = 64;
constexpr std::size_t no_processor = processors_max;

}  // namespace

lines::lines(const costs& of)
    : costs_{of},
      of_blocks_{static_cast<line*>(
          model::reserve(std::uintptr_t{1} << 45, heap::blocks_size / line_size * sizeof(line)))} {}

lines::line& lines::at(const void* address) {
    const std::size_t offset = heap::offset(address);
    if (offset < heap::blocks_size) return of_blocks_[offset / line_size];
    return elsewhere_[reinterpret_cast<std::uintptr_t>(address) / line_size];
}

// More threads than the machine has processors: they are beside its last one.
double lines::distance(std::size_t from, std::size_t to) const {
    const auto last = static_cast<std::size_t>(costs_.of_machine) - 1;
    from = std::min(from, last);
    to = std::min(to, last);
    const auto of_l3 = static_cast<std::size_t>(costs_.of_l3);
    const auto of_socket = static_cast<std::size_t>(costs_.of_socket);
    if (from / of_l3 == to / of_l3) return costs_.near;
    return from / of_socket == to / of_socket ? costs_.far : costs_.remote;
}

// Where a load gets a line that no processor has modified.
lines::place lines::nearest(const line& of, std::size_t processor) const {
    place best{costs_.memory, no_processor};
    for (std::size_t each = of.sharers._Find_first(); each < processors_max;
         each = of.sharers._Find_next(each)) {
        const double way = distance(each, processor);
        if (best.from == no_processor || way < best.distance) best = {way, each};
        if (way == costs_.near) return {costs_.shared, each};  // the L3 has it
    }
    return best;
}

lines::place lines::farthest(const line& of, std::size_t processor) const {
    place worst{0, no_processor};
    for (std::size_t each = of.sharers._Find_first(); each < processors_max;
         each = of.sharers._Find_next(each)) {
        if (each == processor) continue;
        const double way = distance(each, processor);
        if (way > worst.distance) worst = {way, each};
    }
    return worst;
}

void lines::count(std::size_t processor, const place& where) {
    if (where.from == no_processor) return;
    const double way = distance(where.from, processor);
    traffic& of = traffic_[processor];
    ++(way == costs_.near ? of.near : way == costs_.far ? of.far : of.remote);
}

bool lines::is_hit(std::size_t processor, const void* address, access what) {
    const line& of = at(address);
    if (of.modified_by == processor + 1) return true;
    const bool reads = what == access::plain_load || what == access::load;
    return reads && of.sharers.test(processor);
}

// Where the line comes from, or from where its last copy has to go.
lines::place lines::source(const line& of, std::size_t processor, bool reads) const {
    if (of.modified_by != 0) return {distance(of.modified_by - 1U, processor), of.modified_by - 1U};
    if (reads) return nearest(of, processor);
    const place last = farthest(of, processor);
    return last.from == no_processor && !of.sharers.test(processor)
               ? place{costs_.memory, no_processor}
               : last;
}

lines::plan lines::begin(std::size_t processor, const void* address, access what, double now) {
    line& of = at(address);
    traffic& counts = traffic_[processor];
    in_flight& mine = in_flight_[processor];
    ++counts.accesses;
    now += costs_.access;
    const bool reads = what == access::plain_load || what == access::load;
    const bool changes = what == access::change || what == access::fenced_store;
    const bool follows_load = std::exchange(mine.loads, mine.loads && !changes);
    if (changes) {
        ++counts.changes;
        ++of.changes;
        now = std::max(now, mine.stores_done) + costs_.change;
    }
    if (is_hit(processor, address, what)) return {now, now};
    const bool queues = of.free_at > now && of.sent_to != processor + 1;
    const place where = queues ? place{distance(of.sent_to - 1U, processor), of.sent_to - 1U}
                               : source(of, processor, reads);
    if (where.distance == 0) return {now, now};  // it has the line alone
    const double start = queues ? of.free_at : now;
    const double end = start + where.distance;
    const bool alone = !reads || of.modified_by != 0 || queues;
    if (alone) {
        of.free_at = end;
        of.sent_to = static_cast<std::uint16_t>(processor + 1);
    }
    count(processor, where);
    ++of.fetches;
    if (what == access::plain_store || what == access::store) {
        mine.stores_done = std::max(mine.stores_done, end);
        return {now, now};
    }
    of.waited += end - now;
    mine.loads = what == access::load;
    if (follows_load && what == access::load && !queues) {
        return {now, now + where.distance / costs_.overlap};
    }
    return {start + where.distance / 2, end};
}

void lines::move(std::size_t processor, const void* address, access what) {
    if (is_hit(processor, address, what)) return;
    line& of = at(address);
    of.modified_by = 0;
    if (what != access::plain_load && what != access::load) {
        of.sharers.reset();
        of.modified_by = static_cast<std::uint16_t>(processor + 1);
    }
    of.sharers.set(processor);
}

void lines::name(const void* begin, std::size_t size, std::string of_part) {
    const auto found = std::ranges::find(names_, of_part);
    const auto index = static_cast<std::uint16_t>(found - names_.begin());
    if (found == names_.end()) names_.push_back(std::move(of_part));
    const auto* const first = static_cast<const std::byte*>(begin);
    for (std::size_t i = 0; i < size; i += line_size) at(first + i).part = index;
    if (size != 0) at(first + size - 1).part = index;
}

std::vector<lines::part_counts> lines::parts() const {
    std::vector<part_counts> all;
    for (const std::string& each : names_) all.push_back({each});
    const auto add = [&all](const line& each) {
        part_counts& of = all[each.part];
        of.changes += each.changes;
        of.fetches += each.fetches;
        of.waited += each.waited;
    };
    for (std::size_t i = 0; i != heap::used() / line_size + 1; ++i) add(of_blocks_[i]);
    for (const auto& [address, each] : elsewhere_) add(each);
    return all;
}

void lines::forget_counts() {
    const auto forget = [](line& each) {
        each.changes = each.fetches = 0;
        each.waited = 0;
    };
    for (std::size_t i = 0; i != heap::used() / line_size + 1; ++i) forget(of_blocks_[i]);
    for (auto& [address, each] : elsewhere_) forget(each);
    traffic_ = {};
}

}  // namespace fairlead::cores
