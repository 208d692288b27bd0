"""The twin of a header's `select_for` in a generated module: the policy for types, torch's, numpy's or by name."""

from __future__ import annotations

from policygen.emit.python.expressions import identifier
from policygen.emit.python.values import docstring
from policygen.spec import Algorithm
from policygen.spec import TypeParameter


def for_types_lines(algorithm: Algorithm, *, by_capability: bool) -> list[str]:
    """The function of a module that deduces a key from types.

    Args:
        algorithm: whose types they are.
        by_capability: whether a compute capability chooses among architectures.
    """
    policy = identifier(algorithm.policy.name)
    parameters = ["    cc: int | str,"] if by_capability else []
    parameters += [f"    {p.python}: {_type_annotation(p)}," for p in algorithm.types if not p.default]
    parameters += [
        f"    {p.python}: {_type_annotation(p)} = {_type_default(p)!r}," for p in algorithm.types if p.default
    ]
    doc = [
        "The policy for types, as select_for of the header deduces it.",
        "",
        "Args:",
        *(f"    {p.python}: {_type_doc(p)}" for p in algorithm.types),
        "    num_items: problem size, where it is known.",
        "",
        "Raises:",
        "    ValueError: an unknown type or operator, or what `policy` raises.",
    ]
    found = [
        "",
        "",
        "def for_types(",
        "    *,",
        *parameters,
        "    num_items: int | None = None,",
        f") -> {policy}:",
    ]
    found += docstring(doc, "    ")
    found.append("    fields_: dict[str, object] = {}")
    for parameter in algorithm.types:
        found += _deduced(parameter)
    chosen = "cc=cc, " if by_capability else ""
    return [*found, f"    return policy({chosen}num_items=num_items, **fields_)  # type: ignore[arg-type]"]


def _type_annotation(parameter: TypeParameter) -> str:
    return "object" if parameter.kind != "value" else "str"


def _type_default(parameter: TypeParameter) -> object:
    return parameter.default if parameter.kind == "value" else None


def _type_doc(parameter: TypeParameter) -> str:
    what = {
        "element": "a torch or numpy dtype, a type's name, or a size in bytes",
        "elements": "a list of torch or numpy dtypes, or of types' names",
        "operator": "plus, min, max, other, or a function",
        "value": "a name",
    }[parameter.kind]
    return f"{what}; deduced where it is left out." if parameter.default and parameter.kind != "value" else f"{what}."


def _deduced(parameter: TypeParameter) -> list[str]:
    name = parameter.python
    lines: list[str] = []
    if parameter.kind == "element":
        properties = {"type": "0", "size": "1", "alignment": "2"}
        for field, given in parameter.gives:
            if given in properties:
                lines.append(f'fields_["{identifier(field)}"] = element({name})[{properties[given]}]')
            elif given == "iterator_info":
                lines.append(f'fields_["{identifier(field)}"] = _info({name})')
    elif parameter.kind == "elements":
        lines += [f'fields_["{identifier(field)}"] = tuple(_info(e) for e in {name})' for field, _ in parameter.gives]
    elif parameter.kind == "operator":
        lines += [f'fields_["{identifier(field)}"] = operator_kind({name})' for field, _ in parameter.gives]
    else:
        lines += [f'fields_["{identifier(field)}"] = {name}' for field, _ in parameter.gives]
    if parameter.default and parameter.kind != "value":
        return [f"    if {name} is not None:", *(f"        {line}" for line in lines)] if lines else []
    return [f"    {line}" for line in lines]
