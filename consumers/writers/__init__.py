"""A run's metrics for TensorBoard or Weights & Biases, read from the topic `metrics` and written once.

points.py decides what of a record is written, and where; progress.py keeps how far that is; base.py is what a
writer promises, tensorboard.py and weights_and_biases.py are two; tool.py is `mentor-stream metrics export`.
"""
