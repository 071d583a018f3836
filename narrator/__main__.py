"""`narrate`, and `python -m narrator`."""

import os


def start() -> None:
    """Run the command line; an interrupt while it is still being loaded ends it like any other."""
    try:
        from narrator.cli import main

        main()
    except KeyboardInterrupt:
        os.write(2, b"narrate: interrupted; what was saved before is kept\n")
        raise SystemExit(130) from None


if __name__ == "__main__":
    start()
