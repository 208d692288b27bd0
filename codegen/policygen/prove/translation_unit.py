"""The C++ that instantiates CUB's kernels for policies, many in one translation unit."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from policygen.prove.cases import KernelCase
from policygen.prove.cases import PolicyCase
from policygen.prove.cases import policy_text
from policygen.prove.cpp_types import PROLOGUE


@frozen
class Instance:
    """One kernel of one policy: what is compiled and measured."""

    policy: PolicyCase
    kernel: KernelCase

    def __str__(self) -> str:
        return f"{self.policy.algorithm.name} {self.kernel.kernel.name}"


def selector_name(number: int) -> str:
    """The selector of an instance. It stands in the mangled name of its kernel; the underscore ends the number."""
    return f"policygen_case_{number}_"


def translation_unit(instances: Sequence[Instance]) -> str:
    """Writes the text that instantiates kernels. Their numbers follow the order.

    Taking a kernel's address instantiates it, so that no parameter list is spelled here.

    Args:
        instances: of algorithms that CUB has.

    Returns:
        C++17 for nvcc; the same text for the same instances.
    """
    headers = sorted({header for each in instances for header in _headers(each)})
    lines = [f"#include <{header}>" for header in headers]
    lines += ["", PROLOGUE]
    selectors: dict[str, str] = {}
    for number, each in enumerate(instances):
        text = policy_text(each.policy.algorithm, each.policy.policy)
        struct = cub_policy(each)
        base = selectors.get(struct + text)
        if base is None:
            base = f"policygen_policy_{len(selectors)}"
            selectors[struct + text] = base
            lines += _selector(base, struct, text)
        name = selector_name(number)
        lines.append(f"struct {name} : {base} {{}};")
        lines.append(f"void use_{name}() {{ (void) &{each.kernel.instance.replace('{policy}', name)}; }}")
    return "\n".join([*lines, ""])


def cub_policy(each: Instance) -> str:
    """CUB's name of the policy struct. Raises ValueError if the spec does not say it."""
    cub = each.policy.algorithm.cub
    if cub is None:
        raise ValueError(f"{each.policy.algorithm.name}: its spec does not say where CUB keeps its policy")
    return f"::{cub.policy}"


def _headers(each: Instance) -> tuple[str, ...]:
    cub = each.policy.algorithm.cub
    return (*each.kernel.kernel.headers, *(() if cub is None else (cub.header,)))


def _selector(name: str, struct: str, text: str) -> list[str]:
    return [
        f"struct {name}",
        "{",
        f"  __host__ __device__ constexpr {struct} operator()(::cuda::compute_capability) const",
        "  {",
        f"    {struct} p{{}};",
        *(f"    {line}" for line in text.splitlines()),
        "    return p;",
        "  }",
        "};",
    ]
