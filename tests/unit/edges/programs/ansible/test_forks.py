"""Runs that are forked from one process: their ends and results, and the end of that process.

A play is a program in Python here, except where Ansible itself runs.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from olmkit.edges.programs.ansible import installed, runs
from olmkit.edges.programs.ansible.forks import ForkRunner
from olmkit.edges.programs.ansible.runs import Run, RunContent, RunError
from olmkit.testing.waiting import until
from tests.processes import wait_for_end

needs_ansible = pytest.mark.skipif(
    importlib.util.find_spec("ansible_runner") is None, reason="needs the extra `ansible`"
)
FORKS = (sys.executable, str(Path(__file__).parent / "fake_play.py"))
LIMIT = 120.0  # seconds; a busy machine needs time
SECRET = "hidden-word-1"


def run(tmp_path: Path, text: str, ident: str = "1", **settings: Any) -> Run:
    run_scenario = tmp_path / f"play-{ident}.py"
    run_scenario.write_text(text)
    (tmp_path / "temporary").mkdir(exist_ok=True)
    return Run(
        content=RunContent(playbook=run_scenario),
        folder=tmp_path / "object",
        temporary=tmp_path / "temporary",
        ident=ident,
        variables=b"{}",
        trusted=b"{}",
        server="http://127.0.0.1:1",
        **settings,
    )


async def lines(runner: ForkRunner, run: Run) -> list[str]:
    found: list[bytes] = []
    await runner.run(run, found.append)
    return [one.decode() for one in found]


def with_runner(tmp_path: Path, test: Callable[[ForkRunner], Awaitable[None]]) -> None:
    async def whole() -> None:
        runner = ForkRunner(
            command=FORKS, environment={"PATH": "/usr/bin:/bin"}, folder=tmp_path / "forks"
        )
        try:
            await test(runner)
        finally:
            runner.close()

    asyncio.run(whole())


async def number(file: Path) -> int:
    """Return the number that a play has written to this file."""
    return int(await until(lambda: file.exists() and file.read_text(), seconds=LIMIT))


def test_each_run_has_its_own_variables_directory_and_output(tmp_path: Path) -> None:
    text = (
        "import os\n"
        "print(os.getcwd(), os.environ['KUBECONFIG'], os.environ.get('LEFT'))\n"
        "os.environ['LEFT'] = 'x'\n"
        "print(os.getsid(0) == os.getpid(), sorted(os.listdir('/proc/self/fd'))[:4])\n"
    )

    async def scenario(runner: ForkRunner) -> None:
        for ident in ("1", "2"):
            one, other = await lines(runner, run(tmp_path, text, ident))
            folder = tmp_path / "object"
            assert one == f"{folder / 'project'} {folder / 'kubeconfig'} None"
            # The fourth value is the directory that is listed.
            assert other == "True ['0', '1', '2', '3']"

    with_runner(tmp_path, scenario)


def test_the_kept_output_is_masked_and_rotated(tmp_path: Path) -> None:
    async def scenario(runner: ForkRunner) -> None:
        for ident in ("1", "2", "3"):
            one = run(tmp_path, f"print('{SECRET}')", ident, keep=2)
            assert await lines(runner, one) == [SECRET]
            runs.mask(one, {SECRET.encode(): b"***"})
        left = tmp_path / "object" / "artifacts"
        assert sorted(path.name for path in left.iterdir()) == ["2", "3"]
        assert (left / "3" / "events").read_text() == "***\n"
        assert not (tmp_path / "object" / "kubeconfig").exists()

    with_runner(tmp_path, scenario)


def test_temporary_files_are_removed_with_the_run(tmp_path: Path) -> None:
    text = "import tempfile\nprint(tempfile.mkstemp()[1])\n"

    async def scenario(runner: ForkRunner) -> None:
        with (
            tempfile.TemporaryDirectory(dir="/tmp") as home,  # sockets need a short path
            runs.temporary_folder(Path(home)) as temporary,
        ):
            (file,) = await lines(runner, replace(run(tmp_path, text), temporary=temporary))
            assert Path(file).parent == temporary
            assert temporary.stat().st_mode & 0o777 == 0o700
        assert not temporary.exists()

    with_runner(tmp_path, scenario)


def test_sockets_of_a_run_have_paths_that_are_short_enough(tmp_path: Path) -> None:
    one = replace(run(tmp_path, ""), temporary=Path("/", "x" * 60))
    assert "TMPDIR" not in one.environment


def test_a_time_limit_also_ends_processes_in_their_own_session(tmp_path: Path) -> None:
    text = (
        "import os, pathlib, signal, subprocess, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "pathlib.Path('../child').write_text(str(child.pid))\n"
        "time.sleep(600)\n"
    )

    async def scenario(runner: ForkRunner) -> None:
        assert await lines(runner, run(tmp_path, "print(1)")) == ["1"]
        with pytest.raises(RunError, match="ended after 4 s, its time limit"):
            await lines(runner, run(tmp_path, text, timeout=4.0))
        await asyncio.to_thread(wait_for_end, await number(tmp_path / "object" / "child"))

    with_runner(tmp_path, scenario)


def test_the_end_of_the_forking_process_fails_the_run_and_the_next_one_works(
    tmp_path: Path,
) -> None:
    text = (
        "import os, pathlib, time\n"
        "pathlib.Path('../parent').write_text(str(os.getppid()))\n"
        "pathlib.Path('../self').write_text(str(os.getpid()))\n"
        "time.sleep(600)\n"
    )

    async def scenario(runner: ForkRunner) -> None:
        task = asyncio.create_task(lines(runner, run(tmp_path, text)))
        pid = await number(tmp_path / "object" / "self")
        os.kill(await number(tmp_path / "object" / "parent"), signal.SIGKILL)
        with pytest.raises(RunError, match="the process that starts runs has ended"):
            await task
        await asyncio.to_thread(wait_for_end, pid)
        assert await lines(runner, run(tmp_path, "print(1)", "2")) == ["1"]

    with_runner(tmp_path, scenario)


def test_runs_end_with_the_operator(tmp_path: Path) -> None:
    text = (
        "import os, pathlib, time\n"
        "pathlib.Path('../self').write_text(str(os.getpid()))\n"
        "time.sleep(600)\n"
    )
    (tmp_path / "owning.py").write_text(
        "import asyncio, os\n"
        "from pathlib import Path\n"
        "from olmkit.edges.programs.ansible.forks import ForkRunner\n"
        "from olmkit.edges.programs.ansible.runs import Run, RunContent\n"
        f"home = Path({str(tmp_path)!r})\n"
        f"runner = ForkRunner(command={FORKS!r}, environment=os.environ, folder=home / 'forks')\n"
        "run = Run(content=RunContent(playbook=home / 'play-1.py'), folder=home / 'object',\n"
        "          temporary=home / 'temporary', ident='1',\n"
        "          variables=b'', trusted=b'', server='')\n"
        "asyncio.run(runner.run(run, print))\n"
    )
    run(tmp_path, text)

    async def scenario() -> None:
        words = (sys.executable, str(tmp_path / "owning.py"))
        operator = await asyncio.create_subprocess_exec(*words)
        pid = await number(tmp_path / "object" / "self")
        operator.kill()
        await operator.wait()
        await asyncio.to_thread(wait_for_end, pid)

    asyncio.run(scenario())


def test_a_process_that_cannot_start_reports_why(tmp_path: Path) -> None:
    async def scenario(runner: ForkRunner) -> None:
        runner.command = (sys.executable, "-c", "raise SystemExit('no such module')")
        with pytest.raises(RunError, match="has ended: no such module"):
            await lines(runner, run(tmp_path, ""))
        runner.command = ("/nowhere/python",)
        with pytest.raises(RunError, match="cannot run `/nowhere/python`"):
            await lines(runner, run(tmp_path, ""))

    with_runner(tmp_path, scenario)


def test_many_runs_leave_no_processes_and_no_open_files(tmp_path: Path) -> None:
    # Each leaves a process that ends by itself.
    text = (
        "import os, pathlib, subprocess\n"
        "subprocess.Popen(['true'], start_new_session=True)\n"
        "pathlib.Path('../parent').write_text(str(os.getppid()))\n"
    )

    async def scenario(runner: ForkRunner) -> None:
        def open_files(pid: int) -> int:
            return len(list(Path(f"/proc/{pid}/fd").iterdir()))

        def zombies(pid: int) -> list[str]:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            return [one for one in children if Path(f"/proc/{one}").exists()]

        await lines(runner, run(tmp_path, text))
        server = await number(tmp_path / "object" / "parent")
        before = open_files(server), open_files(os.getpid())
        for ident in range(2, 60, 4):
            many = [run(tmp_path, text, str(ident + more)) for more in range(4)]
            folders = [replace(one, folder=tmp_path / one.ident) for one in many]
            await asyncio.gather(*(lines(runner, one) for one in folders))
        assert (open_files(server), open_files(os.getpid())) == before
        await until(lambda: not zombies(server), seconds=LIMIT)

    with_runner(tmp_path, scenario)


TASKS = """\
- name: say it
  debug: {msg: "{{ word }} {{ lookup('env', 'OF_ALL') }} {{ unsafe }}"}
- include_role: {name: other}
- fail: {msg: it is broken}
  ignore_errors: true
- debug: {msg: not done}
  when: false
- command: echo "{{ hidden }}"
  no_log: true
- block: [{command: "false"}]
  rescue: [{debug: {msg: rescued}}]
- copy: {content: new, dest: "{{ file }}"}
  diff: true
"""


@needs_ansible
@pytest.mark.parametrize("name", ["fork", "ansible-runner"])
def test_ansible_has_the_same_output_in_both(tmp_path: Path, name: installed.RunnerName) -> None:
    for role, text in (("one", TASKS), ("other", "- debug: {msg: of the other role}\n")):
        (tmp_path / "roles" / role / "tasks").mkdir(parents=True)
        (tmp_path / "roles" / role / "tasks" / "main.yml").write_text(text)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "ANSIBLE_GATHERING": "explicit"}

    async def whole() -> list[dict[str, Any]]:
        runner = await installed.runner({**environment, "OF_ALL": "all"}, name, tmp_path / "forks")
        found: list[bytes] = []
        variables = {"word": "a", "hidden": SECRET, "file": str(tmp_path / "file")}
        one = Run(
            content=RunContent(role=tmp_path / "roles" / "one"),
            folder=tmp_path / "object",
            temporary=tmp_path,
            ident="1",
            variables=b'---\nunsafe: !unsafe "{{ 7 * 7 }}"\n',
            trusted=json.dumps(variables).encode(),
            server="http://127.0.0.1:1",
            verbosity=2,
        )
        await runner.run(one, found.append)
        runner.close()
        return [json.loads(line) for line in found if line.startswith(b"{")]

    events = asyncio.run(whole())
    results = [
        (one["event"].removeprefix("runner_on_"), data["task_action"], data.get("res", {}))
        for one in events
        if (data := one["event_data"]).get("task_action") and one["event"].startswith("runner_on_")
    ]
    assert [
        (event, action)
        for event, action, _ in results
        if action != "include_role" and event not in ("start", "file_diff")
    ] == [
        ("ok", "debug"),
        ("ok", "debug"),
        ("failed", "fail"),
        ("skipped", "debug"),
        ("ok", "command"),
        ("failed", "command"),
        ("ok", "debug"),
        ("ok", "copy"),
    ]
    messages = [found["msg"] for _, action, found in results if action == "debug" and found]
    assert messages == ["a all {{ 7 * 7 }}", "of the other role", "rescued"]
    assert results[-1][2]["changed"] is True
    assert results[-1][2]["diff"]
    assert SECRET not in json.dumps(events)
    (failed,) = [one for one in events if one["event_data"].get("ignore_errors")]
    assert failed["event_data"]["res"]["msg"] == "it is broken"
    (stats,) = [one for one in events if one["event"] == "playbook_on_stats"]
    assert stats["event_data"]["rescued"] == {"localhost": 1}
    assert stats["event_data"]["failures"] == {}
    output = "\n".join(one["stdout"] for one in events)
    assert "TASK [one : say it]" in output
    assert "PLAY RECAP" in output


@needs_ansible
def test_a_playbook_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    run_scenario = tmp_path / "play.yml"
    run_scenario.write_text("- hosts: localhost\n  taskz: []\n")

    async def whole() -> list[bytes]:
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        runner = await installed.runner(environment, "fork", tmp_path / "forks")
        found: list[bytes] = []
        one = replace(run(tmp_path, ""), content=RunContent(playbook=run_scenario))
        await runner.run(one, found.append)
        runner.close()
        return found

    said = b"\n".join(asyncio.run(whole())).decode()
    assert "'taskz' is not a valid attribute" in said
    assert "playbook_on_stats" not in said


@needs_ansible
@pytest.mark.parametrize("name", ["fork", "ansible-runner"])
def test_a_playbook_finds_the_roles_of_the_project(
    tmp_path: Path, name: installed.RunnerName
) -> None:
    run_scenario = tmp_path / "playbooks" / "play.yml"
    for file, text in (
        (tmp_path / "roles/one/tasks/main.yml", "- debug: {msg: of the role}\n"),
        (
            run_scenario,
            "- hosts: localhost\n  gather_facts: no\n  tasks: [import_role: {name: one}]\n",
        ),
    ):
        file.parent.mkdir(parents=True)
        file.write_text(text)

    async def whole() -> list[bytes]:
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        environment["ANSIBLE_ROLES_PATH"] = installed.roles_path(tmp_path, environment)
        runner = await installed.runner(environment, name, tmp_path / "forks")
        found: list[bytes] = []
        one = replace(run(tmp_path, ""), content=RunContent(playbook=run_scenario))
        await runner.run(one, found.append)
        runner.close()
        return found

    said = b"\n".join(asyncio.run(whole())).decode()
    assert '"msg": "of the role"' in said
    assert installed.roles_path(tmp_path, {"ANSIBLE_ROLES_PATH": "/a"}) == "/a"
