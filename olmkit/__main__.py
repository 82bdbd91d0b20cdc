"""`python -m olmkit`."""

from olmkit.cli.start import main

if __name__ == "__main__":
    main()
