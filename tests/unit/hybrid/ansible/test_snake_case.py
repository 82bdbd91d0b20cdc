"""Names of variables: the same as ansible-operator's."""

from __future__ import annotations

import pytest

from olmkit.hybrid.ansible import snake_case


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("var", "var"),
        ("888", "888"),
        ("k8s_var", "k8s_var"),
        ("_k8s_var", "_k8s_var"),
        ("k8s var", "k8s_var"),
        ("ThisShouldHaveUnderscores", "_this_should_have_underscores"),
        ("sizeK8sBuckets", "size_k8s_buckets"),
        ("a1b2", "a_1_b2"),
        ("sZ", "sz"),
        ("_CanYou_Handle_mixedVars", "_can_you_handle_mixed_vars"),
        ("egressIP", "egress_ip"),
        ("egressIPs", "egress_ips"),
        ("egressIPsEgress", "egress_ips_egress"),
        ("egressIPsegress", "egress_ips_egress"),
        ("egressIPegress", "egress_ip_egress"),
        ("IP", "ip"),
        ("IPs", "__ips"),
        ("IPsegress", "_ips_egress"),
        ("URLegressIPEgressHTTP", "url_egress_ip_egress_http"),
        ("URLsegressIPsEgressHTTPs", "_urls_egress_ips_egress_https"),
        ("THIS_IS_SKIP_NOT_SK_IP", "_this_is_skip_not_sk_ip"),
        ("", ""),
    ],
)
def test_a_name_is_converted_to_that_of_a_variable(name: str, expected: str) -> None:
    assert snake_case.convert(name) == expected


def test_keys_at_any_depth_are_converted_and_values_are_not() -> None:
    spec = {"sizeGi": 3, "podLabels": {"a-b": "keepMe"}, "listOf": [{"innerKey": ["aB"]}]}
    assert snake_case.convert_keys(spec) == {
        "size_gi": 3,
        "pod_labels": {"a_b": "keepMe"},
        "list_of": [{"inner_key": ["aB"]}],
    }


def test_of_two_fields_with_one_name_always_the_same_one_is_used() -> None:
    assert snake_case.convert_keys({"a_b": 1, "a-b": 2}) == {"a_b": 1}
    assert snake_case.convert_keys({"a-b": 2, "a_b": 1}) == {"a_b": 1}
