"""How many threads the numerical libraries of each process may use."""

from collections.abc import Mapping

VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def thread_settings(cores: int, processes: int, environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that share `cores` among `processes` busy ones; what the user has set stays.

    Left alone every process takes all cores, and two that do are several times slower than one.
    """
    if any(variable in environment for variable in VARIABLES):
        return {}
    return dict.fromkeys(VARIABLES, str(max(1, cores // max(1, processes))))
