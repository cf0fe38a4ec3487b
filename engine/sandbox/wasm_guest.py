"""The text that the Python inside WebAssembly starts with: the child's end of a judgement, as at the other levels.

`text()` is made on the host, from the sources of the modules that a native child uses; `_BOOT` runs them in the guest
with stand-ins for what only a kernel has. The guest has two sockets: CONTROL while it is a template,
CHANNEL once it is a program's.
"""

from __future__ import annotations

import json
from pathlib import Path

from engine.sandbox.forkserver import _WARM, PRELUDE_MODULES

CONTROL, CHANNEL = 62, 63
_SHARED = ("wire", "messages", "child", "preludes")
_BOOT = '''
import contextlib, gc, importlib, os, random, socket, sys, types

class Unlimited(types.ModuleType):
    """Stands for a module of the kernel's: none of its constants means anything here."""
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return 0

class Line:
    """A socket of the host's, of which only reading and writing work."""
    def __init__(self, fd):
        line = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=fd)
        self.recv, self.sendall = line.recv, line.sendall
    def settimeout(self, seconds):
        pass
    def setsockopt(self, *rest):
        pass

class Memory(Line):
    """A line to oneself, to go once through what a program's turn will be."""
    def __init__(self):
        self.data = b""
    def recv(self, most):
        part, self.data = self.data[:most], self.data[most:]
        return part
    def sendall(self, data):
        self.data += data

def load(name, text):
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name, "exec", dont_inherit=True), vars(module))
    return module

def start(sources, modules, warm, seed):
    for name in ("engine", "engine.sandbox"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = []
    stand_ins = ("resource", "engine.sandbox.kernel", "engine.sandbox.seccomp")
    for name in stand_ins:
        sys.modules[name] = Unlimited(name)
    wire, messages, child, preludes = (load(f"engine.sandbox.{name}", text) for name, text in sources)
    for name in stand_ins:
        del sys.modules[name]
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    random.seed(seed)
    sys.stdin, sys.stdout, sys.stderr = child.Silence(), child.Silence(), child.Silence()
    for _ in range(3):
        rehearse(child, messages, warm)
    sys.argv[:] = [""]
    gc.collect()
    gc.freeze()
    return child.Conversation(messages.Channel(Line(CHANNEL)), None), preludes.Preludes(), messages

def rehearse(child, messages, warm):
    there = Memory()
    line = messages.Channel(there)
    conversation = child.Conversation(line, None)
    call = {"n": "0", "op": "call", "on": "f", "a": [[3, 1, 2], {"t": [1.5, "x"]}], "k": {}}
    line.send({"load": warm, "names": ["f"]})
    conversation.step(load=True)
    for message in (call, {**call, "a": [[]]}):
        there.data = b""
        line.send(message)
        conversation.step()

def serve(conversation, preludes, messages):
    control = messages.Channel(Line(CONTROL))
    while True:
        request = control.receive()
        if "run" not in request:
            conversation.run(preludes.names(request["prelude"]))
        control.send(preludes.run(request["run"]))
        gc.collect()
        gc.freeze()

code = 1
try:
    serve(*start(SOURCES, MODULES, WARM, SEED))
except BaseException as e:
    if type(e).__name__ == "Closed":
        code = 0
    else:
        os.write(2, f"{type(e).__name__}: {e}".encode())
finally:
    os._exit(code)
'''


def text(seed: int) -> str:
    """The program text of a template whose random state is `seed`."""
    folder = Path(__file__).parent
    sources = [(name, (folder / f"{name}.py").read_text(encoding="utf-8")) for name in _SHARED]
    values = {
        "SOURCES": sources, "MODULES": ("random", *PRELUDE_MODULES), "WARM": _WARM, "SEED": seed,
        "CONTROL": CONTROL, "CHANNEL": CHANNEL,
    }  # fmt: skip
    settings = "".join(f"{name} = json.loads({json.dumps(value)!r})\n" for name, value in values.items())
    return f"import json\n{settings}{_BOOT}"
