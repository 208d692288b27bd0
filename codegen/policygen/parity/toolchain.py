"""Finds nvcc and CCCL, and compiles host programs with them."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from attrs import frozen

ENVIRONMENT_VARIABLE: Final = "POLICYGEN_CCCL"

INSTALL: Final = (
    f"run `pip install policygen[cuda]`, or name a CUDA toolkit or a CCCL checkout with --cccl DIR or "
    f"{ENVIRONMENT_VARIABLE}"
)

# One virtual architecture alone: the device pass of a program without kernels then skips ptxas. Which one does not
# matter to the host. Undefined arithmetic traps, so that no key gets an answer that C++ does not define.
FLAGS: Final = (
    "-std=c++17",
    "-O0",
    "-gencode=arch=compute_90,code=compute_90",
    "-Xcompiler=-fsanitize=signed-integer-overflow",
    "-Xcompiler=-fsanitize=integer-divide-by-zero",
    "-Xcompiler=-fsanitize-undefined-trap-on-error",
)


class ToolchainMissing(Exception):  # noqa: N818 - nothing failed; something is absent
    """nvcc, CCCL or a host compiler was not found; the message says what to install."""


class CompilationError(Exception):
    """nvcc rejected a host program; the message holds the beginning of what it said.

    Attributes:
        errors: pairs of a file's name and what nvcc says is wrong there, in order.
    """

    def __init__(self, message: str, said: str = "") -> None:
        super().__init__(message)
        self.errors = tuple(re.findall(r"^([^\s(][^(\n]*)\(\d+\): (?:catastrophic )?error: (.+)$", said, re.MULTILINE))


@frozen
class Toolchain:
    """A compiler and the CCCL that it compiles against.

    Attributes:
        nvcc: the compiler driver.
        includes: the folders of CCCL's headers, that of `cub/` first; a checkout of CCCL has three.
        library: the folder of the CUDA runtime, None where nvcc knows it.
        nvcc_version: major and minor, "13.0".
        cccl_version: major, minor and patch, "3.5.0".
    """

    nvcc: Path
    includes: tuple[Path, ...]
    library: Path | None
    nvcc_version: str
    cccl_version: str

    @property
    def include(self) -> Path:
        """The folder that holds `cub/`."""
        return self.includes[0]


@frozen
class _Place:
    """What one folder offers of a toolchain."""

    nvcc: Path | None
    includes: tuple[Path, ...]
    library: Path | None


def find_toolchain(cccl: Path | None = None, environ: Mapping[str, str] | None = None) -> Toolchain:
    """Finds a compiler and CCCL.

    The first that has it is taken: `cccl`, else the folder that POLICYGEN_CCCL names, else the CUDA packages of the
    running interpreter, else the toolkit of the nvcc on PATH. A folder that was named must have CCCL; it need not
    have nvcc, which is then looked for in the places after it.

    Args:
        cccl: a CUDA toolkit, a folder of CCCL's headers, or a checkout of CCCL.
        environ: the environment; that of the process by default.

    Raises:
        ToolchainMissing: something is missing.
    """
    env = os.environ if environ is None else environ
    named = cccl if cccl is not None else _named_by(env)
    places = list(_known_places(env))
    if named is not None:
        places.insert(0, _look_into(named))
        if not places[0].includes:
            raise ToolchainMissing(
                f"no CCCL in {named}: expected a CUDA toolkit, CCCL's include folder or a CCCL checkout, with "
                f"cub/version.cuh below"
            )
    headers = next((place for place in places if place.includes), None)
    compiler = next((place for place in places if place.nvcc), None)
    if compiler is None or compiler.nvcc is None:
        raise ToolchainMissing(f"nvcc was not found: {INSTALL}")
    if headers is None:
        raise ToolchainMissing(f"CCCL's headers were not found beside {compiler.nvcc}: {INSTALL}")
    if not env.get("NVCC_CCBIN") and shutil.which("g++", path=env.get("PATH")) is None:
        raise ToolchainMissing("nvcc needs a host compiler and g++ is not on PATH: install g++ or set NVCC_CCBIN")
    return Toolchain(
        nvcc=compiler.nvcc,
        includes=headers.includes,
        library=compiler.library,
        nvcc_version=_nvcc_version(compiler.nvcc),
        cccl_version=_cccl_version(headers.includes),
    )


def compile_program(source: str, toolchain: Toolchain, cache: Path) -> Path:
    """Compiles a host program, or returns the one compiled before from the same text, compiler and headers.

    Args:
        source: the text of a .cu file with a `main`.
        toolchain: what to compile with.
        cache: the folder that keeps compiled programs; created if needed, safe to share between processes.

    Returns:
        The program's path, inside `cache`.

    Raises:
        CompilationError: nvcc did not accept the program.
    """
    program = cache / f"host-program-{_digest(source, toolchain)}"
    if program.is_file():
        return program
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        text = Path(folder, "host_program.cu")
        text.write_text(source, encoding="utf-8")
        built = Path(folder, "host_program")
        command = [str(toolchain.nvcc), *FLAGS]
        command += [f"-I{include}" for include in toolchain.includes]
        command += [f"-L{toolchain.library}"] if toolchain.library else []
        result = subprocess.run(
            [*command, str(text), "-o", str(built)], capture_output=True, text=True, errors="replace", check=False
        )
        if result.returncode != 0:
            said = result.stderr + result.stdout
            first = said.strip().splitlines()[:20]
            raise CompilationError(
                f"nvcc {toolchain.nvcc_version} does not compile the host program against CCCL "
                f"{toolchain.cccl_version} in {toolchain.include}:\n" + "\n".join(first),
                said,
            )
        built.replace(program)
    return program


def _named_by(environ: Mapping[str, str]) -> Path | None:
    folder = environ.get(ENVIRONMENT_VARIABLE)
    return Path(folder) if folder else None


def _known_places(environ: Mapping[str, str]) -> Iterator[_Place]:
    yield from (_look_into(folder) for folder in _installed_packages())
    on_path = shutil.which("nvcc", path=environ.get("PATH"))
    if on_path is not None:
        yield _look_into(_toolkit_of(Path(on_path)))


def _toolkit_of(nvcc: Path) -> Path:
    """The toolkit's folder, also where the nvcc on PATH is a script that calls another one."""
    said = _say(nvcc, "--dryrun", "-E", "-x", "cu", os.devnull)
    top = re.search(r"^#\$ TOP=(.+)$", said, re.MULTILINE)
    return Path(top[1]).resolve() if top else nvcc.resolve().parent.parent


def _installed_packages() -> Sequence[Path]:
    """The folders of NVIDIA's CUDA packages in the running interpreter, newest CUDA first."""
    spec = importlib.util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or ()) if spec is not None else []
    folders = [folder for root in roots for folder in Path(root).glob("cu[0-9]*") if folder.name[2:].isdecimal()]
    return sorted(folders, key=lambda folder: -int(folder.name[2:]))


def _look_into(folder: Path) -> _Place:
    nvcc = folder / "bin" / "nvcc"
    libraries = (folder / name for name in ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"))
    return _Place(
        nvcc=nvcc if os.access(nvcc, os.X_OK) else None,
        includes=_includes(folder),
        library=next((path for path in libraries if (path / "libcudart_static.a").is_file()), None),
    )


def _includes(folder: Path) -> tuple[Path, ...]:
    if (folder / "cub" / "cub" / "version.cuh").is_file():
        return folder / "cub", folder / "libcudacxx" / "include", folder / "thrust"
    candidates = (folder / "include" / "cccl", folder / "include", folder)
    return next(((path,) for path in candidates if (path / "cub" / "version.cuh").is_file()), ())


def _say(nvcc: Path, *arguments: str) -> str:
    try:
        result = subprocess.run([str(nvcc), *arguments], capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise ToolchainMissing(f"{nvcc} does not run ({error.strerror}): {INSTALL}") from None
    return result.stdout + result.stderr


def _nvcc_version(nvcc: Path) -> str:
    found = re.search(r"release (\d+\.\d+)", _say(nvcc, "--version"))
    if found is None:
        raise ToolchainMissing(f"{nvcc} --version does not name a release: {INSTALL}")
    return found[1]


def _cccl_version(includes: Sequence[Path]) -> str:
    # MMMmmmppp; cub/version.cuh alone has MMMmmmpp.
    for name, macro, patches in (
        ("cuda/std/__cccl/version.h", "CCCL_VERSION", 1000),
        ("cub/version.cuh", "CUB_VERSION", 100),
    ):
        for header in (include / name for include in includes):
            if header.is_file():
                text = header.read_text(encoding="utf-8", errors="replace")
                found = re.search(rf"^#\s*define\s+{macro}\s+(\d+)", text, re.MULTILINE)
                if found is not None:
                    minors, patch = divmod(int(found[1]), patches)
                    return f"{minors // 1000}.{minors % 1000}.{patch}"
    raise ToolchainMissing(f"{includes[0] / 'cub' / 'version.cuh'} does not define CUB_VERSION: {INSTALL}")


def _digest(source: str, toolchain: Toolchain) -> str:
    """Digests all that a program is made from."""
    digest = hashlib.sha256()
    for part in (source, *FLAGS, fingerprint(toolchain)):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:24]


def fingerprint(toolchain: Toolchain) -> str:
    """Identifies compiler and headers; the headers by content, as a checkout changes under one version."""
    digest = hashlib.sha256()
    for part in (toolchain.nvcc_version, toolchain.cccl_version, *map(str, toolchain.includes)):
        digest.update(part.encode() + b"\0")
    for header in sorted((toolchain.include / "cub").rglob("*.cuh")):
        digest.update(header.read_bytes())
    return digest.hexdigest()[:24]
