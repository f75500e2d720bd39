# fairlead_warnings: the warnings for our own code. Link it PRIVATE, and from an installed library
# only under $<BUILD_INTERFACE:...>, so that no user inherits the warnings.
add_library(fairlead_warnings INTERFACE)
target_compile_options(fairlead_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow
  $<$<BOOL:${FAIRLEAD_WERROR}>:-Werror>)
# With a sanitizer GCC 12 takes members that are initialised for uninitialised ones.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  target_compile_options(fairlead_warnings INTERFACE -Wno-maybe-uninitialized)
endif()
# With -O3 GCC 12 takes `"text" + std::string` for a copy within one object (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(fairlead_warnings INTERFACE -Wno-restrict)
endif()

# fairlead_test_options: the warnings, for tests, examples and the clients that drive the service.
# With a sanitizer they are not optimised: clang compiles them in less than half the time, and what
# they run for long is in the library, which is optimised. The coverage that libFuzzer follows is
# for the library, too.
add_library(fairlead_test_options INTERFACE)
target_link_libraries(fairlead_test_options INTERFACE fairlead_warnings)
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  target_compile_options(fairlead_test_options INTERFACE -O0)
endif()
if(FAIRLEAD_BUILD_FUZZ)
  target_compile_options(fairlead_test_options INTERFACE -fno-sanitize=fuzzer-no-link)
endif()
