"""Reading files that people may edit: what a JSON or YAML file must hold, and which field of it is wrong."""

from __future__ import annotations

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
