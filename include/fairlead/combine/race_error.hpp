// Every failure of a race that has no winner.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace fairlead {

/// All children of a `race` have failed.
class race_error : public std::runtime_error {
public:
    /// `failures`: of all children, in order. Allocates.
    explicit race_error(std::vector<std::exception_ptr> failures)
        : std::runtime_error{"every task of the race has failed"},
          failures_{std::make_shared<const std::vector<std::exception_ptr>>(std::move(failures))} {}

    /// Of all children, in the order of the arguments; empty if there was no child.
    [[nodiscard]] const std::vector<std::exception_ptr>& failures() const noexcept {
        return *failures_;
    }

private:
    // Shared: the copy of an exception must not throw.
    std::shared_ptr<const std::vector<std::exception_ptr>> failures_;
};

}  // namespace fairlead
