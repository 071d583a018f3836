"""`python -m narrator` is `narrate`."""

from narrator.cli import main

if __name__ == "__main__":
    main()
