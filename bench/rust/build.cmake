# Builds ${program} with ${cargo}. Where the crates are not to be had, there are no benchmarks of
# Tokio and Rayon, and nothing else fails; anything that is wrong with what is here is an error.
execute_process(COMMAND ${cargo} fetch --quiet --locked RESULT_VARIABLE failed)
if(failed)
  file(REMOVE ${program})
  message(NOTICE "cargo cannot fetch the crates: there are no benchmarks of Tokio and Rayon")
  return()
endif()
cmake_path(GET program PARENT_PATH folder)  # <target folder>/release
cmake_path(GET folder PARENT_PATH folder)
execute_process(COMMAND_ERROR_IS_FATAL ANY
  COMMAND ${cargo} build --quiet --release --locked --offline --target-dir ${folder})
