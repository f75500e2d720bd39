include(GNUInstallDirs)

# fairlead_library(<name> MODULES <module>... LINK <target>...)
#
# Makes the target fairlead_<name>, with the alias fairlead::<name>, from all .cpp below
# src/<module>/ of each module. A header-only module adds nothing; a library without any source
# becomes an INTERFACE library. The next build finds a new file: there is no list to edit.
function(fairlead_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "MODULES;LINK")
  set(target fairlead_${name})

  set(sources)
  foreach(module IN LISTS arg_MODULES)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${module}/*.cpp)
    list(APPEND sources ${found})
  endforeach()

  if(sources)
    set(scope PUBLIC)
    add_library(${target} ${sources})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:fairlead_warnings>)
    # A hop from task to task takes a dozen nanoseconds. Where its functions begin in a cache line
    # makes a difference of one, and so does how far they are apart. That must not depend on other
    # code: functions are aligned, and the linker puts those with the attribute `hot` side by side.
    # With 128, three versions of the code took times within 3 %; with 64 they differed by a third.
    target_compile_options(${target} PRIVATE -falign-functions=128)
    # A static library may go into a plugin or a Python module, unless the user has decided
    # otherwise. The few thread-local pointers are addressed from the thread pointer there, too: the
    # general model would call __tls_get_addr for each access. glibc keeps room for them in modules
    # that are loaded late. No program replaces functions of the library, so calls within it stay
    # direct.
    if(NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
    target_compile_options(${target} PRIVATE -ftls-model=initial-exec -fno-semantic-interposition)
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
  endif()

  add_library(fairlead::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} ${scope} cxx_std_23)
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # Clang before 19 has the concepts of C++20 but announces an older version of them, so libstdc++
  # hides std::expected from it. Users need this as much as we do: our headers use it.
  set(old_clang $<AND:$<CXX_COMPILER_ID:Clang>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,19>>)
  target_compile_options(${target} ${scope}
    $<${old_clang}:-U__cpp_concepts>
    $<${old_clang}:-D__cpp_concepts=202002L>)
  target_link_libraries(${target} ${scope} ${arg_LINK})
endfunction()
