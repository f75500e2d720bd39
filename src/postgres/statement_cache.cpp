#include "postgres/statement_cache.hpp"

#include <utility>

namespace fairlead::postgres::detail {

statement_cache::entry statement_cache::find(std::string_view sql) {
    const auto found = by_sql_.find(sql);
    if (found == by_sql_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return *found->second;
}

statement_cache::entry statement_cache::add(std::string_view sql) {
    auto made = std::make_shared<prepared_statement>(
        prepared_statement{std::string{sql}, "fl_" + std::to_string(++made_)});
    entries_.push_front(made);
    by_sql_.emplace(made->sql, entries_.begin());
    return made;
}

statement_cache::entry statement_cache::evict() {
    if (entries_.empty()) return nullptr;
    const entry oldest = entries_.back();
    forget(oldest);
    return oldest;
}

void statement_cache::forget(const entry& gone) {
    if (std::exchange(gone->is_forgotten, true)) return;
    const auto found = by_sql_.find(gone->sql);
    const auto place = found->second;
    by_sql_.erase(found);
    entries_.erase(place);
}

}  // namespace fairlead::postgres::detail
