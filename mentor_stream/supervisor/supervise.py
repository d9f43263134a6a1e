"""One call of `mentor-stream up`, from taking the lock to telling how it went."""

import signal
from collections.abc import Awaitable, Callable

import anyio
from rich.console import Console

from mentor_stream import claims
from mentor_stream.config import Config
from mentor_stream.stream import opened
from mentor_stream.supervisor import board as boards
from mentor_stream.supervisor import lock, messages, results
from mentor_stream.supervisor.config import SupervisorConfig
from mentor_stream.supervisor.results import Summary
from mentor_stream.supervisor.run import FINISH, CommandLine, Run, component_command, new_run
from mentor_stream.supervisor.view import terminal

FAILED = 1


def supervise(config: Config, command_line: CommandLine = component_command) -> int:
    """See `mentor_stream.supervisor.up`. `command_line` says how a component is started."""
    # Ignored signals stay ignored in a new process: a trainer that is told to finish while it still starts
    # must not die of it. It is told again.
    before = signal.signal(FINISH, signal.SIG_IGN)
    try:
        return anyio.run(_locked, config, command_line, Console(highlight=False), backend="trio")
    finally:
        signal.signal(FINISH, before)


async def _locked(config: Config, command_line: CommandLine, console: Console) -> int:
    try:
        async with lock.hold(
            config.run.directory, patience=config.of(SupervisorConfig).grace_seconds
        ) as held:
            return await _up(config, command_line, held, console)
    except lock.RunBusy as busy:
        console.print(messages.error(str(busy)), soft_wrap=True)
        return FAILED


async def _up(config: Config, command_line: CommandLine, held: int, console: Console) -> int:
    run = new_run(config, boards.new_board(config), command_line, held)
    # Before anything is shown, and stoppable already: it may have to wait for topics that others create.
    stopped_by = await _until_stopped(run, run.is_over)
    if stopped_by is None:
        summary = results.read(config) if run.release is not None and run.release.final else None
        if summary is not None and summary.goes_on(config.run):
            run.ended = run.release
        elif summary is not None:
            console.print(messages.finished_before(summary, config))
            return 0
        stopped_by = await _shown(run, console)
    if run.gave_up:
        for failure in run.gave_up:
            console.print(messages.error(str(failure)), soft_wrap=True)
        console.print(messages.stopped(config), soft_wrap=True)
        return FAILED
    if stopped_by is not None:
        console.print(messages.stopped(config), soft_wrap=True)
        return 128 + stopped_by
    console.print(messages.finished(await _results(run), config))
    return 0


async def _results(run: Run) -> Summary:
    assert run.release is not None
    async with opened(run.config, "supervisor") as stream:
        return await results.write(stream, run.config, run.release)


async def _shown(run: Run, console: Console) -> int | None:
    """Run to the end under the view; the signal that stopped it, if one did. Raises RunBusy."""
    stopped_by, taken = None, list[claims.Taken]()
    settings = run.config.of(SupervisorConfig)
    async with anyio.create_task_group() as around:

        async def alone() -> None:
            try:
                async with opened(run.config, "up") as stream, claims.only(stream, run.config):
                    around.start_soon(terminal.show, run.board, run.children, settings, console)
                    around.start_soon(boards.follow, run.config, run.board)
                    await run.to_the_end()
            except claims.Taken as by:
                taken.append(by)

        stopped_by = await _until_stopped(run, alone)
        around.cancel_scope.cancel()
    if taken:
        raise lock.RunBusy(f"{taken[0]}.")
    return stopped_by


async def _until_stopped(run: Run, work: Callable[[], Awaitable[object]]) -> int | None:
    """Do this part of the run's work; the signal that ended it early, if one did.

    The first signal cancels it, which stops every component; the next one kills them.
    """
    received: list[int] = []
    working = anyio.CancelScope()

    def stop(signal_number: int) -> None:
        if received:
            run.kill()
        else:
            run.board.note("stopping every component; once more kills them")
        received.append(signal_number)
        working.cancel()

    async with anyio.create_task_group() as tasks:
        with working:
            tasks.start_soon(_listen, stop)
            await work()
        tasks.cancel_scope.cancel()
    return received[0] if working.cancelled_caught else None


async def _listen(stop: Callable[[int], None]) -> None:
    wanted = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # ignored under nohup
        wanted.append(signal.SIGHUP)
    with anyio.open_signal_receiver(*wanted) as signals:
        async for number in signals:
            stop(number)
