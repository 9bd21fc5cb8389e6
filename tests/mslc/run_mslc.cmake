# Runs ${MSLC} ${ARGUMENTS}; fails unless it ends with ${STATUS} and its output matches ${REGEX}. With MSLC_OUTPUT in
# the environment, standard output goes there.
set(to OUTPUT_VARIABLE output)
if(DEFINED ENV{MSLC_OUTPUT})
  set(to OUTPUT_FILE $ENV{MSLC_OUTPUT})
endif()
execute_process(COMMAND ${MSLC} ${ARGUMENTS} RESULT_VARIABLE status ${to} ERROR_VARIABLE errors)
string(APPEND output "${errors}")
if(NOT status EQUAL STATUS)
  message(FATAL_ERROR "exit status ${status}, expected ${STATUS}; output:\n${output}")
endif()
if(NOT output MATCHES "${REGEX}")
  message(FATAL_ERROR "output does not match '${REGEX}':\n${output}")
endif()
