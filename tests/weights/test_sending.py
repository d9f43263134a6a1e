"""Sender and receivers over gloo, as processes: what arrives, and what becomes of ends that are lost."""

import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from mentor_stream.config import ConfigError
from mentor_stream.snapshots import SnapshotError, StoreError
from mentor_stream.weights import address, group, messages
from mentor_stream.weights.messages import Ask
from producers.engines.vllm import receiving
from producers.engines.vllm.receiving import Interrupted, Place, Sender
from tests.weights.ends import STALL_SECONDS
from tests.weights.shelf import CPU, ENDS, different, large, received, small, where, write
from trainer.sending import Keeper, desk, keeper

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `python -m tests...` is found, also by what a Keeper starts."""
    monkeypatch.chdir(ROOT)


@pytest.fixture
def sending(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Starts a sender of the snapshots in tmp_path: sending(), or another program; returns where it is."""
    kept: list[Keeper] = []

    def start(*program: str) -> str:
        kept.append(Keeper(where(), tmp_path, program or keeper.PROGRAM))
        return kept[-1]._where

    yield start
    for one in kept:
        one.close()


def ended(pid: int) -> Callable[[], None]:
    """Call what this returns to wait until the process is gone."""
    handle = os.pidfd_open(pid)

    def wait() -> None:
        assert select.select([handle], [], [], 60)[0]
        os.close(handle)

    return wait


def test_all_tensors_arrive_bit_for_bit_in_every_format_also_those_that_fill_more_than_a_bucket(
    tmp_path: Path, sending: Callable[..., str]
) -> None:
    files = large()
    snapshot, at = write(tmp_path, files), sending()
    offer = receiving.look(Sender(at, snapshot.digest, "gloo"))
    assert offer.config["vocab_size"] == 3
    assert len(list(offer.buckets())) == 4
    assert different(received(at, snapshot.digest), files) == []


def test_all_ranks_of_a_server_get_the_same_and_several_servers_are_served_at_once(
    tmp_path: Path, sending: Callable[..., str]
) -> None:
    files = large()
    snapshot, at = write(tmp_path, files), sending()
    names = [secrets.token_hex(16) for _ in range(2)]
    calls = [(name, Place(rank, 2)) for name in names for rank in range(2)]
    with ThreadPoolExecutor(len(calls)) as pool:
        all_found = pool.map(lambda call: received(at, snapshot.digest, *call), calls)
    assert [different(found, files) for found in all_found] == [[]] * 4


def test_more_servers_than_are_served_at_once_all_get_their_weights(
    tmp_path: Path, sending: Callable[..., str]
) -> None:
    files = small()
    snapshot, at = write(tmp_path, files), sending()
    with ThreadPoolExecutor(20) as pool:
        all_found = pool.map(lambda _: received(at, snapshot.digest), range(20))
    assert [different(found, files) for found in all_found] == [[]] * 20


def test_the_snapshot_that_is_meant_is_sent_and_no_other(tmp_path: Path, sending: Callable[..., str]) -> None:
    one, other = (write(tmp_path, small(version), version) for version in (1, 2))
    at = sending()
    assert different(received(at, one.digest), small(1)) == []
    assert different(received(at, other.digest), small(2)) == []


def damaged(tmp_path: Path) -> str:
    snapshot = write(tmp_path, small())
    file = snapshot.path / "model-0.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\0")
    return snapshot.digest


def cut(tmp_path: Path) -> str:
    snapshot = write(tmp_path, small())
    os.truncate(snapshot.path / "model-0.safetensors", 20)
    return snapshot.digest


def removed(tmp_path: Path) -> str:
    snapshot = write(tmp_path, small())
    shutil.rmtree(snapshot.path)
    return snapshot.digest


def without_weights(tmp_path: Path) -> str:
    return write(tmp_path, []).digest


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (damaged, "model-0.safetensors is damaged"),
        (cut, "is no safetensors file, or cut"),
        (removed, "no snapshot"),
        (without_weights, "holds no safetensors files"),
        (lambda _: "0" * 64, "no snapshot 000000000000"),
    ],
)
def test_what_cannot_be_sent_is_refused_for_good_and_the_reason_told(
    tmp_path: Path, sending: Callable[..., str], make: Callable[[Path], str], said: str
) -> None:
    digest, at = make(tmp_path), sending()
    for ask in (lambda: receiving.look(Sender(at, digest, "gloo")), lambda: received(at, digest)):
        with pytest.raises(SnapshotError, match=said) as refused:
            ask()
        assert not isinstance(refused.value, StoreError)


def test_a_machine_without_gpus_refuses_nccl(tmp_path: Path, sending: Callable[..., str]) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    snapshot = write(tmp_path, small())
    with pytest.raises(SnapshotError, match="has no GPU for NCCL: set weights to 'gloo'"):
        receiving.look(Sender(sending(), snapshot.digest, "nccl"))


def test_a_snapshot_that_is_removed_while_it_is_sent_arrives_whole(
    tmp_path: Path, sending: Callable[..., str]
) -> None:
    files = large()
    snapshot = write(tmp_path, files)
    sender = Sender(sending(), snapshot.digest, "gloo")
    with receiving.arriving(sender, secrets.token_hex(16), Place(), CPU) as arrival:
        tensors = arrival.begin()
        found = dict([next(tensors)])
        shutil.rmtree(snapshot.path)
        found |= dict(tensors)
    assert different(found, files) == []


@pytest.mark.parametrize("how", ["SIGKILL", "SIGSTOP"])
def test_a_sender_that_is_lost_half_way_is_heard_of_and_the_next_one_serves(
    tmp_path: Path, sending: Callable[..., str], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    if how == "SIGSTOP":
        monkeypatch.setattr(group, "STALL_SECONDS", STALL_SECONDS)
    files = large()
    snapshot, at = write(tmp_path, files), sending(*ENDS, "sender", how)
    began = time.monotonic()
    with pytest.raises(Interrupted, match=f"{at} was lost half-way: "):
        received(at, snapshot.digest)
    assert time.monotonic() - began < 60, "its patience, and a sender's start"
    if how == "SIGKILL":
        assert different(received(at, snapshot.digest), files) == []


@pytest.mark.parametrize("how", ["SIGKILL", "SIGSTOP"])
def test_a_receiver_that_is_lost_half_way_costs_the_others_nothing(
    tmp_path: Path, sending: Callable[..., str], how: str
) -> None:
    files = large()
    snapshot, at = write(tmp_path, files), sending()
    command = [*ENDS, "receiver", how, at, snapshot.digest]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as lost:
        assert lost.stdout
        assert lost.stdout.readline() == b"begun\n"
        assert different(received(at, snapshot.digest), files) == []
        lost.kill()


def test_a_server_some_of_whose_ranks_never_come_is_given_up(
    tmp_path: Path, sending: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group, "STALL_SECONDS", STALL_SECONDS)
    snapshot, at = write(tmp_path, small()), sending()
    with pytest.raises(StoreError, match="sends nothing"):
        received(at, snapshot.digest, place=Place(0, 2))
    assert different(received(at, snapshot.digest), small()) == []


def test_servers_that_ask_and_never_come_hold_up_others_no_longer_than_is_the_sender_s_patience(
    tmp_path: Path, sending: Callable[..., str]
) -> None:
    snapshot, at = write(tmp_path, small()), sending(*ENDS, "sender", "SIGKILL")
    store = client(at)
    for number in range(2 * desk.SHIPMENTS):
        name = f"{number:032x}"
        ask = Ask(id=name, digest=snapshot.digest, backend="gloo", ranks=1, address="127.0.0.1", seconds=60)
        store.queue_push(messages.ASKS, messages.write(ask))
    assert receiving.look(Sender(at, snapshot.digest, "gloo")).config, "looks do not wait for them"
    assert different(received(at, snapshot.digest), small()) == []


def client(at: str) -> dist.Store:
    host, port = address.split(at)
    return dist.TCPStore(host, port, is_master=False, wait_for_workers=False, timeout=timedelta(seconds=30))  # pyright: ignore[reportPrivateImportUsage]


def test_strangers_at_the_port_and_in_the_store_are_no_trouble(
    tmp_path: Path, sending: Callable[..., str]
) -> None:
    snapshot, at = write(tmp_path, small()), sending()
    for junk in (b"GET / HTTP/1.1\r\n\r\n", b"\0" * 1000, secrets.token_bytes(5000), b""):
        with socket.create_connection(address.split(at)) as connection:
            connection.sendall(junk)
    store, ask = (
        client(at),
        Ask(id="a" * 32, digest=snapshot.digest, backend="gloo", address="::1", seconds=60),
    )
    whole = messages.write(ask)
    for junk in (b"", b"\xff\0", b"[" * 100_000, b"{}", whole[:-5], whole.replace(b"gloo", b"mpi!")):
        store.queue_push(messages.ASKS, junk)
    store.queue_push(messages.ASKS, whole.replace(b'"::1"', b'"example.org"'))
    store.set(messages.ASKS, "x")
    assert different(received(at, snapshot.digest), small()) == []


def test_an_end_of_another_version_is_told_so(tmp_path: Path, sending: Callable[..., str]) -> None:
    snapshot, at = write(tmp_path, small()), sending()
    store = client(at)
    ask = Ask(protocol=99, id="a" * 32, digest=snapshot.digest, backend="gloo", address="::1", seconds=60)
    store.queue_push(messages.ASKS, messages.write(ask))
    answer = messages.read_answer(store.get(messages.answer_key(ask.id)))
    assert isinstance(answer, messages.Refusal)
    assert "another version" in answer.why


def test_nobody_there_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"run\.weights_from\) cannot be reached: .*refused"):
        receiving.look(Sender(where(), "0" * 64, "gloo"))


def test_a_sender_that_dies_is_started_again_and_who_asks_meanwhile_waits(tmp_path: Path) -> None:
    snapshot = write(tmp_path, small())
    kept = Keeper(at := where(), tmp_path)
    try:
        received(at, snapshot.digest)
        assert kept.pid
        gone = ended(kept.pid)
        os.kill(kept.pid, signal.SIGKILL)
        gone()
        assert different(received(at, snapshot.digest), small()) == []
        kept.check()
    finally:
        kept.close()


def test_a_sender_that_keeps_dying_is_given_up_with_the_setting_s_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "PAUSES", (0.0,))
    kept = Keeper(at := where(), tmp_path, ("sh", "-c", "exit 3"))
    kept._thread.join(60)
    said = rf"run\.weights_from is '{at}': .* ended 5 times, at last with exit code 3"
    with pytest.raises(StoreError, match=said):
        kept.check()
    kept.close()


def test_a_port_that_somebody_has_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "BIND_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        at = f"127.0.0.1:{somebody.getsockname()[1]}"
        with pytest.raises(ConfigError, match=rf"run\.weights_from is '{at}'.*already in use.*another port"):
            Keeper(at, tmp_path)


def test_only_a_loopback_address_is_for_this_machine_alone() -> None:
    for host, alone in (("127.0.0.1", True), ("localhost", True), ("trainer-0.trainer", False)):
        listens, own = keeper.listening(f"{host}:{where().rpartition(':')[2]}")
        with listens:
            assert (listens.getsockname()[0] == own) is alone
            socket.create_connection((own, listens.getsockname()[1])).close()


def test_the_sender_does_not_outlive_a_trainer_that_is_killed(tmp_path: Path) -> None:
    code = "import sys, time; from pathlib import Path; from trainer.sending import Keeper\n"
    code += "kept = Keeper(sys.argv[1], Path(sys.argv[2]))\nwhile not kept.pid: time.sleep(0.01)\n"
    code += "print(kept.pid, flush=True); time.sleep(600)"
    snapshot, at = write(tmp_path, small()), where()
    command = [sys.executable, "-c", code, at, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as trainer:
        assert trainer.stdout
        gone = ended(int(trainer.stdout.readline()))
        received(at, snapshot.digest)
        trainer.kill()
    gone()
