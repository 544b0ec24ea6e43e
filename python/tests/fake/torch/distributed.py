"""Ranks, as `torch.distributed.run` says them in the environment."""

import os

_ranks = None


def init_process_group(_backend):
    global _ranks
    _ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def is_available():
    return True


def is_initialized():
    return _ranks is not None


def get_rank():
    return _ranks[0]


def get_world_size():
    return _ranks[1]
