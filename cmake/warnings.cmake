# fairlead_warnings: what our own code is compiled with. Link it PRIVATE, and from a library that is
# installed only under $<BUILD_INTERFACE:...>, so that no user inherits it.
add_library(fairlead_warnings INTERFACE)
target_compile_options(fairlead_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow
  $<$<BOOL:${FAIRLEAD_WERROR}>:-Werror>)
