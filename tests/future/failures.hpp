// Failure types of a program.
#pragma once

#include <fairlead/future/failure_traits.hpp>

#include <exception>
#include <string>
#include <utility>

namespace fairlead {
namespace test {

struct failure {
    std::string what;
    bool operator==(const failure&) const = default;
};
struct code {
    int number;
};

}  // namespace test

template <>
struct failure_traits<test::failure> {
    static test::failure from(std::exception_ptr thrown) noexcept {
        try {
            std::rethrow_exception(std::move(thrown));
        } catch (const std::exception& error) {
            return {error.what()};
        } catch (...) {
            return {"unknown"};
        }
    }
    static test::failure from(wait_error why) noexcept {
        return {why == wait_error::broken    ? "broken"
                : why == wait_error::stopped ? "stopped"
                                             : "?"};
    }
    static test::failure from(test::code other) noexcept {
        return {"code " + std::to_string(other.number)};
    }
};

template <>
struct failure_traits<test::code> {
    static test::code from(std::exception_ptr) noexcept { return {1}; }
    static test::code from(wait_error) noexcept { return {2}; }
};

}  // namespace fairlead
