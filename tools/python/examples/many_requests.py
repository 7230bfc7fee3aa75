"""Translates many requests at a time with asyncio; their lines share batches: many_requests.py MODEL TEXT..."""

import asyncio
import sys

import clformer


async def main() -> None:
    with clformer.Translator(sys.argv[1]) as translator:
        found = await asyncio.gather(*(translator.translate_async(text) for text in sys.argv[2:]))
    print("\n".join(found))


asyncio.run(main())
