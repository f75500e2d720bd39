# Builds ${program} with ${go}. If the modules cannot be fetched, there are no benchmarks of pgx and
# go-redis, and the build goes on. An error in the files of this folder is an error of the build.
execute_process(COMMAND ${go} mod download RESULT_VARIABLE failed)
if(failed)
  file(REMOVE ${program})
  message(NOTICE "go cannot fetch the modules: there are no benchmarks of pgx and go-redis")
  return()
endif()
execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND ${go} build -buildvcs=false -o ${program} .)
