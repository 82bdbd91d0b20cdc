"""Explain why the API server rejects an object: quota, limits, security, webhooks, missing names.

The messages are those of Kubernetes' admission plugins and of its validation. The server generates
another pod name for each attempt. It is left out, so that the same refusal has the same message.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from olmkit.olm.explain import certificates, explanation
from olmkit.olm.explain.explanation import Readiness
from olmkit.olm.explain.workloads.templates import TemplatePlace

_FORBIDDEN = re.compile(
    r'^(?:Error creating: )?(?:pods "[^"]*" is forbidden|Pod "[^"]*" is invalid): '
)
_ABOVE = re.compile(
    r'Invalid value: "?(?P<asked>[^":\s]+)"?: must be less than or equal to (?P<resource>\S+) limit'
    r"(?: of (?P<limit>\S+))?"
)
_QUOTA = re.compile(
    r"exceeded quota: (?P<quota>\S+), requested: (?P<asked>.*), used: (?P<used>.*), "
    r"limited: (?P<limited>.*)"
)
_UNSET = re.compile(r"failed quota: (?P<quota>[^:]+): must specify (?P<fields>.*)")
_RANGE = re.compile(
    r"(?P<bound>maximum|minimum) (?P<resource>\S+) usage per (?P<type>\w+) is (?P<value>[^,]+?)"
    r"(?:, but (?P<what>limit|request) is (?P<asked>[^.,\s]+)|\.\s+No (?P<none>limit|request) is)"
)
_LEVEL = re.compile(r'violates PodSecurity "(?P<level>[a-z]+):[^"]*": (?P<rules>.*)', re.DOTALL)
_DENIED = re.compile(r'admission webhook "(?P<hook>[^"]+)" denied the request(?:: (?P<why>.*))?',
                     re.DOTALL)  # fmt: skip
_AWAY = re.compile(
    r'failed calling webhook "(?P<hook>[^"]+)": (?:failed to call webhook: )?(?P<why>.*)', re.DOTALL
)
_SERVICE = re.compile(r"https://(?P<name>[-a-z0-9]+)\.(?P<namespace>[-a-z0-9]+)\.svc")
_POST = re.compile(r'^Post "[^"]*": ')
_ACCOUNT = re.compile(
    r"error looking up service account (?P<namespace>[-\w.]+)/(?P<name>[-\w.]+): serviceaccount "
)
_PRIORITY = re.compile(r"no PriorityClass with name (?P<name>\S+) was found")
LONGEST = 4000  # characters of a message that are looked at; those of the API server are shorter
# Violations of the level `restricted` only.
_RESTRICTED = ("allowPrivilegeEscalation", "unrestricted capabilities", "runAsNonRoot",
               "seccompProfile", "runAsUser=0", "restricted volume types")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServerRefusal:
    """The meaning of an API server message. `message` is one clause without its subject.

    `is_known` is False when it is the server's own message, cut to a line.
    """

    message: str
    hint: str = ""
    details: tuple[str, ...] = ()
    readiness: Readiness = Readiness.STUCK
    is_known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The place where an object was rejected, and where to change its template."""

    namespace: str
    template: TemplatePlace = field(default_factory=TemplatePlace)


def explain_refusal(message: str, context: Context) -> ApiServerRefusal:
    """Return the cause and fix of a refusal."""
    message = message[:LONGEST]
    for pattern, explain in _EXPLANATIONS:
        found = pattern.search(message)
        if found is not None:
            return explain(found, context)
    message = _FORBIDDEN.sub("", message)
    hint = "raise the quota of the namespace" if "quota" in message else ""
    return ApiServerRefusal(message=explanation.first_line(message), hint=hint, is_known=False)


def _explain_quota(found: re.Match[str], context: Context) -> ApiServerRefusal:
    quota = found["quota"]
    return ApiServerRefusal(
        message=f"ResourceQuota `{quota}` of namespace `{context.namespace}` is used up: "
        f"requested {found['asked']}, used {found['used']}, limit {found['limited']}",
        hint=f"raise it: `kubectl edit resourcequota -n {context.namespace} {quota}`; or delete "
        "what uses it up",
    )


def _explain_unset_quota(found: re.Match[str], context: Context) -> ApiServerRefusal:
    quota = found["quota"]
    return ApiServerRefusal(
        message=f"ResourceQuota `{quota}` of namespace `{context.namespace}` requires "
        f"{explanation.first_line(found['fields'])}",
        hint=context.template.change("set `resources` of the container", "resources")
        + "; a LimitRange of the namespace can set defaults",
    )


def _explain_limit_range(found: re.Match[str], context: Context) -> ApiServerRefusal:
    bound, resource = found["bound"], found["resource"]
    what = found["what"] or found["none"]
    reason = f"the {what} is {found['asked']}" if found["asked"] else f"no {what} is set"
    change = {"maximum": "lower", "minimum": "raise"}[bound] if found["asked"] else "set"
    return ApiServerRefusal(
        message=f"a LimitRange of namespace `{context.namespace}` has the {bound} "
        f"{found['value']} of {resource} for each {found['type']}, and {reason}",
        hint=context.template.change(f"{change} `resources.{what}s.{resource}`", "resources")
        + f"; or change the LimitRange: `kubectl edit limitrange -n {context.namespace}`",
    )


def _above(found: re.Match[str], context: Context) -> ApiServerRefusal:
    resource, limit = found["resource"], f" of {found['limit']}" if found["limit"] else ""
    return ApiServerRefusal(
        message=f"a container requests {found['asked']} of {resource}, more than its limit{limit}",
        hint=context.template.change(f"lower `resources.requests.{resource}`", "resources")
        + "; if the container has no such limit, a LimitRange of the namespace sets it: "
        f"`kubectl get limitrange -n {context.namespace} -o yaml`",
    )


def _explain_pod_security(found: re.Match[str], context: Context) -> ApiServerRefusal:
    level, rules = found["level"], found["rules"]
    split = _split_rules(rules)
    is_small = all(rule.startswith(_RESTRICTED) for rule in split)
    lower = "baseline" if level == "restricted" and is_small else "privileged"
    return ApiServerRefusal(
        message=f"namespace `{context.namespace}` enforces the Pod Security level `{level}`, "
        f"which the pods violate: {', '.join(rule.split(' (')[0] for rule in split)}",
        hint=context.template.change("set these fields of the security context")
        + f"; or allow the pods: `kubectl label namespace {context.namespace} "
        f"pod-security.kubernetes.io/enforce={lower} --overwrite`",
        details=tuple(explanation.first_line(rule) for rule in split),
        readiness=Readiness.BLOCKED,
    )


def _split_rules(rules: str) -> tuple[str, ...]:
    """Return the rules of a list with commas, each with what is in its parentheses."""
    parts, depth = [""], 0
    for part in re.split(r"(, |[()])", rules):
        depth += {"(": 1, ")": -1}.get(part, 0)
        if part == ", " and depth <= 0:
            parts.append("")
        else:
            parts[-1] += part
    return tuple(part.strip() for part in parts if part.strip())


def _explain_denied_webhook(found: re.Match[str], context: Context) -> ApiServerRefusal:
    why = explanation.first_line(found["why"] or "without a reason")
    return ApiServerRefusal(
        message=f"admission webhook `{found['hook']}` denies it: {why}",
        hint=context.template.change("follow its policy")
        + "; or let the webhook's owner make an exception",
    )


def _explain_unreachable_webhook(found: re.Match[str], _: Context) -> ApiServerRefusal:
    hook, why = found["hook"], found["why"]
    service = _SERVICE.search(why)
    place = f"Service `{service['name']}` in namespace `{service['namespace']}`" if service else ""
    reason = explanation.first_line(_POST.sub("", why))
    configurations = "`kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations`"
    fault = certificates.find_fault(why)
    if fault is not None:
        advice = (
            f"{certificates.webhook_advice(fault, f'the `caBundle` of webhook `{hook}`')}; "
            f"{configurations} lists the configurations"
        )
        reason = f"its certificate is not accepted: {reason}"
    elif "no endpoints available" in why and service:
        reason = f"{place} has no pod that is ready"
        advice = (
            f"repair the pods behind it: `kubectl get pods -n {service['namespace']}`; or delete "
            f"the webhook configuration when its operator is gone: {configurations}"
        )
    elif "not found" in why and service:
        reason = f"{place} does not exist"
        advice = (
            f"delete the webhook configuration when its operator is gone: {configurations}; or "
            "install the operator again"
        )
    else:
        advice = (
            f"repair what serves it{f' behind {place}' if place else ''}; or delete the webhook "
            f"configuration when its operator is gone: {configurations}"
        )
    message = f"the API server cannot call admission webhook `{hook}`: {reason}"
    return ApiServerRefusal(message=message, hint=advice)


def _explain_service_account(found: re.Match[str], context: Context) -> ApiServerRefusal:
    name, namespace = found["name"], found["namespace"]
    return ApiServerRefusal(
        message=f"service account `{name}` does not exist in namespace `{namespace}`",
        hint=context.template.change(f"add the permissions of `{name}`, or correct "
                                     "`serviceAccountName`")
        + f"; `kubectl create serviceaccount {name} -n {namespace}` lets the pods start, without "
        "permissions",
    )  # fmt: skip


def _explain_priority_class(found: re.Match[str], context: Context) -> ApiServerRefusal:
    name = found["name"]
    return ApiServerRefusal(
        message=f"PriorityClass `{name}` does not exist",
        hint=f"create it: `kubectl create priorityclass {name} --value=1000`; or "
        + context.template.change("correct `priorityClassName`"),
    )


Explain = Callable[[re.Match[str], Context], ApiServerRefusal]
_EXPLANATIONS: tuple[tuple[re.Pattern[str], Explain], ...] = (
    (_QUOTA, _explain_quota),
    (_UNSET, _explain_unset_quota),
    (_RANGE, _explain_limit_range),
    (_ABOVE, _above),
    (_LEVEL, _explain_pod_security),
    (_DENIED, _explain_denied_webhook),
    (_AWAY, _explain_unreachable_webhook),
    (_ACCOUNT, _explain_service_account),
    (_PRIORITY, _explain_priority_class),
)
