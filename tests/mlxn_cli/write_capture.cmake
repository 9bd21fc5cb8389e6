# Writes a capture to ${FILE} with ${WRITER}, half of it to ${FILE}.cut.mlxncapture, and one of a program
# with a missing barrier to ${FILE}.racy.mlxncapture.
file(REMOVE_RECURSE ${FILE} ${FILE}.racy.mlxncapture)
execute_process(COMMAND ${WRITER} ${FILE} COMMAND_ERROR_IS_FATAL ANY)
set(ENV{MLXN_CPU_WORKERS} 1)  # so that what no barrier orders still runs in order
execute_process(COMMAND ${WRITER} ${FILE}.racy.mlxncapture racy COMMAND_ERROR_IS_FATAL ANY)
file(SIZE ${FILE} size)
math(EXPR half "${size} / 2")
execute_process(COMMAND head -c ${half} ${FILE} OUTPUT_FILE ${FILE}.cut.mlxncapture
                COMMAND_ERROR_IS_FATAL ANY)
