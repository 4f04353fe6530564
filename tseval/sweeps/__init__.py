"""Sweeps: score many models on many suites, with workers that may be killed and started again.

A plan names units; each unit makes one run directory. The record and the lock of a unit are files
(`units`). A worker is a program that scores units until none is left (`worker`). An engine starts workers
and waits for them (`engines`). A run from a sweep is the same as a run from `tseval run`.
"""

from tseval.sweeps.run import STATE, SweepResult, UnitState, Watcher, Workforce, states_of, sweep

__all__ = ["STATE", "SweepResult", "UnitState", "Watcher", "Workforce", "states_of", "sweep"]
