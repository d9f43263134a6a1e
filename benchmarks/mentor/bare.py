"""The openai client alone: so many requests at a time, each with a prompt of so many bytes, for ever.

python -m benchmarks.mentor.bare URL REQUESTS BYTES
"""

import sys

import anyio
from openai import AsyncOpenAI


async def main(url: str, requests: int, size: int) -> None:
    """As many loops as requests at a time."""
    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    user = "What did the student do wrong here? " * (size // 36)

    async def ask() -> None:
        while True:
            reply = await client.chat.completions.create(
                model="scripted",
                messages=[
                    {"role": "system", "content": "You are a teacher."},
                    {"role": "user", "content": user},
                ],
                temperature=0.7,
                max_tokens=2048,
            )
            assert reply.choices[0].message.content

    async with anyio.create_task_group() as tasks:
        for _ in range(requests):
            tasks.start_soon(ask)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), backend="trio")
