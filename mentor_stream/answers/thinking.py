"""Where a completion's thinking ends and its answer begins."""


def after_thinking(completion: str) -> str | None:
    """What stands behind the last `</think>`; None when the thinking is not closed: nothing is answered."""
    text = completion.rpartition("</think>")[2]
    return None if "<think>" in text else text
