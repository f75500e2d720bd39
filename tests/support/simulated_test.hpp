// A test on a simulated scheduler, which it may destroy early.
#pragma once

#include "support/simulated.hpp"

#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <optional>

namespace fairlead::test {

class simulated_test : public testing::Test {
protected:
    manual_clock clock;
    simulated_driver* driver = nullptr;
    std::optional<scheduler> simulation{std::in_place, simulated(clock, driver)};
};

}  // namespace fairlead::test
