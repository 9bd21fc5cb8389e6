// Kernels compiled ahead of time; the build names the files.
        .section .rodata
        .balign 16
        .globl mlxn_builtin_v1, mlxn_builtin_v1_end, mlxn_builtin_v3, mlxn_builtin_v3_end
        .globl mlxn_builtin_v4, mlxn_builtin_v4_end, mlxn_builtin_v4_dot, mlxn_builtin_v4_dot_end
        .hidden mlxn_builtin_v1, mlxn_builtin_v1_end, mlxn_builtin_v3, mlxn_builtin_v3_end
        .hidden mlxn_builtin_v4, mlxn_builtin_v4_end, mlxn_builtin_v4_dot, mlxn_builtin_v4_dot_end
mlxn_builtin_v1:
        .incbin MLXN_BUILTIN_V1
mlxn_builtin_v1_end:
        .balign 16
mlxn_builtin_v3:
        .incbin MLXN_BUILTIN_V3
mlxn_builtin_v3_end:
        .balign 16
mlxn_builtin_v4:
        .incbin MLXN_BUILTIN_V4
mlxn_builtin_v4_end:
        .balign 16
mlxn_builtin_v4_dot:
        .incbin MLXN_BUILTIN_V4_DOT
mlxn_builtin_v4_dot_end:
        .byte 0
        .section .note.GNU-stack, "", @progbits
