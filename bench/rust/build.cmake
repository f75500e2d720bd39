# Builds ${program} with ${cargo}. If the crates cannot be fetched, there are no benchmarks of
# Tokio, hyper and Rayon, and the build goes on. An error in the files of this folder is an error of
# the build.
execute_process(COMMAND ${cargo} fetch --quiet --locked RESULT_VARIABLE failed)
if(failed)
  file(REMOVE ${program})
  message(NOTICE "cargo cannot fetch the crates: there are no benchmarks of Tokio, hyper and Rayon")
  return()
endif()
cmake_path(GET program PARENT_PATH folder)  # <target folder>/release
cmake_path(GET folder PARENT_PATH folder)
execute_process(COMMAND_ERROR_IS_FATAL ANY
  COMMAND ${cargo} build --quiet --release --locked --offline --target-dir ${folder})
