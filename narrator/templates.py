"""The templates of a style: its own, and the shared ones for all that it has not.

They are given `style`, `words`, `key`, `context` and `target`; `lookups.md.j2` is given `bounds` as well, and those of
a repair are given `style`, `key`, `items`, `evidence` and `hidden`; `redo.user.md.j2` is given `style`, `key`, `essay`,
`evidence`, `number`, `level`, `section` and `asked`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from narrator.assets import asset_folder
from narrator.errors import StyleError, reason
from narrator.outline import in_words
from narrator.sanitize import one_line
from narrator.style import Style

if TYPE_CHECKING:
    import jinja2


class _Frame(NamedTuple):
    """Where in a template something was being done."""

    file: Path
    line: int


class Templates:
    """Renders templates of one style; a file of its folder comes before a shared one."""

    def __init__(self, style: Style) -> None:
        """Take the templates of `style`."""
        self._folder = style.folder
        self._shared = asset_folder("prompts") / "_shared"
        self._environment = _open(self._folder, self._shared)

    def render(self, name: str, facts: Mapping[str, Any]) -> str:
        """A template filled in, without blank lines round it.

        Raises:
            StyleError: it is missing or wrong; names the file and line.
        """
        import jinja2

        try:
            return self._environment.get_template(name).render(facts).strip() + "\n"
        except jinja2.TemplateSyntaxError as error:
            raise StyleError(f"{error.filename or name}, line {error.lineno}: {error.message}") from error
        except jinja2.TemplateNotFound as error:
            raise StyleError(f"{self._place(error, name)}: there is no template {error.name}") from error
        except (jinja2.TemplateError, TypeError, ValueError, LookupError, ArithmeticError, RecursionError) as error:
            raise StyleError(f"{self._place(error, name)}: {one_line(str(error), 200)}") from error

    def _place(self, error: BaseException, name: str) -> str:
        """File and line of the template that raised `error`: the innermost of the style's own, else of all."""
        frames = list(_frames(error))
        own = [frame for frame in frames if frame.file.parent == self._folder]
        return next((f"{frame.file}, line {frame.line}" for frame in reversed(own or frames)), name)

    def check(self) -> None:
        """Look at all templates of the style's own folder, whether or not the next prompt needs them.

        Raises:
            StyleError: one is no text or no template, or none uses it; names the file and line.
        """
        own = {path.name: path for path in sorted(self._folder.glob("*.j2"))}
        shared = {path.name for path in self._shared.glob("*.j2")}
        used = shared.union(*(self._uses(name, path) for name, path in own.items()))
        for name in sorted(shared):
            if (path := self._folder / name.removesuffix(".j2")).is_file():
                raise StyleError(f"{path}, line 1: a template is called {name}")
        for name, path in own.items():
            if name not in used and None not in used:
                says = f"no template uses {name}; those that it could replace are {', '.join(sorted(shared))}"
                raise StyleError(f"{path}, line 1: {says}")

    def _uses(self, name: str, path: Path) -> frozenset[str | None]:
        return _referenced(self._environment, name, path, _read(path))


@lru_cache(maxsize=16)
def _open(folder: Path, shared: Path) -> jinja2.Environment:
    """What renders the templates of two folders, the first before the second.

    Kept for the next prompt: to make code of the templates takes ten times as long as to fill them in. A file that was
    changed meanwhile is read again.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, shared]),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701  # a prompt is text for a model, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["in_words"] = in_words
    return environment


@lru_cache(maxsize=256)
def _referenced(environment: jinja2.Environment, name: str, path: Path, text: str) -> frozenset[str | None]:
    """The templates that a text includes, imports or extends; None stands for one whose name it works out."""
    import jinja2
    from jinja2 import meta

    try:
        parsed = environment.parse(text, name, str(path))
        # Some mistakes, as a filter that is none, show only when code is made of it.
        environment.compile(text, name, str(path))
    except jinja2.TemplateSyntaxError as error:
        raise StyleError(f"{path}, line {error.lineno}: {error.message}") from error
    return frozenset(meta.find_referenced_templates(parsed))


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise StyleError(f"{path}: {reason(error)}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise StyleError(f"{path}, line {line}: no UTF-8 text") from error


def _frames(error: BaseException) -> Iterator[_Frame]:
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.endswith(".j2"):
            yield _Frame(Path(file), trace.tb_lineno)
        trace = trace.tb_next
