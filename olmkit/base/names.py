"""Names: DNS labels and subdomains, plurals, camel case, short forms of long names.

The plural of a kind follows the algorithm that Kubernetes' own generators use,
with its dictionary and its oddities, because CRDs in clusters are named by it:
a different plural would be a different API.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_LABEL = 63
"""Characters of a DNS label (RFC 1123)."""
MAX_SUBDOMAIN = 253
"""Characters of a DNS subdomain."""

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def is_label(text: str) -> bool:
    """Return whether `text` is a label of RFC 1123: names of services, namespaces, ports."""
    return len(text) <= MAX_LABEL and _LABEL.fullmatch(text) is not None


def is_label_1035(text: str) -> bool:
    """Return whether `text` is a label of RFC 1035, which must start with a letter."""
    return len(text) <= MAX_LABEL and _LABEL_1035.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """Return whether `text` is a subdomain of RFC 1123: names of most objects, API groups."""
    if not text or len(text) > MAX_SUBDOMAIN:
        return False
    return all(_LABEL.fullmatch(part) is not None for part in text.split("."))


def similar_package(name: str, known: Iterable[str]) -> str:
    """Return the known name of a package that is similar to `name`, or empty.

    The suffix that many packages have does not count: `kuberay-operator` is not `redis-operator`.
    """
    import difflib

    stems: dict[str, str] = {}
    for one in known:
        stems.setdefault(_stem(one), one)
    near = difflib.get_close_matches(_stem(name), stems, n=1)
    if near:
        return stems[near[0]]
    near = difflib.get_close_matches(name, stems.values(), n=1, cutoff=0.85)
    return near[0] if near else ""


def _stem(package: str) -> str:
    folded = package.lower()
    return folded.removesuffix("-operator").removesuffix("operator") or folded


def is_loopback(host: str) -> bool:
    """Return whether a host, without brackets and port, is this machine by its name or its address.

    `localhost` and its subdomains are reserved for that (RFC 6761). A name such as
    `127.example.com` only looks like an address.
    """
    name = host.lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    import ipaddress  # slow to import, and host names are rare

    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def shortened(name: str, limit: int = MAX_LABEL) -> str:
    """Return `name`, or its beginning and a hash if it is longer than `limit`."""
    if len(name) <= limit:
        return name
    import hashlib

    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: limit - 9].rstrip('-.')}-{digest}"


def lower_camel(attribute: str) -> str:
    """Convert `container_port` to `containerPort`: the JSON name of a Python attribute."""
    head, *rest = [part for part in attribute.split("_") if part] or [""]
    return head + "".join(part[0].upper() + part[1:] for part in rest)


def display_name(text: str) -> str:
    """Convert `memcached-operator` to `Memcached Operator`, `containerPort` to `Container Port`."""
    for separator in (".", "-", "_", " "):
        text = " ".join(part for part in text.split(separator) if part)
    words: list[str] = []
    for word in text.split(" "):
        spaced = "".join(
            f" {char}" if char.isupper() and not word[index - 1].isupper() and index else char
            for index, char in enumerate(word)
        )
        words.extend(part[0].upper() + part[1:] for part in spaced.split(" ") if part)
    return " ".join(words)


_KUBE_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STAGES = {None: 2, "beta": 1, "alpha": 0}


def kube_version_key(version: str) -> tuple[int, int, int, int, str]:
    """Return a sort key of API versions, newest first: v2, v1, v1beta1, v1alpha1, then others."""
    match = _KUBE_VERSION.fullmatch(version)
    if match is None:
        return (1, 0, 0, 0, version)
    major, stage, minor = match.groups()
    return (0, -_STAGES[stage], -int(major), -int(minor or 0), version)


def plural_of_kind(kind: str) -> str:
    """Return the resource name of a kind: `Memcached` → `memcacheds`, `Ingress` → `ingresses`."""
    return _pluralize(kind).lower()


def _pluralize(word: str) -> str:
    if not word:
        return word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in _PLURALS:
        return word
    part = _last_part(word)
    head = word[: len(word) - len(part)]
    lower = part.lower()
    if lower in _IRREGULAR:
        return head + _with_case(part, _IRREGULAR[lower])
    if lower in _PLURALS:
        return word
    if part.upper() in _ACRONYMS and part != part.upper():
        return word + "s"
    for suffix, replacement in _RULES:
        if part.endswith(replacement):
            return word
        if part.endswith(suffix):
            return word[: len(word) - len(suffix)] + replacement
    if part[-1] in "sS":
        return word
    return word + "s"


def _with_case(part: str, plural: str) -> str:
    return plural[0].upper() + plural[1:] if part[0].isupper() else plural


def _last_part(word: str) -> str:
    """Return the last word of a name in camel case; a known acronym also ends a word."""
    start = 0
    for index in range(1, len(word)):
        lower_to_upper = word[index].isupper() and not word[index - 1].isupper()
        after_acronym = word[start:index] in _ACRONYMS and not word[start:].isupper()
        if lower_to_upper or after_acronym:
            start = index
    return word[start:]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Acronyms end a part if the next letter starts a new word: `APIService` is API, Service.
_ACRONYMS = frozenset(
    _words(
        "ACL API ASCII CPU CSS DNS EOF GUID HTML HTTP HTTPS ID IP JSON QPS RAM RPC SLA SMTP SQL "
        "SSH TCP TLS TTL UDP UI UID UUID URI URL UTF8 VM XML XMPP XSRF XSS"
    )
)

_UNCOUNTABLE = _words(
    "aircraft beef bison blues chassis deer fish moose police salmon series sheep shrimp species "
    "swine trout tuna you equipment information jeans money news rice graffiti media"
)

_IRREGULAR_WORDS = _words(
    "child/children foot/feet goose/geese man/men human/humans mouse/mice tooth/teeth woman/women "
    "person/people adieu/adieux fabliau/fabliaux bureau/bureaus criterion/criteria "
    "ganglion/ganglia lexicon/lexica mitochondrion/mitochondria noumenon/noumena "
    "phenomenon/phenomena taxon/taxa medium/media stadium/stadiums aquarium/aquaria "
    "auditorium/auditoria symposium/symposia curriculum/curriculums quota/quotas alumnus/alumni "
    "bacillus/bacilli cactus/cacti coccus/cocci focus/foci locus/loci nucleus/nuclei "
    "octopus/octupuses radius/radii syllabus/syllabi corpus/corpora genus/genera alumna/alumnae "
    "vertebra/vertebrae differentia/differentiae minutia/minutiae vita/vitae larva/larvae "
    "postcava/postcavae praecava/praecavae uva/uvae apex/apices codex/codices index/indices "
    "latex/latices vertex/vertices vortex/vortices appendix/appendices radix/radices helix/helices "
    "crisis/crises ellipsis/ellipses genesis/geneses oasis/oases thesis/theses testis/testes "
    "base/bases basis/bases vedalia/vedalias abuse/abuses cause/causes clause/clauses cruse/cruses "
    "excuse/excuses fuse/fuses house/houses misuse/misuses muse/muses pause/pauses ache/aches "
    "topaz/topazes buffalo/buffaloes potato/potatoes tomato/tomatoes dwarf/dwarfs hoof/hoofs "
    "thief/thieves chive/chives hive/hives move/moves movie/movies cookie/cookies "
    "pretorium/pretoriums agenda/agendas formula/formulas shoe/shoes"
)

_EXACT_WORDS = _words(
    "ox/oxen louse/lice die/dice axis/axes alias/aliases use/uses toe/toes ID/IDs"
)

_SUFFIXES = _words(
    "tive/tives eaf/eaves oaf/oaves afe/aves arf/arves rfe/rves rf/rves lf/lves fe/ves ay/ays "
    "ey/eys oy/oys quy/quies uy/uys y/ies eau/eaux bula/bulae dula/bulae lula/bulae nula/bulae "
    "vula/bulae hedron/hedra ium/ia seum/seums eum/ea oum/oa stracum/straca dum/da elum/ela "
    "ilum/ila olum/ola ulum/ula llum/lla ylum/yla imum/ima ernum/erna gnum/gna brum/bra crum/cra "
    "terum/tera serum/sera trum/tra antum/anta atum/ata entum/enta etum/eta itum/ita otum/ota "
    "utum/uta ctum/cta ovum/ova trix/trices iasis/iases mesis/meses kinesis/kineses resis/reses "
    "gnosis/gnoses opsis/opses ysis/yses ouse/ouses lause/lauses us/uses ch/ches io/ios sh/shes "
    "ss/sses ez/ezzes iz/izzes tz/tzes zz/zzes ano/anos lo/los to/tos oo/oos o/oes x/xes S/Ses"
)


def _pair(text: str) -> tuple[str, str]:
    singular, _, plural = text.partition("/")
    return singular, plural


_WORDS = [(word, word) for word in _UNCOUNTABLE] + [_pair(word) for word in _IRREGULAR_WORDS]
_IRREGULAR = dict(_WORDS + [_pair(word) for word in _EXACT_WORDS])
_PLURALS = frozenset(_IRREGULAR.values())
# Words of the dictionary are also suffixes, the most recently added first; then the table.
_RULES = [*reversed(_WORDS), *(_pair(suffix) for suffix in _SUFFIXES)]
