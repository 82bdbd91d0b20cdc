"""`python -m olmkit`."""

from olmkit.cli.main import main

if __name__ == "__main__":
    main()
