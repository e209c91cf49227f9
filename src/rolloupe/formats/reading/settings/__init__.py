"""What a run was trained with: YAML as plain data, and the loss that a configuration describes."""
