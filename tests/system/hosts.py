"""Hosts on one machine: network namespaces with an address each, behind one switch."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
NETWORK = "198.18.77"
"""Of the range that is kept for tests of networks (RFC 2544)."""


class Host:
    """One host. Its interface is called eth0, as everywhere."""

    def __init__(self, network: "Network", name: str, number: int) -> None:
        self.name, self.address = name, f"{NETWORK}.{number}"
        self._network, self._cable = network, f"cable{number}"
        self.space = f"{network.name}-{name}"
        ip("netns", "add", self.space)
        network.undo.callback(ip, "netns", "delete", self.space)
        ip(
            "-n",
            network.switch,
            "link",
            "add",
            self._cable,
            "type",
            "veth",
            "peer",
            "eth0",
            "netns",
            self.space,
        )
        ip("-n", network.switch, "link", "set", self._cable, "master", "bridge", "up")
        ip("-n", self.space, "address", "add", f"{self.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            ip("-n", self.space, "link", "set", device, "up")

    @property
    def prefix(self) -> list[str]:
        """What a command is put behind that is to run here."""
        return ["ip", "netns", "exec", self.space]

    def cut_off(self) -> None:
        """Pull its cable: what it sends, and what is sent to it, is lost without a word."""
        ip("-n", self._network.switch, "link", "set", self._cable, "down")

    def bring_back(self) -> None:
        """Plug it in again."""
        ip("-n", self._network.switch, "link", "set", self._cable, "up")

    def start(self, command: Sequence[str], log: Path, **environment: str) -> "subprocess.Popen[bytes]":
        """A process on it; killed when the network goes, if it still runs."""
        with log.open("ab") as out:
            process = subprocess.Popen(
                [*self.prefix, sys.executable, "-m", *command],
                cwd=ROOT,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        self._network.undo.callback(_end, process)
        return process


class Network:
    """A switch, hosts, and the test itself as one of them."""

    def __init__(self) -> None:
        self.name = f"ms{os.getpid()}"
        self.undo = ExitStack()
        self.switch = f"{self.name}-switch"
        self._hosts = 1

    def __enter__(self) -> "Network":
        try:
            ip("netns", "add", self.switch)
            self.undo.callback(ip, "netns", "delete", self.switch)
            ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
            ip("-n", self.switch, "link", "set", "bridge", "up")
            own = self.name
            ip("link", "add", own, "type", "veth", "peer", "test", "netns", self.switch)
            ip("-n", self.switch, "link", "set", "test", "master", "bridge", "up")
            ip("address", "add", f"{NETWORK}.1/24", "dev", own)
            ip("link", "set", own, "up")
        except BaseException:
            self.undo.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.undo.close()

    def host(self, name: str) -> Host:
        """One more."""
        self._hosts += 1
        return Host(self, name, self._hosts)


def ip(*arguments: str) -> None:
    """The command of that name; raises what it complains of."""
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def why_no_hosts() -> str:
    """What keeps hosts from being made here, or nothing."""
    if not shutil.which("ip"):
        return "no network namespaces: there is no ip on the PATH (apt: iproute2)"
    probe = f"ms{os.getpid()}-probe"
    try:
        ip("netns", "add", probe)
        ip("netns", "exec", probe, "true")
        ip("netns", "delete", probe)
    except RuntimeError as error:
        return f"no network namespaces: {error}; they need root (CAP_SYS_ADMIN and CAP_NET_ADMIN)"
    return ""


needs_hosts = pytest.mark.skipif(bool(reason := why_no_hosts()), reason=reason or "hosts can be made")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
