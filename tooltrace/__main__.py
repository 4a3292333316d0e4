"""``python -m tooltrace``."""

from tooltrace.cli import main

if __name__ == "__main__":
    main()
