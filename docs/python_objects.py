"""The Python objects that pages refer to: a name that no object has is not looked for among all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sphinx.domains.python import PythonDomain

if TYPE_CHECKING:
    from sphinx.environment import BuildEnvironment


def endings(names: list[str]) -> set[str]:
    """Return every name, and what remains of it behind each of its dots."""
    return {".".join(parts[k:]) for name in names for parts in [name.split(".")] for k in range(len(parts))}


class PythonObjects(PythonDomain):
    """The domain of Sphinx, which finds the same objects.

    Most types in signatures are those of other packages. For each of them, Sphinx would compare the name with
    the names of all objects, which takes a sixth of the time of a build.
    """

    def __init__(self, env: BuildEnvironment) -> None:
        super().__init__(env)
        self._endings: set[str] = set()
        self._n_objects = 0

    def find_obj(self, env: BuildEnvironment, modname: str, classname: str, name: str, *options: Any) -> Any:
        """Return pairs of a name and its object."""
        if self._n_objects != len(self.objects):
            self._endings, self._n_objects = endings(list(self.objects)), len(self.objects)
        # Every object that Sphinx finds is called `name`, or its name ends in a dot and `name`.
        if name.removesuffix("()") not in self._endings:
            return []
        return super().find_obj(env, modname, classname, name, *options)
