// Statements that are sent together, and what they have given. Each request has one of each, for a
// short time, so their memory is recycled.
#pragma once

#include <fairlead/detail/sync/recycler.hpp>
#include <fairlead/postgres/rows.hpp>
#include <fairlead/postgres/statement.hpp>

#include <iterator>
#include <utility>
#include <vector>

namespace fairlead::postgres::detail {

template <class T>
using recycled_vector = std::vector<T, sync::recycling_allocator<T>>;
using statements = recycled_vector<statement>;
using row_sets = recycled_vector<rows>;

[[nodiscard]] inline statements alone(statement what) {
    statements one;
    one.push_back(std::move(what));
    return one;
}

[[nodiscard]] inline statements moved(std::vector<statement>&& from) {
    return {std::make_move_iterator(from.begin()), std::make_move_iterator(from.end())};
}

}  // namespace fairlead::postgres::detail
