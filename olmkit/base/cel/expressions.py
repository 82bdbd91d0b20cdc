"""Parse CEL expressions.

Constraints of bundles and validations of CRDs are written in CEL. `parse` returns the expression as
a tree, `checking` the type of its result, `evaluation` its value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from olmkit.base.cel import literals


class CelError(ValueError):
    """A text is not a valid expression; `offset` is in characters."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Type:
    """A type, such as `bool`, or `list` of something."""

    name: str
    parts: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.parts))})" if self.parts else self.name


DYN: Final = Type("dyn")
BOOL: Final = Type("bool")
INT: Final = Type("int")
UINT: Final = Type("uint")
DOUBLE: Final = Type("double")
STRING: Final = Type("string")
BYTES: Final = Type("bytes")
NULL: Final = Type("null_type")
TYPE: Final = Type("type")
TIMESTAMP: Final = Type("google.protobuf.Timestamp")
DURATION: Final = Type("google.protobuf.Duration")
TYPE_NAMES: Final = frozenset(
    {"bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"}
)


def list_of(element: Type) -> Type:
    """Return the CEL type of lists whose items have the type `element`."""
    return Type("list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Return the CEL type of maps with these types of keys and values."""
    return Type("map", (key, value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Expr:
    """A node of the syntax tree; `op` is its kind.

    `literal` has `type` and `value`; `name` has `text`; `select` and `has` have one operand and
    the field in `text`; `call` has the function in `text`, its target first when
    `method` is set; operators are calls of `_+_` and the like; `list` and `map`
    have their elements; a macro has its range, its variables in `names`, and its
    bodies.
    """

    op: str
    offset: int
    text: str = ""
    type: Type = DYN
    value: Any = None
    operands: tuple[Expr, ...] = ()
    names: tuple[str, ...] = ()
    method: bool = False


MAX_LENGTH: Final = 100_000
MAX_DEPTH: Final = 250  # the limit of the reference parser
_TOO_DEEP: Final = f"the expression is nested more than {MAX_DEPTH} levels deep"
_MACROS: Final = {"all": (2,), "exists": (2,), "exists_one": (2,), "map": (2, 3), "filter": (2,)}
_RESERVED: Final = frozenset(
    {"as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"}
    | {"loop", "package", "namespace", "return", "var", "void", "while"}
)
_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<uint>(?:0x[0-9a-fA-F]+|\d+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|\d+)
    |(?P<string>(?P<prefix>[rRbB]{0,2})(?:'{3}(?:[^\\]|\\.)*?'{3}|\"{3}(?:[^\\]|\\.)*?\"{3}
        |'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*|`[A-Za-z0-9_./ -]+`)
    |(?P<op>\|\||&&|==|!=|<=|>=|[-+*/%!<>?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    offset: int


def parse(text: str) -> Expr:
    """Parse the expression in `text`; raise `CelError` if it is invalid."""
    if len(text) > MAX_LENGTH:
        raise CelError(f"the expression is longer than {MAX_LENGTH:,} characters", 0)
    parser = _Parser(_tokens(text))
    try:
        expr = parser.expression()
    except RecursionError:
        raise CelError("the expression is nested too deeply", 0) from None
    parser.expect("end")
    return expr


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise CelError(
                f"Syntax error: token recognition error at: '{text[position]}'", position
            )
        kind = match.lastgroup or ""
        if kind == "prefix":
            kind = "string"
        if kind != "space":
            tokens.append(_Token(kind, match.group(), position))
        position = match.end()
    tokens.append(_Token("end", "<EOF>", len(text)))
    return tokens


_LEVELS: Final = (
    ("||",),
    ("&&",),
    ("==", "!=", "<", "<=", ">", ">=", "in"),
    ("+", "-"),
    ("*", "/", "%"),
)
_FLAT_LEVELS: Final = 2  # those of `||` and `&&`


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _accept(self, *texts: str) -> _Token | None:
        token = self._token
        if token.kind in ("op", "name") and token.text in texts:
            self._next += 1
            return token
        return None

    def expect(self, text: str) -> _Token:
        token = self._token
        if (text == "end" and token.kind == "end") or (token.kind == "op" and token.text == text):
            self._next += 1
            return token
        raise self._unexpected()

    def _unexpected(self) -> CelError:
        return CelError(f"Syntax error: unexpected '{self._token.text}'", self._token.offset)

    def expression(self) -> Expr:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise CelError(_TOO_DEEP, self._token.offset)
        condition = self._binary(0)
        question = self._accept("?")
        if question is not None:
            then = self._binary(0)
            self.expect(":")
            otherwise = self.expression()
            condition = _call("_?_:_", question.offset, condition, then, otherwise)
        self._depth -= 1
        return condition

    def _binary(self, level: int) -> Expr:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        if level < _FLAT_LEVELS:
            return self._chain(level, left)
        while token := self._accept(*_LEVELS[level]):
            left = _call(f"_{token.text}_", token.offset, left, self._binary(level + 1))
        return left

    def _chain(self, level: int, first: Expr) -> Expr:
        """Parse `a || b || c` as one call, because such chains may exceed the nesting limit."""
        operands = [first]
        offset = self._token.offset
        while self._accept(*_LEVELS[level]):
            operands.append(self._binary(level + 1))
        return _call(f"_{_LEVELS[level][0]}_", offset, *operands) if len(operands) > 1 else first

    def _unary(self) -> Expr:
        signs: list[_Token] = []
        while token := self._accept("!", "-"):
            if signs and signs[0].text != token.text:
                raise CelError(f"Syntax error: unexpected '{token.text}'", token.offset)
            signs.append(token)
            if len(signs) > MAX_DEPTH:
                raise CelError(_TOO_DEEP, token.offset)
        if signs and signs[-1].text == "-" and self._token.kind in ("int", "float"):
            # The minus is part of the number: the lowest number is written with it.
            token = signs.pop()
            self._next += 1
            value = self._member(_literal(self._tokens[self._next - 1], minus=token))
        else:
            value = self._member(self._primary())
        for sign in reversed(signs):
            value = _call(f"{sign.text}_", sign.offset, value)
        return value

    def _member(self, value: Expr) -> Expr:
        while token := self._accept(".", "["):
            if token.text == "[":
                self._accept("?")
                index = self.expression()
                self.expect("]")
                value = _call("_[_]", token.offset, value, index)
                continue
            self._accept("?")
            name = self._token
            if name.kind != "name":
                raise self._unexpected()
            self._next += 1
            if self._accept("("):
                value = self._method(value, name)
            else:
                value = Expr(
                    op="select",
                    offset=token.offset,
                    text=name.text.strip("`"),
                    operands=(value,),
                )
        return value

    def _method(self, target: Expr, name: _Token) -> Expr:
        arguments = self._arguments(")")
        if len(arguments) in _MACROS.get(name.text, ()):
            variable = arguments[0]
            if variable.op != "name":
                raise CelError("argument must be a simple name", variable.offset)
            return Expr(
                op="macro",
                offset=name.offset,
                text=name.text,
                operands=(target, *arguments[1:]),
                names=(variable.text,),
            )
        return Expr(
            op="call",
            offset=name.offset,
            text=name.text,
            operands=(target, *arguments),
            method=True,
        )

    def _primary(self) -> Expr:
        token = self._token
        self._next += 1
        if token.kind in _LITERALS:
            return _literal(token)
        if token.kind == "name":
            return self._named(token)
        if token.kind == "op":
            match token.text:
                case "(":
                    inner = self.expression()
                    self.expect(")")
                    return inner
                case "[":
                    return Expr(op="list", offset=token.offset, operands=self._arguments("]"))
                case "{":
                    return Expr(op="map", offset=token.offset, operands=self._entries())
                case "." if self._token.kind == "name":
                    return self._primary()
                case _:
                    pass
        self._next -= 1
        raise self._unexpected()

    def _named(self, token: _Token) -> Expr:
        match token.text:
            case "true" | "false":
                return Expr(
                    op="literal",
                    offset=token.offset,
                    text=token.text,
                    type=BOOL,
                    value=token.text == "true",
                )
            case "null":
                return Expr(op="literal", offset=token.offset, text=token.text, type=NULL)
            case _:
                pass
        if token.text in _RESERVED:
            raise CelError(f"reserved identifier: {token.text}", token.offset)
        if token.text == "in":
            self._next -= 1
            raise self._unexpected()
        if not self._accept("("):
            return Expr(op="name", offset=token.offset, text=token.text)
        arguments = self._arguments(")")
        if token.text == "has":
            if len(arguments) != 1 or arguments[0].op != "select":
                raise CelError("invalid argument to has() macro", token.offset)
            return Expr(
                op="has",
                offset=token.offset,
                text=arguments[0].text,
                operands=arguments[0].operands,
            )
        return Expr(op="call", offset=token.offset, text=token.text, operands=arguments)

    def _arguments(self, closing: str) -> tuple[Expr, ...]:
        found: list[Expr] = []
        while not self._accept(closing):
            if found:
                self.expect(",")
                if closing != ")" and self._accept(closing):
                    break
            self._accept("?")
            found.append(self.expression())
        return tuple(found)

    def _entries(self) -> tuple[Expr, ...]:
        found: list[Expr] = []
        while not self._accept("}"):
            if found:
                self.expect(",")
                if self._accept("}"):
                    break
            self._accept("?")
            found.append(self.expression())
            self.expect(":")
            found.append(self.expression())
        return tuple(found)


def _call(function: str, offset: int, *operands: Expr) -> Expr:
    return Expr(op="call", offset=offset, text=function, operands=operands)


def _literal(token: _Token, minus: _Token | None = None) -> Expr:
    text = "-" + token.text if minus else token.text
    try:
        if token.kind == "string":
            value: Any = literals.string(text)
        else:
            value = literals.number(token.kind, text)
    except ValueError as error:
        raise CelError(str(error), token.offset) from None
    return Expr(
        op="literal",
        offset=(minus or token).offset,
        text=text,
        type=BYTES if isinstance(value, bytes) else _LITERALS[token.kind],
        value=value,
    )


_LITERALS: Final[Mapping[str, Type]] = {
    "float": DOUBLE,
    "uint": UINT,
    "int": INT,
    "string": STRING,
}
