"""`python -m rolloupe`: the command line."""

from rolloupe.cli import main

if __name__ == "__main__":
    main(prog_name="rolloupe")
