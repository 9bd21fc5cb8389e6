# Writes a capture to ${FILE} with ${WRITER}, and half of it to ${FILE}.cut.mlxncapture.
file(REMOVE_RECURSE ${FILE})
execute_process(COMMAND ${WRITER} ${FILE} COMMAND_ERROR_IS_FATAL ANY)
file(SIZE ${FILE} size)
math(EXPR half "${size} / 2")
execute_process(COMMAND head -c ${half} ${FILE} OUTPUT_FILE ${FILE}.cut.mlxncapture
                COMMAND_ERROR_IS_FATAL ANY)
