// What is known and what is being asked: one table for the cache and for the queries under way.
//
//     task: find(key) -> entry ------ waits for `landed` ------> said
//                          | first                  ^
//                          v                        |
//     task of the query: asks ---------------> land(entry)
//
// 1. An entry is in the table from its query on, until it is replaced or evicted. Tasks hold it for
//    as long as they wait.
// 2. `said` and `holds_until` are written before `landed` is set, and never after.
// 3. A query always lands, also when its task is destroyed with its scheduler.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/dns/query.hpp>
#include <fairlead/dns/resolver.hpp>
#include <fairlead/wait/event.hpp>

#include <compare>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <string>

namespace fairlead::dns::detail {

struct key {
    std::string name;
    family of;
    friend auto operator<=>(const key&, const key&) = default;
};

class entry {
public:
    explicit entry(key of) : asked{std::move(of)} {}

    const key asked;
    event landed;
    answer said;
    time_point holds_until = immediately;

private:
    friend class answers;
    bool is_under_way_ = true;  // guarded by the mutex of the table, as all below
    std::list<std::shared_ptr<entry>>::iterator place_;  // in the order of use, once it is kept
};

class answers {
public:
    explicit answers(const resolver_options& options) noexcept : options_{options} {}

    struct found {
        std::shared_ptr<entry> of;  // null: too many queries are under way
        bool is_new;                // its query must be begun
    };
    [[nodiscard]] found find(const key& of, time_point now);
    /// Its query has ended with this.
    void land(const std::shared_ptr<entry>& of, answer said, time_point now) noexcept;
    void clear() noexcept;
    [[nodiscard]] resolver_stats stats() const;

private:
    [[nodiscard]] duration keeping_of(const answer& said) const noexcept;
    void drop(entry& kept) noexcept;

    const resolver_options& options_;
    mutable sync::mutex mutex_;
    // All guarded by mutex_.
    std::map<key, std::shared_ptr<entry>> all_;
    std::list<std::shared_ptr<entry>> kept_;  // those that have landed, the last used first
    resolver_stats stats_;
};

}  // namespace fairlead::dns::detail
