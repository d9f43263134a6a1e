"""The system calls that a program is refused, as a seccomp filter in BPF.

Most of what is dangerous a program without privileges may not do anyway. Refused here is what it may, and
what no other limit bounds: to start processes (threads are counted, and have their process's memory), memory
that is in no address space (System V, memfd), and corners of the kernel that no test of a program needs.
"""

import platform
import struct
from collections.abc import Mapping, Sequence

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
"""Offsets in struct seccomp_data, all little-endian."""
_CLONE_THREAD = 0x00010000
_X32 = 0x40000000
_CLONE3 = 435

_MACHINES = ("x86_64", "aarch64")
_AUDIT = (0xC000003E, 0xC00000B7)
_CLONE = (56, 220)
_REFUSED: Mapping[str, tuple[int | None, int | None]] = {
    # processes, and other users' of the machine
    "fork": (57, None), "vfork": (58, None), "ptrace": (101, 117), "kcmp": (312, 272),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    # memory outside the address space
    "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "vmsplice": (278, 75), "io_setup": (206, 0),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    # namespaces and mounts
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "chroot": (161, 51),
    "pivot_root": (155, 41), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    # the rest of the kernel
    "socket": (41, 198), "bpf": (321, 280), "userfaultfd": (323, 282), "perf_event_open": (298, 241),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "kexec_load": (246, 104), "init_module": (175, 105), "finit_module": (313, 273), "acct": (163, 89),
    "delete_module": (176, 106), "reboot": (169, 142), "syslog": (103, 116), "quotactl": (179, 60),
    "personality": (135, 92),
}  # fmt: skip
_REFUSED_ALONE: Mapping[str, tuple[int | None, int | None]] = {
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_send_signal": (424, 424), "prlimit64": (302, 261),
}  # fmt: skip
"""Besides, where no namespace hides the processes of the same user."""


def refusing(*, alone: bool = False) -> bytes:
    """The filter for this machine; `alone` where nothing else parts a program from its host.

    Empty on machines that are neither x86_64 nor aarch64.
    """
    if platform.machine() not in _MACHINES:
        return b""
    machine = _MACHINES.index(platform.machine())
    names = {**_REFUSED, **_REFUSED_ALONE} if alone else _REFUSED
    numbers = [number for both in names.values() if (number := both[machine]) is not None]
    return _assembled(_AUDIT[machine], _CLONE[machine], numbers)


def _assembled(audit: int, clone: int, refused: Sequence[int]) -> bytes:
    fail = _step(_RETURN, _ERRNO | _EPERM)
    steps = [
        _step(_LOAD, _ARCHITECTURE),
        *(_step(_EQUAL, audit, 1, 0), _step(_RETURN, _KILL)),
        _step(_LOAD, _NUMBER),
        *(_step(_AT_LEAST, _X32, 0, 1), fail),
        *(_step(_EQUAL, _CLONE3, 0, 1), _step(_RETURN, _ERRNO | _ENOSYS)),  # libc then takes clone
    ]
    for number in refused:
        steps += [_step(_EQUAL, number, 0, 1), fail]
    steps += [
        _step(_EQUAL, clone, 0, 3),
        _step(_LOAD, _FIRST_ARGUMENT),
        *(_step(_ANY_BIT, _CLONE_THREAD, 1, 0), fail),
        _step(_RETURN, _ALLOW),
    ]
    return b"".join(steps)


def _step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    """One struct sock_filter; jumps count from the next."""
    return struct.pack("<HBBI", code, then, otherwise, value)
