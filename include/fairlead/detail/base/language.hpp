// What the compiler must offer. Every public header includes this one before anything else,
// directly or through the first header of the library that it names: a compiler that is told too
// little says so in one sentence, and stops.
#pragma once

#if !defined(__cplusplus) || __cplusplus <= 202002L
#error "Fairlead needs C++23: compile with -std=c++23, or -std=c++2b with clang 16"
#define FAIRLEAD_STOP_HERE <fairlead/base/stop_here>
#elif !defined(__cpp_exceptions)
#error "Fairlead needs exceptions: compile without -fno-exceptions"
#define FAIRLEAD_STOP_HERE <fairlead/base/stop_here>
#endif

// There is no such file: a compiler goes on after an error, but not after this.
#ifdef FAIRLEAD_STOP_HERE
#include FAIRLEAD_STOP_HERE
#endif
