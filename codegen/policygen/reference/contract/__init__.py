"""What a reference kernel fulfils: cases in, problems, a log of tiles, and results that are judged."""
