"""Readers of the files of trackers: TensorBoard, Weights & Biases, SwanLab, trackio and MLflow."""
