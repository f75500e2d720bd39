// A wait of one thread of a scenario, which sleeps by a bell until the wait was told its end.
#pragma once

#include "model/bell.hpp"
#include "model/explore.hpp"

#include <functional>

namespace fairlead::model {

/// `Waiter`: a `sync::waiter` of the structure under test.
template <class Waiter>
class bell_wait : public Waiter {
public:
    using Waiter::Waiter;

    /// Waits for the end, if it must. Whether there was a grant.
    template <class Of>
    bool ask(Of& of) {
        if (of.enter(*this)) wait_for_end();
        return has();
    }
    void wait_for_end() { ended_.wait(); }

    /// Whether it was told its end since `expect_to_be_told`.
    [[nodiscard]] bool was_told() const { return was_told_; }
    void expect_to_be_told() { was_told_ = false; }

    [[nodiscard]] bool has() const { return this->was_granted(); }
    using Waiter::take_grant;

    std::function<void()> first_act;  // of what waits

private:
    void tell() noexcept override {
        require(!was_told_, "a wait ends once");
        was_told_ = true;
        if (first_act) first_act();
        ended_.ring();
    }

    plain<bool> was_told_{false};
    bell ended_;
};

}  // namespace fairlead::model
