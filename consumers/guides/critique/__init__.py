"""A critique of one failed attempt, put before the question with it: guide `kind = "critique"`.

After Critique-GRPO. Read guide.py first; critic.py asks the language model, lesson.py words the lesson.
"""

from collections.abc import Iterable

from consumers.guides.critique.config import SETTING, Config
from consumers.guides.critique.critic import Critic, load
from consumers.guides.critique.guide import Critique
from mentor_stream.config import ConfigError

__all__ = ["Config", "build", "check"]


def build(config: Config) -> Critique:
    """The guide. Raises ConfigError for a prompt that cannot be used."""
    shown = config.response_characters if config.show_response else 0
    return Critique(config.name, Critic(config), max_retry=config.max_retry, characters=shown)


def check(config: Config) -> Iterable[str]:
    """Problems that show before the first request: a key that is not set, a prompt that cannot be used."""
    yield from config.problems(SETTING)
    try:
        load(config.prompts)
    except ConfigError as error:
        yield str(error)
