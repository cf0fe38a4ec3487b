"""The system calls that an interpreter needs, as numbers for x86-64 and aarch64; what is not listed here is refused."""

from __future__ import annotations

_TABLE = """
read 0 63, write 1 64, open 2 -, close 3 57, stat 4 -, fstat 5 80, lstat 6 -, poll 7 -, lseek 8 62, mmap 9 222,
mprotect 10 226, munmap 11 215, brk 12 214, rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139,
ioctl 16 29, pread64 17 67, pwrite64 18 68, readv 19 65, writev 20 66, access 21 -, pipe 22 -, select 23 -,
sched_yield 24 124, mremap 25 216, msync 26 227, mincore 27 232, madvise 28 233, dup 32 23, dup2 33 -,
pause 34 -, nanosleep 35 101, getitimer 36 102, alarm 37 -, setitimer 38 103, getpid 39 172, sendfile 40 71,
sendto 44 206, recvfrom 45 207, sendmsg 46 211, recvmsg 47 212, shutdown 48 210, getsockname 51 204,
getpeername 52 205, socketpair 53 199, setsockopt 54 208, getsockopt 55 209, clone 56 220, fork 57 -,
vfork 58 -, exit 60 93, wait4 61 260, kill 62 129, uname 63 160, fcntl 72 25, fsync 74 82, fdatasync 75 83,
getdents 78 -, getcwd 79 17, chdir 80 49, fchdir 81 50, readlink 89 -, umask 95 166, gettimeofday 96 169,
getrlimit 97 163, getrusage 98 165, sysinfo 99 179, times 100 153, getuid 102 174, getgid 104 176,
geteuid 107 175, getegid 108 177, getppid 110 173, getpgrp 111 -, setsid 112 157, getgroups 115 158,
getresuid 118 148, getresgid 120 150, getpgid 121 155, getsid 124 156, capget 125 90, capset 126 91,
rt_sigpending 127 136,
rt_sigtimedwait 128 137, rt_sigsuspend 130 133, sigaltstack 131 132, statfs 137 43, fstatfs 138 44,
getpriority 140 141, sched_getparam 143 121, sched_getscheduler 145 120, sched_get_priority_max 146 125,
sched_get_priority_min 147 126, sched_rr_get_interval 148 127, mlock 149 228, munlock 150 229, prctl 157 167,
arch_prctl 158 -, gettid 186 178, time 201 -, futex 202 98, sched_getaffinity 204 123, epoll_create 213 -,
getdents64 217 61, set_tid_address 218 96, restart_syscall 219 128, fadvise64 221 223, timer_create 222 107,
timer_settime 223 110, timer_gettime 224 108, timer_getoverrun 225 109, timer_delete 226 111,
clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115, exit_group 231 94, epoll_wait 232 -,
epoll_ctl 233 21, tgkill 234 131, waitid 247 95, openat 257 56, newfstatat 262 79, readlinkat 267 78,
faccessat 269 48, pselect6 270 72, ppoll 271 73, set_robust_list 273 99, get_robust_list 274 100,
epoll_pwait 281 22, timerfd_create 283 85, eventfd 284 -, timerfd_settime 286 86, timerfd_gettime 287 87,
signalfd4 289 74, eventfd2 290 19, epoll_create1 291 20, dup3 292 24, pipe2 293 59, prlimit64 302 261,
getcpu 309 168, seccomp 317 277, getrandom 318 278, membarrier 324 283, statx 332 291, rseq 334 293,
pidfd_open 434 434, clone3 435 435, close_range 436 436, openat2 437 437, faccessat2 439 439,
epoll_pwait2 441 441, futex_waitv 449 449
"""

_TOOLCHAIN_TABLE = """
execve 59 221, rename 82 -, renameat 264 38, renameat2 316 276, unlink 87 -, unlinkat 263 35, mkdir 83 -,
mkdirat 258 34, rmdir 84 -, link 86 -, linkat 265 37, symlink 88 -, symlinkat 266 36, creat 85 -, truncate 76 45,
ftruncate 77 46, fallocate 285 47, chmod 90 -, fchmod 91 52, fchmodat 268 53, utimensat 280 88, flock 73 32,
copy_file_range 326 285, splice 275 76, setpgid 109 154, sched_setaffinity 203 122, setpriority 141 140,
get_mempolicy 239 236, mlock2 325 284, tkill 200 130, preadv 295 69, pwritev 296 70, setrlimit 160 164,
getxattr 191 8, lgetxattr 192 9, pidfd_send_signal 424 424
"""


def numbers(machine: str) -> dict[str, int]:
    """System call name -> number on `machine` (`x86_64` or `aarch64`); calls that the machine lacks are left out."""
    return _numbers(_TABLE, machine)


def toolchain_numbers(machine: str) -> dict[str, int]:
    """The same with what compilers need besides: running programs, and making, moving and removing files."""
    return _numbers(_TABLE, machine) | _numbers(_TOOLCHAIN_TABLE, machine)


def _numbers(table: str, machine: str) -> dict[str, int]:
    column = {"x86_64": 1, "aarch64": 2}[machine]
    rows = [row.split() for row in table.replace("\n", " ").split(",")]
    return {row[0]: int(row[column]) for row in rows if row and row[column] != "-"}
