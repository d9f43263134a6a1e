"""What puts work on the stream: the feeder, the rollout workers and the evaluator, with their engines,
rewards and datasets."""
