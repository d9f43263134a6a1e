"""What can be set."""

from pathlib import Path

from pydantic import Field

from consumers.chat import Endpoint

SETTING = "mentor.guide"


class Config(Endpoint):
    """Options of the guide, the endpoint's among them."""

    name: str = Field("critique", min_length=1)
    """Identifies this mentor policy in the ids of its lessons: change it with the prompt or the model."""
    prompts: Path = Path(__file__).parent / "prompts"
    """Directory whose critique.md is used instead of those built in; those in its folders math and code are
    for such questions only."""
    attempt_characters: int = Field(4000, ge=100)
    """Longest attempt that the critic reads; more is cut out of the middle."""
    show_response: bool = True
    """Put the attempt before the question too, not the critique alone."""
    response_characters: int = Field(1500, ge=50)
    """Longest attempt put before a question; more is cut out of the middle. The leak guard searches no lesson
    of more than 4,000 characters, and what it cannot search is not given."""
    max_retry: int = Field(1, ge=0)
    """Fresh critiques after one that leaks, is too long or is none, before the question gets no lesson."""
