"""prime-rl: its trainer's token exports, and from September 2026 its traces."""
