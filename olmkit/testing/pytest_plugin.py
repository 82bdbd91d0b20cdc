"""The pytest plugin of `olmkit.testing`: servers, clients and running operators as fixtures.

pytest loads it automatically if olmkit is installed. Tests that use one of these fixtures may be
coroutines: the plugin runs them in the event loop of its servers. Before a fixture is used, only
pytest is imported, so that other tests start fast.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    import asyncio

    from olmkit.kube.objects import Manifest
    from olmkit.runtime.client import Client
    from olmkit.runtime.manager import Manager
    from olmkit.runtime.process import Operator
    from olmkit.testing.apiserver.server import ApiServer
    from olmkit.testing.control_plane import ControlPlane
    from olmkit.testing.fixture_types import RunManager, RunOperator, Until
    from olmkit.testing.tasks import Running

T = TypeVar("T")
_LOOP = "olmkit_loop"
_NUMBERS = itertools.count(1)
_FOUND: pytest.StashKey[list[Manifest]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("olmkit")
    group.addoption(
        "--control-plane",
        choices=("auto", "required", "off"),
        default="auto",
        help="tests on a real API server: `auto` skips them where its programs are missing, and "
        "fails when the variable CI is set; `required` fails; `off` skips",
    )
    parser.addini("olmkit_config", "folder of CRDs and webhook manifests", default="config")
    parser.addini("olmkit_timeout", "seconds that a coroutine test may take", default="120")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every coroutine test the loop, also if its only server has session scope."""
    for item in items:
        if not isinstance(item, pytest.Function) or _LOOP in item.fixturenames:
            continue
        if "control_plane" in item.fixturenames and inspect.iscoroutinefunction(item.obj):
            item.fixturenames.append(_LOOP)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test in the loop of its fixtures."""
    if _LOOP not in pyfuncitem.funcargs or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    import asyncio

    for other in ("asyncio", "anyio", "trio"):
        if pyfuncitem.get_closest_marker(other) is not None:
            pytest.fail(
                f"the test has the mark `{other}`, and fixtures of olmkit: remove the mark, "
                "the plugin of olmkit runs the test",
                pytrace=False,
            )
    loop: Any = pyfuncitem.funcargs[_LOOP]
    names = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in names if name in pyfuncitem.funcargs}
    seconds = float(pyfuncitem.config.getini("olmkit_timeout"))

    async def whole() -> None:
        async with asyncio.timeout(seconds):
            await pyfuncitem.obj(**arguments)

    try:
        loop.run(whole())
    except Exception as error:
        _note_crds(error, pyfuncitem.config)
        raise
    return True


def _note_crds(error: Exception, config: pytest.Config) -> None:
    """Add the installed CRDs to the error if the server of a test does not serve a kind."""
    from olmkit.kube.api import NoSuchKind

    found = config.stash.get(_FOUND, None)
    if isinstance(error, NoSuchKind) and found is not None:
        names = ", ".join(f"`{one['metadata']['name']}`" for one in found) or "none"
        error.add_note(
            f"CRDs found in `{config.getini('olmkit_config')}`: {names}; "
            "the setting `olmkit_config` of pytest names another folder"
        )


@pytest.fixture
def olmkit_loop() -> Iterator[asyncio.Runner]:
    """Provide the event loop of a test and its fixtures."""
    import asyncio

    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def _stack(olmkit_loop: asyncio.Runner) -> Iterator[contextlib.AsyncExitStack]:
    """Provide an exit stack that closes in the loop when the test ends."""
    stack = contextlib.AsyncExitStack()
    yield stack
    olmkit_loop.run(stack.aclose())


@pytest.fixture(scope="session")
def olmkit_config(request: pytest.FixtureRequest) -> Path:
    """Provide the config folder of the project, which the setting `olmkit_config` names."""
    config = request.config
    return config.rootpath / str(config.getini("olmkit_config"))


@pytest.fixture(scope="session")
def crds(request: pytest.FixtureRequest, olmkit_config: Path) -> list[Manifest]:
    """Provide the CRDs of the config folder; empty without that folder."""
    from olmkit.testing import installing

    found = request.config.stash[_FOUND] = installing.crds(olmkit_config)
    return found


@pytest.fixture
def api_server(
    olmkit_loop: asyncio.Runner, _stack: contextlib.AsyncExitStack, crds: list[Manifest]
) -> ApiServer:
    """Provide the API server double with all built-in kinds and the CRDs of the config folder."""
    from olmkit.testing.apiserver.kinds.built_in_kinds import BUILT_IN
    from olmkit.testing.apiserver.server import ApiServer

    server = ApiServer.of(BUILT_IN, crds=crds)
    return olmkit_loop.run(_stack.enter_async_context(server.serving()))


@pytest.fixture(scope="session")
def control_plane(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, crds: list[Manifest]
) -> Iterator[ControlPlane]:
    """Provide a real API server with the CRDs of the config folder, once per session."""
    import asyncio

    from olmkit.testing import control_plane

    wanted = request.config.getoption("--control-plane")
    if wanted == "off":
        pytest.skip("needs a real API server, and `--control-plane=off` is set")
    try:
        programs = control_plane.programs()
    except control_plane.ControlPlaneError as error:
        if wanted == "required" or os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("control-plane")
    with control_plane.ControlPlane(folder=folder, programs=programs) as plane:
        asyncio.run(_install(plane, crds))
        yield plane


async def _install(plane: ControlPlane, crds: list[Manifest]) -> None:
    from olmkit.testing import installing
    from olmkit.testing.clients import client_for

    async with client_for(plane, field_manager="olmkit-testing") as client:
        await installing.install(client, crds)


@pytest.fixture(params=["double", "real"])
def each_server(
    request: pytest.FixtureRequest,
    olmkit_loop: asyncio.Runner,  # noqa: ARG001 - coroutine tests are run in it
) -> ApiServer | ControlPlane:
    """Run the test twice: on the double and on a real control plane."""
    name = "api_server" if request.param == "double" else "control_plane"
    found: ApiServer | ControlPlane = request.getfixturevalue(name)
    return found


@pytest.fixture
def kube_server(request: pytest.FixtureRequest) -> ApiServer | ControlPlane:
    """Provide the server that the test requests as a fixture; by default the double."""
    named = [name for name in ("each_server", "control_plane") if name in request.fixturenames]
    found: ApiServer | ControlPlane = request.getfixturevalue([*named, "api_server"][0])
    return found


@pytest.fixture
def kube_client(
    olmkit_loop: asyncio.Runner,
    _stack: contextlib.AsyncExitStack,
    kube_server: ApiServer | ControlPlane,
) -> Client:
    """Provide a client of the server of the test, without a cache."""
    from olmkit.testing.clients import client_for

    return olmkit_loop.run(_stack.enter_async_context(client_for(kube_server)))


@pytest.fixture
def kube_namespace(olmkit_loop: asyncio.Runner, kube_client: Client) -> str:
    """Create a namespace on the server of the test, and provide its name."""
    name = f"test-{os.getpid()}-{next(_NUMBERS)}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    olmkit_loop.run(kube_client.create(body))
    return name


@pytest.fixture
def _running() -> list[Running]:
    return []


@pytest.fixture
def run_manager(
    _stack: contextlib.AsyncExitStack,
    _running: list[Running],
    kube_server: ApiServer | ControlPlane,
) -> RunManager:
    """Provide a function that runs controllers in a manager until the test ends."""
    from olmkit.edges.cluster.client import HttpCluster
    from olmkit.runtime.manager import Manager
    from olmkit.testing import clients, tasks

    async def run(add: Callable[[Manager], None], **settings: Any) -> Manager:
        connection = HttpCluster(clients.config_of(kube_server))
        cluster = await _stack.enter_async_context(connection)
        manager = Manager(cluster, **{"name": "test"} | settings)
        add(manager)
        _running.append(await _stack.enter_async_context(tasks.running(manager)))
        return manager

    return run


@pytest.fixture
def run_operator(
    _stack: contextlib.AsyncExitStack,
    _running: list[Running],
    kube_server: ApiServer | ControlPlane,
    olmkit_config: Path,
) -> RunOperator:
    """Provide a function that runs a whole operator, like its process, until the test ends."""
    from olmkit.testing import tasks

    config = olmkit_config if olmkit_config.is_dir() else None

    async def run(
        operator: Operator, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> Manager:
        whole = tasks.running_operator(
            kube_server, operator, *arguments, environment=environment, config=config
        )
        _running.append(await _stack.enter_async_context(whole))
        return _running[-1].manager

    return run


@pytest.fixture
def until(olmkit_loop: asyncio.Runner, _running: list[Running]) -> Until:  # noqa: ARG001
    """Provide a function that waits until a condition is true, or a manager fails."""
    import asyncio

    from olmkit.testing import waiting

    async def wait(condition: Callable[[], Any], *, seconds: float = 20.0, what: str = "") -> Any:
        wanted = waiting.until(condition, seconds=seconds, what=what)
        waits: asyncio.Task[Any] = asyncio.ensure_future(wanted)
        try:
            ends = [one.task for one in _running]
            await asyncio.wait([waits, *ends], return_when=asyncio.FIRST_COMPLETED)
            for task in ends:
                if task.done():
                    task.result()
            return await waits
        finally:
            waits.cancel()

    return wait
