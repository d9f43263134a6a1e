"""The examples train as they say: their tasks, rewards, files and configs."""
