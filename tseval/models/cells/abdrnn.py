"""The Ab-DRNN: the Decay RNN without recurrent weights."""

from __future__ import annotations

from tseval.models.cells.decay import DecayCell


class AblatedDecayRNN(DecayCell):
    """Decay RNN whose only memory is the decay: units do not see each other.

    h_t = f(α h_{t-1} + (1 - α) (U x_t + b))

    Source: Bhatt et al. 2020, section 4. See `DecayCell` for α.
    """

    def recurrent_weight(self) -> None:
        """There is none."""
        return
