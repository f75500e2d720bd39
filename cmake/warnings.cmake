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
