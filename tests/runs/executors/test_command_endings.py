"""Programs that will not go quietly: however one behaves, it ends in time and leaves no process."""

import contextlib
import json
import os
import signal
import threading
import time

import pytest

from runs.executors.base import ExecutorError, Stop, Stopped
from tests.runs.executors.commanding import ask, printing, refused


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(condition, seconds=5.0):
    """Another process changes the world in its own time."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    return condition()


def test_timeout_kills_and_keeps_what_was_said():
    started = time.monotonic()
    error = refused(
        printing({"type": "text", "content": "a"}) + "\nprint('half', flush=True)\nimport time; time.sleep(60)",
        timeout=0.5,
        agent="mine",
    )
    assert time.monotonic() - started < 3
    assert str(error) == "mine gave no answer within 0.5 s and was killed"
    assert error.retryable
    assert (error.raw, error.trace) == ("half\n", [{"type": "text", "content": "a"}])


def test_sigterm_comes_first():
    script = """
import signal, sys, time
def end(*_):
    print("saved", flush=True)
    sys.exit()
signal.signal(signal.SIGTERM, end)
time.sleep(60)
"""
    assert refused(script, timeout=0.5).raw == "saved\n"


@pytest.fixture
def family(tmp_path):
    """A program whose descendants write their process ids to a file: a child, a grandchild that left the group, one
    whose parent is gone."""
    pids = tmp_path / "pids"
    shell = f"echo $$ >> {pids}; exec sleep 300"
    script = f"""
import os, signal, subprocess, sys
signal.signal(15, signal.SIG_IGN)
sleep = {shell!r}
subprocess.Popen(["sh", "-c", sleep])
subprocess.Popen(["sh", "-c", sleep], process_group=0)
subprocess.run(["sh", "-c", "(" + sleep + ") & exit"])
subprocess.run(["sh", "-c", "trap '' TERM; (" + sleep + ") & exit"])
while len(open({str(pids)!r}).readlines() if os.path.exists({str(pids)!r}) else []) < 4: pass
"""

    def living():
        return [pid for pid in pids.read_text().split() if is_alive(pid)]

    return script, living


def test_no_descendant_survives_the_timeout(family):
    script, living = family
    refused(script + "print('ready', flush=True)\nimport time; time.sleep(60)", timeout=1.5)
    assert wait_for(lambda: not living())


def test_no_descendant_survives_a_stop(family):
    script, living = family
    stop = Stop()
    ready = printing({"type": "text", "content": "ready"})
    with pytest.raises(Stopped):
        ask(script + ready + "\nimport time; time.sleep(60)", stop=stop, on_event=lambda _: stop.set())
    assert wait_for(lambda: not living())


def test_descendants_that_hold_the_pipes_do_not_hold_up_the_answer(family):
    script, living = family
    started = time.monotonic()
    assert ask(script + "print('done')").text == "done\n"
    assert time.monotonic() - started < 5
    assert wait_for(lambda: not living())


def test_a_process_with_a_session_of_its_own_cannot_hold_up_the_answer(tmp_path):
    pid_file = tmp_path / "pid"
    shell = f"echo $$ > {pid_file}; exec yes"
    script = f"""
import os, subprocess
subprocess.Popen(["sh", "-c", {shell!r}], start_new_session=True)
while not os.path.exists({str(pid_file)!r}): pass
print("done")
"""
    with contextlib.suppress(ExecutorError):  # whether it has flooded past the limit by then is a matter of luck
        ask(script)
    pid = int(pid_file.read_text())
    if not wait_for(lambda: not is_alive(pid), 1):
        os.kill(pid, signal.SIGKILL)


def test_a_stop_before_the_start(tmp_path):
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        ask(f"open({str(tmp_path / 'ran')!r}, 'w')", stop=stop)
    assert not (tmp_path / "ran").exists()


def test_a_stop_after_the_end_is_harmless():
    stop = Stop()
    ask("print(1)", stop=stop)
    stop.set()


def test_an_input_that_is_never_read():
    assert ask("print('done')", prompt="x" * 5_000_000).text == "done\n"
    assert ask("import os, time; os.close(0); time.sleep(0.1); print('done')", prompt="x" * 5_000_000).text == "done\n"


def test_a_large_input_is_read_while_output_is_written():
    reply = ask(
        "import sys\nfor part in iter(lambda: sys.stdin.read(10_000), ''): sys.stdout.write(part)",
        prompt="x" * 3_000_000,
    )
    assert json.loads(reply.text)["prompt"] == "x" * 3_000_000


def test_an_output_that_is_closed_early():
    started = time.monotonic()
    reply = ask("import os, time; print('done', flush=True); os.close(1); os.close(2); time.sleep(0.3)")
    assert reply.text == "done\n"
    assert time.monotonic() - started >= 0.3


def test_a_flood_of_errors():
    error = refused("import sys\nfor n in range(300): sys.stderr.write(f'{n:03} ' + 'e' * 10_000)\nsys.exit(1)")
    assert str(error).endswith("e" * 1000)
    assert len(str(error)) < 3000


def test_too_much_output(service):
    service(limits={"answer_bytes": 100_000})
    error = refused("while True: print('x' * 999)", agent="mine")
    assert str(error) == "mine wrote more than 100000 bytes (limits.answer_bytes) and was killed"
    assert len(error.raw) <= 100_000
    error = refused("print('x' * 150_000)", agent="mine")  # one that has ended before anyone looked
    assert "wrote more than 100000 bytes" in str(error)
    assert len(ask("print('x' * 99_999)").text) == 100_000


def test_one_line_of_five_megabytes():
    assert len(ask("print('x' * 5_000_000)").text) == 5_000_001


def test_an_event_that_cannot_be_delivered_leaves_no_process():
    class Trouble(Exception):
        pass

    pid = []

    def on_event(event):
        pid.append(event["content"])
        raise Trouble

    script = (
        "import os, json, time; print(json.dumps({'type': 'text', 'content': os.getpid()}), flush=True); time.sleep(60)"
    )
    with pytest.raises(Trouble):
        ask(script, on_event=on_event)
    assert not is_alive(pid[0])


def test_twenty_at_once():
    replies = []
    threads = [threading.Thread(target=lambda n=n: replies.append(ask(f"print({n})").text.strip())) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, replies)) == list(range(20))
