"""Reading files that people may edit: what a JSON or YAML file must hold, and which field of it is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
else:
    Json = object  # a type that holds itself cannot be checked against; what JSON gives is nothing else
