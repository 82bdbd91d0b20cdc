"""Challenges of registries, and the tokens that answer them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from olmkit.edges.images.registries import auth as registry_auth
from olmkit.edges.images.registries.auth import Authenticator, Challenge
from olmkit.edges.images.registries.credentials import RegistryCredentials
from olmkit.edges.network.web import Web, WebOptions
from olmkit.oci.reference import Reference
from olmkit.oci.store import RegistryError
from olmkit.testing.loopback import serving

T = TypeVar("T")
OPTIONS = WebOptions(attempts=1)
REFERENCE = Reference.parse("registry.example.com/a/b")
USER = RegistryCredentials(username="tester", password="secret")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


@pytest.mark.parametrize(
    ("text", "challenges"),
    [
        ("", []),
        ("Negotiate", [("negotiate", {})]),
        ("NTLM TlRMTVNTUAAB==", [("ntlm", {})]),
        (
            'Negotiate, Digest realm="x", nonce="q", Bearer realm="a",service="s"',
            [
                ("negotiate", {}),
                ("digest", {"realm": "x", "nonce": "q"}),
                ("bearer", {"realm": "a", "service": "s"}),
            ],
        ),
        # The contents of a quoted string are not another challenge.
        (
            'Digest realm="x, Bearer realm=http://other/token", nonce="q"',
            [("digest", {"realm": "x, Bearer realm=http://other/token", "nonce": "q"})],
        ),
        (
            r'Bearer service="a, Bearer realm=\"http://other/\"",realm="http://own/token"',
            [
                (
                    "bearer",
                    {
                        "service": 'a, Bearer realm="http://other/"',
                        "realm": "http://own/token",
                    },
                )
            ],
        ),
        ('Bearer realm = "a" ,, service="s",', [("bearer", {"realm": "a", "service": "s"})]),
        ('realm="nothing"', []),
        ('Basic realm="x"', [("basic", {"realm": "x"})]),
        (
            'Bearer realm="https://a/token",service="s",scope="repository:a/b:pull,push"',
            [
                (
                    "bearer",
                    {
                        "realm": "https://a/token",
                        "service": "s",
                        "scope": "repository:a/b:pull,push",
                    },
                )
            ],
        ),
        ("bearer realm=plain, service=s", [("bearer", {"realm": "plain", "service": "s"})]),
        (
            'Basic realm="a, b", Bearer realm="c"',
            [("basic", {"realm": "a, b"}), ("bearer", {"realm": "c"})],
        ),
        (r'Basic realm="a \"quoted\" word"', [("basic", {"realm": 'a "quoted" word'})]),
    ],
)
def test_challenges_are_read(text: str, challenges: list[tuple[str, dict[str, str]]]) -> None:
    expected = tuple(Challenge(scheme, parameters) for scheme, parameters in challenges)
    assert registry_auth.parse_challenges(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Bearer" + " " * 400_000 + "=",
        "Bearer x" + " " * 400_000 + "y",
        "a" * 400_000,
        "realm=" * 100_000,
        'realm="' + "\\" * 400_000,
        "Bearer, " * 100_000,
    ],
    ids=lambda text: text[:12],
)
def test_long_challenges_take_linear_time(text: str) -> None:
    assert not any(one.parameters for one in registry_auth.parse_challenges(text))


class TokenServer:
    """A server with prepared answers, which records the requests."""

    def __init__(self, body: Any = None, status: int = 200) -> None:
        self.body = {"token": "t"} if body is None else body
        self.status = status
        self.scopes: list[str] = []
        self.asked: list[tuple[str, dict[str, str], str | None]] = []

    async def __call__(self, request: Any) -> Any:
        from aiohttp import web

        values = dict(request.query) | dict(await request.post())
        self.scopes = request.query.getall("scope", [])
        self.asked.append((request.method, values, request.headers.get("Authorization")))
        if isinstance(self.body, bytes):
            return web.Response(body=self.body, status=self.status)
        return web.json_response(self.body, status=self.status)


async def header(
    server: TokenServer,
    credentials: RegistryCredentials | None,
    realm: str = "http://{host}/token?a=b",
    scope: str = "repository:a/b:pull",
) -> str | None:
    async with serving(server) as host, Web(OPTIONS) as web:
        authenticator = Authenticator(web, REFERENCE, credentials)
        challenge = f'Bearer realm="{realm.format(host=host)}",service="s"'
        authenticator.challenged(Answer({"WWW-Authenticate": challenge}))  # type: ignore[arg-type]
        return await authenticator.header(scope)


class Answer:
    """The part of a response that the authenticator reads."""

    def __init__(self, headers: dict[str, str]) -> None:
        self.headers = headers

    def listed(self, name: str) -> str:
        return self.headers.get(name, "")


def test_a_token_is_requested_with_basic_credentials() -> None:
    server = TokenServer()
    assert run(header(server, USER)) == "Bearer t"
    assert server.asked == [
        (
            "GET",
            {"a": "b", "service": "s", "scope": "repository:a/b:pull", "account": "tester"},
            USER.basic,
        )
    ]


def test_each_scope_is_requested_separately() -> None:
    """A mount has two scopes, and a token server reads a string with a space as one scope."""
    server = TokenServer()
    both = ["repository:a/b:pull,push", "repository:c/d:pull"]
    run(header(server, USER, scope=" ".join(both)))
    assert server.scopes == both


def test_a_token_is_requested_without_credentials_if_there_are_none() -> None:
    server = TokenServer({"access_token": "t"})
    assert run(header(server, None)) == "Bearer t"
    assert server.asked[0][2] is None


def test_an_identity_token_is_exchanged() -> None:
    server = TokenServer({"access_token": "t"})
    assert run(header(server, RegistryCredentials(identity_token="hunter2"))) == "Bearer t"
    method, values, _ = server.asked[0]
    assert method == "POST"
    assert values["grant_type"] == "refresh_token"
    assert values["refresh_token"] == "hunter2"


def test_a_registry_token_is_sent_unchanged() -> None:
    server = TokenServer()
    assert run(header(server, RegistryCredentials(registry_token="r"))) == "Bearer r"
    assert server.asked == []


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 401, "does not accept the credentials"),
        ({}, 403, "does not accept the credentials"),
        ({}, 503, "answers with status 503"),
        ({}, 200, "does not return a token"),
        ({"token": 7}, 200, "does not return a token"),
        ({"token": "two\r\nlines"}, 200, "does not return a token"),
        (b"hunter2", 200, "does not return a token"),
        ([], 200, "does not return a token"),
    ],
)
def test_a_token_server_without_a_token_is_reported(body: Any, status: int, message: str) -> None:
    with pytest.raises(RegistryError, match=message) as caught:
        run(header(TokenServer(body, status), USER))
    assert "hunter2" not in caught.value.message


def test_credentials_are_not_sent_unencrypted_to_another_host() -> None:
    server = TokenServer()
    with pytest.raises(RegistryError, match="requests the credentials unencrypted"):
        run(header(server, USER, realm="http://token.example.com/"))
    with pytest.raises(RegistryError, match="does not name a valid token server"):
        run(header(server, USER, realm="file:///etc/passwd"))
    assert server.asked == []


def test_a_basic_challenge_needs_credentials() -> None:
    async def check() -> None:
        async with Web(OPTIONS) as web:
            for credentials, expected in ((USER, USER.basic), (None, None)):
                authenticator = Authenticator(web, REFERENCE, credentials)
                assert await authenticator.header("x") is None
                basic = Answer({"WWW-Authenticate": 'Basic realm="x"'})
                authenticator.challenged(basic)  # type: ignore[arg-type]
                if expected:
                    assert await authenticator.header("x") == expected
                    continue
                with pytest.raises(RegistryError, match="requires credentials") as caught:
                    await authenticator.header("x")
                assert "docker login registry.example.com" in caught.value.hint

    run(check())


@pytest.mark.parametrize(
    ("named", "asked"),
    [
        ("aws", ["repository:a/b:pull", "aws"]),
        ("repository:a/b:pull", ["repository:a/b:pull"]),
        ("repository:a/b:pull,push", ["repository:a/b:pull", "repository:a/b:pull,push"]),
        ("registry:catalog:* aws aws", ["repository:a/b:pull", "registry:catalog:*", "aws"]),
        ("a b c d e f g h i j", ["repository:a/b:pull", *"abcdefgh"]),
        ("", ["repository:a/b:pull"]),
    ],
)
def test_a_scope_that_the_registry_names_is_also_requested(named: str, asked: list[str]) -> None:
    async def check() -> list[str]:
        server = TokenServer()
        async with serving(server) as host, Web(OPTIONS) as web:
            authenticator = Authenticator(web, REFERENCE, USER)
            challenge = f'Bearer realm="http://{host}/token",service="s",scope="{named}"'
            answer = Answer({"WWW-Authenticate": challenge})
            authenticator.challenged(answer, "repository:a/b:pull")  # type: ignore[arg-type]
            await authenticator.header("repository:a/b:pull")
        return server.scopes

    assert run(check()) == asked


def test_the_scope_in_the_first_answer_is_an_example_and_is_not_requested() -> None:
    """A large registry names `repository:user/image:pull` there, for all of its images."""

    async def check() -> list[str]:
        server = TokenServer()
        async with serving(server) as host, Web(OPTIONS) as web:
            authenticator = Authenticator(web, REFERENCE, USER)
            scope = "repository:user/image:pull"
            challenge = f'Bearer realm="http://{host}/token",service="s",scope="{scope}"'
            authenticator.challenged(Answer({"WWW-Authenticate": challenge}))  # type: ignore[arg-type]
            await authenticator.header("repository:a/b:pull")
        return server.scopes

    assert run(check()) == ["repository:a/b:pull"]
