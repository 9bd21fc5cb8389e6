# Runs ${MLXN} ${ARGUMENTS} with ${ENVIRONMENT} added and the file ${INPUT} as its input; fails unless it ends
# with ${STATUS} and its output matches ${REGEX}.
execute_process(COMMAND ${CMAKE_COMMAND} -E env ${ENVIRONMENT} ${MLXN} ${ARGUMENTS} INPUT_FILE ${INPUT}
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL STATUS)
  message(FATAL_ERROR "exit status ${status}, expected ${STATUS}; output:\n${output}")
endif()
if(NOT output MATCHES "${REGEX}")
  message(FATAL_ERROR "output does not match '${REGEX}':\n${output}")
endif()
