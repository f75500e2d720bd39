// The statements that a connection has prepared, by their texts: those that were used last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace fairlead::postgres::detail {

/// A statement that the server knows, or is about to.
struct prepared_statement {
    std::string sql;
    std::string name;           // never used again on the connection
    bool is_ready = false;      // the server has confirmed it
    bool is_forgotten = false;  // not in the cache any more
};

class statement_cache {
public:
    using entry = std::shared_ptr<prepared_statement>;

    explicit statement_cache(std::size_t size_max) : size_max_{size_max} {}

    /// The statement, which counts as used; null: there is none.
    [[nodiscard]] entry find(std::string_view sql);
    /// Adds a statement that is not there. The cache has room.
    [[nodiscard]] entry add(std::string_view sql);
    [[nodiscard]] bool has_room() const noexcept { return by_sql_.size() < size_max_; }
    /// Takes out the statement that was not used for the longest time; null: there is none.
    [[nodiscard]] entry evict();
    /// Takes one out, if it is there.
    void forget(const entry& gone);

private:
    using order = std::list<entry>;

    const std::size_t size_max_;
    std::uint64_t made_ = 0;
    order entries_;                                                 // used last: first
    std::unordered_map<std::string_view, order::iterator> by_sql_;  // keys lie in the entries
};

}  // namespace fairlead::postgres::detail
