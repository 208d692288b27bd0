"""The CUB form of an algorithm's header: stateless selectors on types that `cuda::execution::tune` takes."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence

from attrs import frozen

from policygen.emit.cpp.cub_conversions import enumerator_of_cub
from policygen.emit.cpp.cub_conversions import enumerator_to_cub
from policygen.emit.cpp.cub_conversions import policy_to_cub
from policygen.emit.cpp.cub_conversions import policy_to_form
from policygen.emit.cpp.cub_conversions import record_of_cub
from policygen.emit.cpp.cub_names import qualified
from policygen.emit.cpp.expressions import CppExpressions
from policygen.emit.cpp.expressions import identifier
from policygen.emit.cpp.header import SharedDefinition
from policygen.emit.cpp.support import CUB
from policygen.emit.cpp.support import support_functions
from policygen.emit.variants import Variants
from policygen.emit.wrapping import WIDTH
from policygen.emit.wrapping import wrapped
from policygen.emit.wrapping import wrapped_comment
from policygen.lang.simplify import substitute
from policygen.loading.targets import present
from policygen.model.types import Enumeration
from policygen.model.types import EnumType
from policygen.model.types import IntType
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.model.types import Struct
from policygen.model.types import Version
from policygen.spec import CubBinding
from policygen.spec import KeyField
from policygen.spec import Vocabulary
from policygen.tune import SELECTOR
from policygen.tune import TemplateParameter
from policygen.tune import Tune
from policygen.tune import TuneCall
from policygen.tune import TuneForm

FEATURE = "cub_tuning"
"""What a target has where CUB's algorithms run and can be tuned."""


@frozen
class TuneHeader:
    """What the template lays out.

    Attributes:
        notes: what the banner says beside the title.
    """

    name: str
    namespace: str
    inline_namespace: str
    guard: str
    includes: tuple[str, ...]
    definitions: tuple[SharedDefinition, ...]
    body: tuple[str, ...]
    notes: tuple[str, ...]


def tune_header(variants: Variants, vocabulary: Vocabulary) -> TuneHeader | None:
    """Prints a CUB form; None where CUB does not run on the target, or where the algorithm cannot be tuned."""
    instances = [variant.program.rules.instance for variant in variants.variants]
    algorithm = variants.algorithm
    if algorithm.tune is None or algorithm.cub is None:
        return None
    if not all(present(instance.target, FEATURE, instance.cc) for instance in instances):
        return None
    return _TuneHeaderPrinter(variants, vocabulary, algorithm.tune, algorithm.cub).run()


class _TuneHeaderPrinter:
    def __init__(self, variants: Variants, vocabulary: Vocabulary, tune: Tune, cub: CubBinding) -> None:
        self._variants = variants
        self._vocabulary = vocabulary
        self._algorithm = variants.algorithm
        self._tune = tune
        self._cub = cub
        self._pack = next((p.pack for p in tune.parameters if p.pack is not None), None)
        self._list = next((f for f in self._algorithm.key if isinstance(f.type, ListType)), None)

    def run(self) -> TuneHeader:
        name, target = identifier(self._algorithm.name), identifier(self._variants.target)
        listed = "_".join(map(str, self._variants.architectures))
        return TuneHeader(
            name=name,
            namespace=f"policygen::{target}::{name}",
            inline_namespace=f"archs_{listed}" if listed else "",
            guard=f"POLICYGEN_{target}_CUB_TUNING_{name}_CUH".upper(),
            includes=(self._cub.header, *self._tune.headers),
            definitions=tuple(self._definitions()),
            body=tuple(self._body()),
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        programs = [variant.program for variant in self._variants.variants]
        reference = programs[0].rules.instance.target.reference
        yield f"The CUB form: selectors for cuda::execution::tune, for the CUB of {reference}."
        if self._cub.policy.startswith("cub::detail::"):
            yield f"CUB takes {self._cub.policy} for this algorithm, a type that it keeps for itself: another release"
            yield "may have it otherwise."
        limited = {p.location for program in programs for p in program.points if p.num_items is not None}
        if limited:
            points = "1 point is" if len(limited) == 1 else f"{len(limited)} points are"
            yield f"{points} limited to a number of items, which CUB does not know when it selects: left out here."

    def _definitions(self) -> Iterator[SharedDefinition]:
        space = "policygen::support"
        key = self._algorithm.key
        elements = [f.type.element if isinstance(f.type, ListType) else f.type for f in key]
        known = dict.fromkeys(e for kind in elements if not isinstance(kind, RecordType) for e in _enumerations(kind))
        for enumeration in known:
            if enumeration.cub is not None:
                lines = enumerator_of_cub(enumeration)
                yield SharedDefinition(f"of_cub_{enumeration.name}", space, lines)
        for struct in dict.fromkeys(kind.struct for kind in elements if isinstance(kind, RecordType)):
            yield SharedDefinition(f"of_cub_{struct.name}", space, record_of_cub(struct))
        for enumeration in dict.fromkeys(_enumerations(RecordType(self._algorithm.policy))):
            yield SharedDefinition(f"to_cub_{enumeration.name}", space, enumerator_to_cub(enumeration))
        functions = support_functions(CUB)
        wanted = ["has_more", *(["classified"] if any("classified<" in text for _, text in self._tune.gives) else [])]
        for name in wanted:
            yield SharedDefinition(name, space, functions[name].lines)

    def _body(self) -> list[str]:
        found = ["namespace cub_form", "{", *self._key_function(), ""]
        found += policy_to_cub(self._algorithm.policy, self._cub.policy)
        for form in self._tune.forms:
            found += ["", *self._form_function(form)]
        found += ["} // namespace cub_form", "", *self._selector()]
        for form in self._tune.forms:
            found += ["", *self._form(form)]
        for call in self._tune.calls:
            found += ["", *self._call(call)]
        return found

    @property
    def _key(self) -> str:
        return "key" if self._list is None else f"key<static_cast<int>(sizeof...({self._pack}))>"

    def _key_function(self) -> list[str]:
        found = ["// The key, deduced from types as CUB deduces it.", *_template(self._taken_apart())]
        found += [f"POLICYGEN_FUNCTION constexpr {self._key} key_for()", "{"]
        for name, text in self._tune.aliases:
            found += wrapped(f"using {name} = {qualified(text)};", "  ", "      ")
        found.append(f"  {self._key} k{{}};")
        given = dict(self._tune.gives)
        expressions = CppExpressions({f.name: f"k.{identifier(f.name)}" for f in self._algorithm.key})
        for field in self._algorithm.key:
            place = f"k.{identifier(field.name)}"
            if field.name in given:
                found += self._given(field, place, qualified(given[field.name]))
            elif field.default is not None:
                default = field.default
                for let in reversed(self._algorithm.lets):
                    default = substitute(default, {let.name: let.expr})
                found += wrapped(f"{place} = {expressions.converted(default, field.type)};", "  ", "      ")
        return [*found, "  return k;", "}"]

    def _given(self, field: KeyField, place: str, text: str) -> list[str]:
        if isinstance(field.type, ListType):
            assignment = wrapped(f"{place} = decltype({place}){{{{{text}...}}}};", "    ", "        ")
            return [f"  if constexpr (sizeof...({self._pack}) > 0)", "  {", *assignment, "  }"]
        value = f"static_cast<int>({text})" if isinstance(field.type, IntType) else text
        return wrapped(f"{place} = {value};", "  ", "      ")

    def _taken_apart(self) -> list[TemplateParameter]:
        """The selector's parameters, with a pack in the place of a type that is taken apart; defaults are left out."""
        found = []
        for p in self._tune.parameters:
            pack = p.pack
            found.append(TemplateParameter(pack, "class...") if pack is not None else TemplateParameter(p.name, p.kind))
        # a function deduces nothing here, so a pack stands last
        return sorted(found, key=lambda p: p.is_pack)

    def _arguments(self) -> list[str]:
        """The selector's own arguments, as its definition sees them."""
        return [qualified(p.unpack) if p.unpack else p.name for p in self._tune.parameters]

    def _selector(self) -> list[str]:
        upstream = f"CUB_NS_QUALIFIER::{self._cub.namespace.removeprefix('cub::')}::{self._tune.upstream}"
        arguments = self._arguments()
        found = wrapped_comment(self._answers(), "", "// ")
        if self._pack is None:
            found += [*_template(self._tune.parameters), f"struct {SELECTOR}", "{"]
        else:
            taken = next(p for p in self._tune.parameters if p.unpack)
            found.append(f"// {taken.name} is a {taken.unpack.partition('<')[0]}.")
            found += [*_template(self._tune.parameters), f"struct {SELECTOR};", ""]
            parameters = [
                TemplateParameter(p.pack, "class...") if p.pack is not None else TemplateParameter(p.name, p.kind)
                for p in self._tune.parameters
            ]
            found += [*_template(parameters), *_listed(f"struct {SELECTOR}", arguments, ""), "{"]
        found += _operator_head(qualified(self._cub.policy))
        found += _listed(f"    using upstream = {upstream}", arguments, ";")
        passed = [f"{p.name}..." if p.is_pack else p.name for p in self._taken_apart()]
        found += _listed(f"    constexpr {self._key} k = cub_form::key_for", passed, "();")
        found += [f"    if constexpr ({self._is_valid()})", "    {", *self._answer(), "    }", "    else", "    {"]
        return [*found, "      return upstream{}(cc);", "    }", "  }", "};"]

    def _is_valid(self) -> str:
        if self._list is None or not isinstance(self._list.type, ListType):
            return "detail::is_valid(k)"
        return f"sizeof...({self._pack}) <= {self._list.type.max_length} && detail::is_valid(k)"

    def _answer(self) -> list[str]:
        family = self._variants.is_family
        own = self._variants.architectures[0] if family else self._variants.variants[0].program.rules.instance.cc
        found = [f"      if (cc.get() {'<' if family else '!='} {own})", "      {"]
        found += ["        return upstream{}(cc);", "      }"]
        found.append(f"      const policy p = select(k{', compute_capability{cc.get()}' if family else ''});")
        names = {f.name: f"p.{identifier(f.name)}" for f in self._algorithm.policy.fields}
        for case in self._tune.not_built:
            found += wrapped_comment(case.reason, "      ", "// ")
            found += [f"#if {case.where}", f"      if ({CppExpressions(names).text(case.policy)})", "      {"]
            found += ["        return upstream{}(cc);", "      }", "#endif"]
        return [*found, "      return cub_form::to_cub(p);"]

    def _answers(self) -> str:
        if self._variants.is_family:
            lowest = Version.COMPUTE_CAPABILITY.unpack(self._variants.architectures[0])
            elsewhere = f"CUB's own selector answers below capability {lowest}"
        else:
            own = Version.COMPUTE_CAPABILITY.unpack(self._variants.variants[0].program.rules.instance.cc)
            elsewhere = f"CUB's own selector answers for every capability but {own}"
        return (
            f"Selects on types, with the parameters of CUB's own {self._tune.upstream}. {elsewhere}, and for keys "
            f"outside the declared domains."
        )

    def _form_function(self, form: TuneForm) -> list[str]:
        return policy_to_form(
            self._algorithm.policy, f"as_{form.name}", self._cub.policy, form.policy, form.leaves, dict(form.spelled)
        )

    def _form(self, form: TuneForm) -> list[str]:
        names = [p.name for p in self._tune.parameters]
        found = [f"// The same as {form.policy}.", *_template(self._tune.parameters), f"struct {form.name}", "{"]
        found += [*_operator_head(qualified(form.policy)), *_listed(f"    using same = {SELECTOR}", names, ";")]
        return [*found, f"    return cub_form::as_{form.name}(same{{}}(cc));", "  }", "};"]

    def _call(self, call: TuneCall) -> list[str]:
        given = dict(call.arguments)
        arguments = []
        for parameter in self._tune.parameters:
            text = given.get(parameter.name, parameter.default)
            arguments.append(qualified(text))
        found = [*wrapped_comment(f"For {call.calls}.", "", "// "), *_template(call.parameters)]
        return [*found, *_listed(f"using {call.name} = {call.form}", arguments, ";")]


def _operator_head(result: str) -> list[str]:
    head = "[[nodiscard]] POLICYGEN_FUNCTION constexpr auto operator()(::cuda::compute_capability cc) const"
    return [f"  {head}", f"    -> {result}", "  {"]


def _template(parameters: Sequence[TemplateParameter]) -> list[str]:
    return _listed("template ", [_declared(p) for p in parameters], "") if parameters else []


def _listed(head: str, arguments: Sequence[str], end: str) -> list[str]:
    """A template's parameters or arguments: on one line, or one a line; none where there are none."""
    if not arguments:
        return [f"{head}{end}"]
    line = f"{head}<{', '.join(arguments)}>{end}"
    if len(line) <= WIDTH:
        return [line]
    pad = " " * (len(head) - len(head.lstrip()) + 4)
    lines = [f"{head}<", *(part for text in arguments for part in wrapped(f"{text},", pad, f"{pad}    "))]
    return [*lines[:-1], f"{lines[-1].removesuffix(',')}>{end}"]


def _declared(parameter: TemplateParameter) -> str:
    default = f" = {qualified(parameter.default)}" if parameter.default else ""
    return f"{qualified(parameter.kind)} {parameter.name}{default}"


def _enumerations(kind: object) -> Iterable[Enumeration]:
    if isinstance(kind, EnumType):
        yield kind.enumeration
    elif isinstance(kind, RecordType):
        struct: Struct = kind.struct
        for field in struct.fields:
            yield from _enumerations(field.type)
