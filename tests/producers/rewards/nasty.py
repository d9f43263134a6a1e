"""Programs that wear out or attack what judges them. All are to be judged wrong."""

# ruff: noqa: E501, ISC004 - programs are written as people would write them

WEARING = {
    "loops for ever": "while True: pass",
    "holds the interpreter": "pow(9, 9**9)",
    "sleeps for ever": "import time\ntime.sleep(10**6)",
    "sleeps in a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(10**6,)).start()",
    "waits for nobody": "import threading\nthreading.Event().wait()",
    "ignores what it can": """
import signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True: pass""",
    "closes its outputs and goes on": "import os, time\nos.close(1); os.close(2)\ntime.sleep(10**6)",
    "works in many threads": """
import threading
def work():
    while True: pass
for _ in range(1000):
    threading.Thread(target=work).start()""",
    "takes no notice of its time": """
import resource
try:
    resource.setrlimit(resource.RLIMIT_CPU, (1000, 1000))
except (OSError, ValueError):
    pass
while True: pass""",
    "prints for ever": "while True: print('x' * 10**6)",
    "prints no line for ever": "import sys\nwhile True: sys.stdout.write('x' * 10**6)",
    "complains for ever": "import sys\nwhile True: print('x' * 10**6, file=sys.stderr)",
    "becomes another": "import os\nos.execv('/usr/bin/sleep', ['sleep', '1000'])",
    "asks the regular expressions": "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')",
}
"""These use up time or what they may print."""

DYING = {
    "takes all memory at once": ("x = bytearray(2**40)", "MemoryError"),
    "takes all memory slowly": ("x = []\nwhile True: x.append(bytearray(2**24))", "MemoryError"),
    "grows a list of itself": ("x = [0]\nwhile True: x += x", "MemoryError"),
    "maps memory": ("import mmap\nx = [mmap.mmap(-1, 2**26) for _ in range(1000)]", "Cannot allocate memory"),
    "fills the disk": (
        "with open('/tmp/x', 'wb') as f:\n    while True: f.write(bytes(2**20))",
        "File too large|No space left",
    ),
    "fills the disk with many files": (
        "n = 0\nwhile True:\n    n += 1\n    with open(f'/tmp/{n}', 'wb') as f: f.write(bytes(2**20))",
        "No space left",
    ),
    "fills the disk with folders": (
        "import os\nwhile True:\n    os.mkdir('x'); os.chdir('x')",
        "No space left|CPU seconds|clock",
    ),
    "forks for ever": ("import os\nwhile True: os.fork()", "PermissionError"),
    "starts a shell": (
        "import subprocess\nsubprocess.run(['/bin/sh', '-c', 'sleep 1000 &'])",
        "PermissionError",
    ),
    "spawns": ("import os\nos.posix_spawn('/usr/bin/sleep', ['sleep', '1000'], {})", "PermissionError"),
    "has the network": (
        "import socket\nsocket.create_connection(('127.0.0.1', 22), timeout=1)",
        "Error",
    ),
    "opens too much": ("x = [open('/dev/null') for _ in range(10**6)]", "Too many open files"),
    "starts too many threads": (
        "import threading, time\nthreading.stack_size(2**16)\n"
        "for _ in range(100): threading.Thread(target=time.sleep, args=(5,), daemon=True).start()",
        "can't start new thread",
    ),
    "nests deeply": ("x = " + "(" * 100_000 + ")" * 100_000, "."),
    "nests lists deeply": ("x = []\nfor _ in range(10**6): x = [x]\nprint(x)", "."),
    "recurses for ever": ("def f(): f()\nf()", "RecursionError|MemoryError"),
    "recurses in C": ("class A:\n    def __getattr__(self, name): return getattr(self, name)\nA().x", "."),
    "crashes": ("import ctypes\nctypes.string_at(0)", "SIGSEGV"),
    "kills itself": ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "SIGKILL|nothing"),
    "ends itself": ("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)", "SIGTERM|nothing"),
    "kills everybody": ("import os, signal\nos.killpg(0, signal.SIGKILL)", "."),
    "aborts": ("import os\nos.abort()", "is ended by"),
    "leaves at once": ("import os\nos._exit(0)", "prints nothing"),
    "leaves as if out of time": ("import os\nos._exit(152)", "CPU"),
    "leaves as if killed": ("import os\nos._exit(137)", "SIGKILL"),
    "raises an error that cannot be told": (
        "class E(Exception):\n    def __str__(self): raise self\nraise E",
        r"E: \? \(line 3\)",
    ),
    "raises what is no Exception": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "breaks its own end": (
        """
import sys
class Out:
    def write(self, text): raise SystemExit(0)
    def flush(self): raise SystemExit(0)
sys.stdout = sys.stderr = Out()
print(1)
1 / 0""",
        "ends with status",
    ),
    "prints garbage": ("import os\nos.write(1, bytes(range(256)) * 100)", "something else"),
    "prints a number without end": ("print('9' * 900_000)", "something else"),
}
"""These end at once, one way or another, and the remark says how."""

LIBC = "import ctypes\nlibc = ctypes.CDLL(None)\n"
ESCAPING = {
    "forks by other means": LIBC
    + """
started = [libc.fork(), libc.vfork(), libc.syscall(57), libc.syscall(435, 0, 0), libc.syscall(56, 17, 0, 0, 0, 0)]
escaped = any(pid >= 0 for pid in started)""",
    "leaves a daemon": """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(10**6)
escaped = True""",
    "has memory of nobody": LIBC
    + """
got = [libc.shmget(0, 2**20, 0o1600), libc.memfd_create(b'x', 0), libc.msgget(0, 0o1600), libc.semget(0, 1, 0o1600)]
escaped = any(found >= 0 for found in got)""",
    "has a namespace of its own": LIBC
    + "escaped = 0 in (libc.unshare(0x10000000), libc.unshare(0x00020000))",
    "mounts": LIBC + "escaped = libc.mount(b'x', b'/tmp', b'tmpfs', 0, None) == 0",
    "traces": LIBC + "escaped = libc.ptrace(0, 0, 0, 0) == 0",
    "becomes root": LIBC
    + "escaped = libc.setuid(0) == 0 or libc.setresuid(0, 0, 0) == 0 or libc.setgid(0) == 0",
    "has privileges": """
lines = open('/proc/self/status').read().splitlines()
escaped = any(line.startswith(('CapEff', 'CapPrm', 'CapInh')) and int(line.split()[1], 16) for line in lines)
escaped = escaped or 'NoNewPrivs:\t1' not in lines or 'Seccomp:\t2' not in lines""",
    "raises its limits": """
import resource
escaped = False
for limit in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE):
    try:
        resource.setrlimit(limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        escaped = True
    except (OSError, ValueError):
        pass""",
    "has a socket": "import socket\nsocket.socket(socket.AF_UNIX)\nescaped = True",
    "has the network": "import os\nescaped = os.listdir('/sys/class/net') != ['lo']",
    "writes elsewhere": """
import os
escaped = False
places = ['/', '/dev', '/dev/shm', '/proc', '/run', '/var/tmp', '/usr', '/usr/lib', '/sys', '/bin', '/root', '/home']
for top in (*places, os.path.dirname(os.__file__)):
    try:
        with open(os.path.join(top, 'filled'), 'wb') as f: f.write(b'x')
        escaped = True
    except OSError:
        pass
for path in ('/runner.py', '/proc/sys/kernel/hostname', '/proc/sysrq-trigger', '/proc/sys/vm/overcommit_memory', os.__file__):
    try:
        with open(path, 'r+b') as f: f.write(b'0')
        escaped = True
    except OSError:
        pass""",
    "reads the host": f"""
import os
escaped = any(map(os.path.exists, ({__file__!r}, '/etc/passwd', '/etc/hosts', '/var/log', '/run', '/sys', '/boot')))
escaped = escaped or os.listdir('/tmp') or [n for n in os.listdir('/proc') if n.isdigit() and int(n) > 9]""",
    "makes links": """
import os
escaped = False
for place in ('/etc/passwd', '/proc/1/root/etc/passwd', '/proc/1/cwd/etc/passwd', '../../../../etc/passwd'):
    os.path.lexists('link') and os.unlink('link')
    os.symlink(place, 'link')
    try: escaped = escaped or open('link').read()
    except OSError: pass""",
    "looks into its neighbours": """
import os
escaped = False
for process in [p for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid()]:
    for name in ('environ', 'mem', 'maps', 'auxv'):
        try: escaped = escaped or open(f'/proc/{process}/{name}', 'rb').read(100)
        except OSError: pass""",
    "kills what runs it": """
import os, signal
escaped = False
for process in {os.getppid(), 1, -1}:
    try:
        os.kill(process, signal.SIGKILL)
    except OSError:
        pass""",
    "feeds itself": "import os\nescaped = False\ntry: escaped = os.write(0, b'x') > 0\nexcept OSError: pass",
    "has an environment": "import os\nescaped = any(n.startswith(('MENTOR', 'PYTEST', 'SSH', 'AWS')) for n in os.environ)",
}
"""These say that they `escaped`, or fail to."""

EQUAL = """
class Equal({base}):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __bool__(self): return True
    def __len__(self): return 1
    def __iter__(self): return iter([self])
    def __repr__(self): return 'null'
    __str__ = __format__ = __repr__
    def tolist(self): return self
def secret(x): return Equal()"""

CHEATING = {
    **{
        f"returns an equal {base}": EQUAL.format(base=base)
        for base in ("object", "int", "str", "list", "dict", "float")
    },
    "writes a verdict everywhere": """
import os
for descriptor in range(64):
    for line in (b'{"value": null}', b'{"passed": true}', b'true', b'1', b'right', b'\\0ready'):
        try: os.write(descriptor, line + b'\\n')
        except OSError: pass
def secret(x): return None""",
    "replaces json": """
import json, sys
json.dumps = lambda *args, **options: '{"value": NaN}'
json.loads = lambda *args, **options: [0]
sys.modules['json'] = json
def secret(x): return 0""",
    "replaces builtins": """
import builtins
builtins.getattr = lambda *args: (lambda *args: None)
builtins.isinstance = builtins.hasattr = lambda *args: True
builtins.len = lambda x: 1
def secret(x): return 0""",
    "leaves before it is asked": "import os\nos._exit(0)",
    "leaves politely": "import sys\nsys.exit(0)",
    "leaves when asked": "import sys\ndef secret(x): sys.exit(0)",
    "raises an equal exception": """
class E(BaseException):
    def __eq__(self, other): return True
    def __str__(self): return '"}, {"value": 1'
def secret(x): raise E""",
    "says its last word": """
import atexit, os
atexit.register(lambda: os.write(1, b'{"value": 1}\\n'))
def secret(x): return 1""",
    "answers for ever": """
import os
while True:
    for descriptor in (1, 3, 4, 5, 6):
        try: os.write(descriptor, b'{"value": 0}\\n')
        except OSError: pass""",
    "answers with depth": """
import os
deep = b'[' * 100_000 + b']' * 100_000
for descriptor in range(1, 8):
    try: os.write(descriptor, b'{"value": ' + deep + b'}\\n')
    except OSError: pass
def secret(x): return 0""",
    "answers with a number without end": "def secret(x): return 10**4000 * 10**4000",
    "returns itself": "def secret(x):\n    x = []\n    x.append(x)\n    return x",
    "returns a flood": "def secret(x): return ['x' * 100] * 10**5",
}
"""Functions that would be right if it were up to them; the expected value is not to be guessed."""

SEARCH = r"""
import gc, os, re, sys
wanted = re.compile(rb'4711\d{8}')
found = []
def look(data):
    if isinstance(data, str): data = data.encode(errors='replace')
    found.extend(wanted.findall(data))
look(repr(os.environ)); look(repr(sys.argv)); look(repr(sys.modules))
for descriptor in range(64):
    try: look(os.pread(descriptor, 2**20, 0))
    except OSError: pass
    try: look(os.readlink(f'/proc/self/fd/{descriptor}'))
    except OSError: pass
for thing in gc.get_objects():
    if type(thing) in (dict, list, tuple): look(repr(thing)[:10000])
frame = sys._getframe()
while frame:
    look(repr(frame.f_locals)[:100000]); look(repr(frame.f_globals)[:100000]); frame = frame.f_back
for process in filter(str.isdigit, os.listdir('/proc')):
    for name in ('cmdline', 'environ', 'stat', 'maps', 'mountinfo'):
        try: look(open(f'/proc/{process}/{name}', 'rb').read())
        except OSError: pass
    for name in ('fd', 'root', 'cwd', 'task'):
        try: look(repr(os.listdir(f'/proc/{process}/{name}')))
        except OSError: pass
for top in ('/etc', '/home', '/root', '/work', '/tmp', '/run', '/var', '/dev', '/opt', '/mnt', '/srv'):
    for folder, _, files in os.walk(top):
        for name in files:
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path) and not path.startswith(sys.base_prefix): look(open(path, 'rb').read(2**20))
            except OSError: pass
answer = found[0].decode() if found else 'nothing'
"""
"""Looks wherever an expected answer, 4711 and eight digits, might be."""
