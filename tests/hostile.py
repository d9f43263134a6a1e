"""Handlers and verifiers that behave badly on demand, for the tests of worker processes."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import schemas
from mentor_stream.config import Section
from producers.rewards.base import Judgement, Unscorable


def loop() -> None:
    while True:
        pass


def hold_the_interpreter() -> None:
    """One C call that never returns to the interpreter in our time."""
    pow(9, 9**9)


def eat_memory() -> int:
    return len(bytearray(2**40))


def eat_memory_slowly() -> int:
    hoard = []
    while True:
        hoard.append(bytearray(2**24))


def sleep_for_ever() -> None:
    time.sleep(10**6)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave() -> None:
    os._exit(3)


def exit_politely() -> None:
    sys.exit("enough")


def close_all_pipes() -> None:
    os.closerange(3, 100)
    sleep_for_ever()


def speak() -> str:
    """Print everywhere a protocol could be disturbed."""
    print("noise " * 1000)  # noqa: T201
    os.write(1, b"\x00\x00\x00\x01noise")
    subprocess.run(["echo", "noise from a child"], check=True)
    return "spoken"


def forge() -> None:
    """Write into every descriptor there may be."""
    for descriptor in range(3, 32):
        with suppress(OSError):
            os.write(descriptor, b"\x00\x00\x00\x05hello")


def ramble() -> Judgement:
    return Judgement(False, 0.0, "so " * 10**6)


def rant() -> None:
    raise ValueError("so " * 10**6)


def read_input() -> str:
    return sys.stdin.read()


def start_a_child() -> int:
    return subprocess.Popen(["sleep", "1000"]).pid


def fail() -> None:
    raise ValueError("no such luck")


def unsendable() -> object:
    return object()


def make(argument: Any) -> Any:
    if argument == "broken":
        raise RuntimeError("no tools here")

    def handle(payload: Any) -> Any:
        if isinstance(payload, list):
            return os.getpid() if payload == ["pid"] else payload
        return globals()[payload]()

    return handle


def make_busy(_: Any) -> Any:
    """A handler that works for the given CPU seconds and tells its process id."""

    def handle(seconds: float) -> int:
        until = time.process_time() + seconds
        while time.process_time() < until:
            pass
        return os.getpid()

    return handle


class Hostile:
    """A verifier that does whatever the completion says; "right" is right, all else is wrong.

    With the reference "cursed" it hangs over every completion, with "illegible" it refuses them all.
    """

    class Config(Section):
        factor: float = 1.0

    @staticmethod
    def build(config: Section) -> "Hostile":
        return Hostile()

    def score(self, query: schemas.Query, completion: str) -> Any:
        if query.reference == "cursed":
            loop()
        if query.reference == "illegible":
            raise Unscorable("this is no reference")
        deed = globals().get(completion)
        if deed is not None:
            return deed()
        return Judgement(completion == "right", float(completion == "right"), completion)


class Slow(Hostile):
    """A verifier that waits as many seconds as the completion says, and asks for the time to do so."""

    @staticmethod
    def build(config: Section) -> "Slow":
        return Slow()

    @staticmethod
    def clock_seconds(config: Section) -> float:
        return 4.0

    def score(self, query: schemas.Query, completion: str) -> Any:
        if completion in globals():
            return super().score(query, completion)
        time.sleep(float(completion))
        return Judgement(True, 1.0)


class Objecting:
    """A verifier that lets itself be made, but has a problem."""

    Config = Hostile.Config
    build = Hostile.build

    @staticmethod
    def check(config: Section) -> list[str]:
        return ["the compiler it calls is not installed"]


class Unbuildable:
    """A verifier whose tools are missing."""

    Config = Hostile.Config

    @staticmethod
    def build(config: Section) -> Any:
        raise RuntimeError("no tools here")


class Leaving:
    """A verifier that ends its process where it is made."""

    Config = Hostile.Config

    @staticmethod
    def build(config: Section) -> Any:
        os._exit(3)


def give_nan() -> Judgement:
    return Judgement(True, float("nan"))


def die_once() -> Judgement:
    """Killed from outside the first time; the file named in the environment remembers."""
    memory = Path(os.environ["DIED_ONCE"])
    if not memory.exists():
        memory.touch()
        die()
    return Judgement(True, 1.0)
