"""What experiment trackers keep on disk: TensorBoard, Weights & Biases, SwanLab, trackio and MLflow."""
