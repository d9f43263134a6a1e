"""Released weights sent to the servers that sample, by a process of its own beside rank 0.

keeper.py starts it and starts it again; __main__.py is the process: desk.py hears asks and answers them, a
few at a time, files.py is a snapshot that is open for sending, shipment.py sends one to one server. The
process has its own communicators, so that none of it meets those of training, and reads what was released
anyway: training holds no copy of the weights for it. What is said to servers is mentor_stream/weights/.
"""

from trainer.sending.keeper import Keeper, beside

__all__ = ["Keeper", "beside"]
