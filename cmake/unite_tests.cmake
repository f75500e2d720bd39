# unite_tests(<program>): the compiler takes several test files at once. They share the templates
# that they instantiate, which halves its time. Each file has a namespace with the name of the file,
# so helpers in two files may have the same name.
function(unite_tests program)
  set_target_properties(${program} PROPERTIES
    UNITY_BUILD ${FAIRLEAD_UNITY_TESTS} UNITY_BUILD_BATCH_SIZE 5)
  if(FAIRLEAD_UNITY_TESTS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${program} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()
