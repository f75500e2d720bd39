// The name of a task, as reports, assertions and the names of threads show it.
#pragma once

#include <fairlead/base/language.hpp>

#include <string_view>

namespace fairlead {

/// A text that lives until the program ends, so that a report may outlive the task.
///
///     fl::spawn(scheduler, session(), {.name = "session"});
///     fl::spawn(scheduler, session(), {.name = fl::task_name::intern(player.id())});
///
/// A string literal converts by itself. The compiler refuses a text that a program makes at run
/// time, such as the `c_str()` of a string, as that text can end before the task: `intern` copies
/// it.
class task_name {
public:
    /// Converts from a string literal, at compile time.
    consteval task_name(const char* literal) : text_{literal} {
        if (literal == nullptr) throw "a task has no name";  // refused by the compiler
    }

    /// The same name for equal texts. Any thread. The first call with a text allocates a copy,
    /// which is never freed: for names of which a program has few, such as those of its tenants.
    /// Takes a lock and time logarithmic in their number. Throws `std::bad_alloc`.
    [[nodiscard]] static task_name intern(std::string_view text);

    /// The text, which ends with a zero and lives until the program ends. Any thread.
    [[nodiscard]] constexpr const char* c_str() const noexcept { return text_; }

private:
    struct permanent {
        const char* text;
    };
    constexpr explicit task_name(permanent text) noexcept : text_{text.text} {}

    const char* text_;
};

}  // namespace fairlead
