"""What arrived since the last step, in the terms a reader of the curves asks for."""

from dataclasses import dataclass

from schemas import Group, Origin
from trainer.intake.batches import rewards


@dataclass
class Tally:
    """Sums over arrivals; a rate with nothing behind it is left out."""

    plain: int = 0
    collapsed: int = 0
    guided: int = 0
    rescued: int = 0
    scored: int = 0
    """Plain groups with at least one reward."""
    guided_scored: int = 0
    reward_sum: float = 0.0
    guided_reward_sum: float = 0.0

    def add(self, group: Group, *, collapsed: bool) -> None:
        """Count one group that arrived for the first time."""
        judged = rewards(group)
        mean = sum(judged) / len(judged) if judged else 0.0
        if group.query.origin is Origin.GUIDED:
            self.guided += 1
            self.rescued += not collapsed
            self.guided_scored += bool(judged)
            self.guided_reward_sum += mean
        else:
            self.plain += 1
            self.collapsed += collapsed
            self.scored += bool(judged)
            self.reward_sum += mean

    def values(self) -> dict[str, float]:
        """Mean rewards and rates, by metric name."""
        rates = {
            "reward": (self.reward_sum, self.scored),
            "guided_reward": (self.guided_reward_sum, self.guided_scored),
            "zero_reward_fraction": (self.collapsed, self.plain),
            "rescue_rate": (self.rescued, self.guided),
        }
        return {name: total / count for name, (total, count) in rates.items() if count}
