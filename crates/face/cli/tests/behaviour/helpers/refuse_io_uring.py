"""Runs a program under a filter of system calls that refuses io_uring, as container engines do.

Usage: refuse_io_uring.py PROGRAM ARGUMENT...
"""
import ctypes
import os
import struct
import sys

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | 1  # SECCOMP_RET_ALLOW; SECCOMP_RET_ERRNO with EPERM
SETUP, REGISTER = 425, 427  # io_uring_setup to io_uring_register, the same on every architecture


def instruction(code, yes, no, value):
    return struct.pack("HBBI", code, yes, no, value)


# Loads the number of the call; below the first or above the last of the three it is allowed.
program = b"".join([
    instruction(0x20, 0, 0, 0),
    instruction(0x35, 0, 2, SETUP),
    instruction(0x25, 1, 0, REGISTER),
    instruction(0x06, 0, 0, REFUSE),
    instruction(0x06, 0, 0, ALLOW),
])
buffer = ctypes.create_string_buffer(program, len(program))
head = struct.pack("HxxxxxxP" if ctypes.sizeof(ctypes.c_void_p) == 8 else "HxxP", len(program) // 8, ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
for arguments in [(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, head, 0, 0)]:
    if libc.prctl(*arguments) != 0:
        print("the filter cannot be set:", os.strerror(ctypes.get_errno()), file=sys.stderr)
        sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])
