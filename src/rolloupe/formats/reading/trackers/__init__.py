"""What experiment trackers keep on disk: TensorBoard, Weights & Biases, SwanLab and trackio."""
