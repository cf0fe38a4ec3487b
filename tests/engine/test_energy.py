"""Energy: counted where a device counts it, added up from power where not, and never claimed where nobody looked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cache.store import Store
from engine.energy import USED, Nvml, Rapl, Reading, Watch, energy_key, with_load
from engine.settings import Grid
from tui.run_evidence import cost, fold


class NvmlError(Exception):
    """What the fake driver raises."""


class Clock:
    """Time that only a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Driver:
    """A fake of the module pynvml with one GPU; `counts` says whether it has an energy counter."""

    NVMLError = NvmlError

    def __init__(self, *, counts: bool = True) -> None:
        self.counts = counts
        self.joules, self.watts, self.used = 5000.0, 100.0, 1 << 30

    def nvmlInit(self) -> None: ...

    def nvmlSystemGetDriverVersion(self) -> bytes:
        return b"570.1"

    def nvmlDeviceGetCount(self) -> int:
        return 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetName(self, handle: int) -> str:
        return "Fake H200"

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        return SimpleNamespace(used=self.used)

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: int) -> int:
        if not self.counts:
            raise NvmlError("Not Supported")
        return round(self.joules * 1000)

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:
        return round(self.watts * 1000)


def test_the_counter_is_read_and_memory_is_the_most_seen() -> None:
    """Joules are the counter's difference; used memory is the highest of all looks, and the driver is named."""
    driver, clock = Driver(), Clock()
    watch = Watch([Nvml(driver)], clock)
    driver.used, clock.now = 3 << 30, 110.0
    watch.tick()
    driver.joules, driver.used, clock.now = 5750.0, 2 << 30, 120.0
    (taken,) = watch.stop()
    assert (taken.joules, taken.seconds, taken.memory) == (750.0, 20.0, 3 << 30)
    assert (taken.device, taken.how) == ("GPU 0 Fake H200, driver 570.1", "NVML counter")


def test_power_is_added_up_where_there_is_no_counter() -> None:
    """Between two looks the mean of their watts counts: 100 W rising to 300 W in 4 s, then 300 W for 1 s."""
    driver, clock = Driver(counts=False), Clock()
    watch = Watch([Nvml(driver)], clock)
    driver.used, driver.watts, clock.now = 2 << 30, 300.0, 104.0
    watch.tick()
    clock.now = 105.0
    (taken,) = watch.stop()
    assert (taken.joules, taken.how) == (800.0 + 300.0, "NVML power")


def test_a_gpu_that_the_model_is_not_on_is_left_out() -> None:
    """A model on the CPU leaves a GPU's memory as it was: its energy is not the run's."""
    driver, clock = Driver(), Clock()
    watch = Watch([Nvml(driver)], clock)
    driver.joules, driver.used, clock.now = 9000.0, (1 << 30) + USED - 1, 160.0
    assert watch.stop() == []


def test_readings_are_not_taken_at_every_step() -> None:
    """Between two looks at least half a second passes, however often the engine ticks."""
    looks = 0

    class Counting:
        def read(self) -> Sequence[Reading]:
            nonlocal looks
            looks += 1
            return [Reading("CPU", "x", 1.0)]

    clock = Clock()
    watch = Watch([Counting()], clock)
    for _ in range(1000):
        clock.now += 0.01
        watch.tick()
    assert looks <= 1 + 10 / 0.5


def test_a_device_that_falls_silent_keeps_what_it_had() -> None:
    """When a driver stops answering, what was read before stands, and nothing is raised."""
    driver, clock = Driver(), Clock()
    watch = Watch([Nvml(driver)], clock)
    driver.joules, driver.used, clock.now = 5600.0, 2 << 30, 101.0
    watch.tick()

    def gone(handle: int) -> Any:
        raise NvmlError("GPU is lost")

    driver.nvmlDeviceGetMemoryInfo = gone  # type: ignore[method-assign]
    clock.now = 109.0
    (taken,) = watch.stop()
    assert taken.joules == 600.0


def test_a_device_that_answers_late_is_left_out_and_spoils_no_other() -> None:
    """What was silent at the beginning has no joules to count from; the others' are counted once, not at every look."""
    driver, clock = Driver(), Clock()

    class Late:
        def read(self) -> Sequence[Reading]:
            return [] if clock.now == 100.0 else [Reading("GPU 1", "NVML counter", 7000.0, 0.0, 5 << 30)]

    watch = Watch([Nvml(driver), Late()], clock)
    for second in range(1, 5):
        driver.joules, driver.used, clock.now = 5000.0 + 100 * second, 3 << 30, 100.0 + second
        watch.tick()
    (taken,) = watch.stop()
    assert (taken.device, taken.joules) == ("GPU 0 Fake H200, driver 570.1", 400.0)


def test_cpu_packages_are_counted_round_the_clock(tmp_path: Path) -> None:
    """RAPL's counter starts again at zero when it is full; parts of a package are not counted twice."""
    package = tmp_path / "intel-rapl:0"
    for folder in (package, tmp_path / "intel-rapl:0:0"):
        folder.mkdir()
        (folder / "name").write_text("package-0\n")
        (folder / "max_energy_range_uj").write_text("1000000000\n")
        (folder / "energy_uj").write_text("999000000\n")
    clock = Clock()
    watch = Watch([Rapl(tmp_path)], clock)
    (package / "energy_uj").write_text("4000000\n")
    clock.now += 2
    (taken,) = watch.stop()
    assert (taken.device, taken.joules, taken.memory) == ("CPU package-0", 5.0, 0)


def test_counters_that_cannot_be_read_are_not_there(tmp_path: Path) -> None:
    """Without a readable counter there is no reading."""
    (tmp_path / "intel-rapl:0").mkdir()
    assert Rapl(tmp_path).read() == []


def test_loads_and_lives_of_a_run_add_up() -> None:
    """The sentence sums a device over all loadings, and says by what it was measured."""
    driver, clock = Driver(), Clock()
    body: dict[str, Any] | None = None
    for precision in ("f16", "q8_0"):
        watch = Watch([Nvml(driver)], clock)
        driver.joules, driver.used, clock.now = driver.joules + 18_250, driver.used + (1 << 30), clock.now + 100
        body = with_load(body, "m", precision, watch.stop())
    assert body is not None
    assert [load["precision"] for load in body["loads"]] == ["f16", "q8_0"]
    assert body["text"] == (
        "36.5 kJ by GPU 0 Fake H200, driver 570.1 "
        "(NVML counter, whole device, 200 s with a model loaded, at most 3.0 GiB in use)"
    )


def test_a_run_keeps_what_its_loads_took(store: Store, fakes: Any) -> None:
    """One entry for each loading of weights, which the report's cost shows."""
    driver = Driver()
    life = fakes.Life(store, Grid(benchmark=("fake-python",), precision=("f16", "q8_0")))

    class OnGpu(fakes.Model):  # type: ignore[misc]
        def generate(self, *arguments: Any) -> Any:
            driver.used, driver.joules = driver.used + USED, driver.joules + 40.0
            return super().generate(*arguments)

    life.kind = OnGpu
    life.parts = {"meters": lambda: [Nvml(driver)]}
    life.go()
    body = store.fact(energy_key(life.run))
    assert body is not None
    assert [(load["precision"], load["devices"][0]["joules"]) for load in body["loads"]] == [("f16", 40), ("q8_0", 40)]
    assert cost(store, life.run, fold(store, life.run)).energy.startswith("80 J by GPU 0 Fake H200")


@pytest.mark.parametrize("meters", [[], [Nvml(Driver())]])
def test_nothing_is_claimed_where_nothing_was_measured(store: Store, fakes: Any, meters: list[Any]) -> None:
    """Without a counter, or with a GPU that the model never touched, the run has no energy at all."""
    life = fakes.Life(store, Grid(benchmark=("fake-python",)))
    life.parts = {"meters": lambda: meters}
    life.go()
    assert store.fact(energy_key(life.run)) is None
    assert cost(store, life.run, fold(store, life.run)).energy == ""
