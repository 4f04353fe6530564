"""A bundled suite reduced to some of its cases, which takes a fraction of the time of the whole suite."""

import shutil

from tseval.suites import TEMPLATES


def cut_suite(name, cases, folder):
    """Copy the grammars of the chosen cases of a suite into a folder; return its path."""
    suite = shutil.copytree(TEMPLATES / name, folder / name)
    lines = (suite / "suite.yaml").read_text("utf-8").splitlines()
    for case in {path.stem for path in suite.glob("*.jinja")} - set(cases):
        lines.remove(f"  - {case}")
        (suite / f"{case}.jinja").unlink()
    (suite / "suite.yaml").write_text("\n".join(lines), "utf-8")
    return suite
