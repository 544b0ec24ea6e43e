"""A process that is copied: a pipeline that runs is refused in the copy at once, one that does not run
runs there. All of it in processes of their own, which are ended if they hang."""

from conftest import NUMBERS, run

PRELUDE = f"""
import faulthandler, gc, os, sys, time, pipec
faulthandler.dump_traceback_later(20, exit=True)
TEXT = {NUMBERS!r}

def child(work):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            work()
            sys.stdout.flush()
            os._exit(0)
        except BaseException as error:
            print(f"{{type(error).__name__}}: {{error}}", flush=True)
            os._exit(1)
    return os.waitpid(pid, 0)[1]
"""


def forked(program):
    import textwrap

    return run(PRELUDE + textwrap.dedent(program))


def test_used_after_a_fork_it_is_refused_at_once():
    # Pain 10.
    told = forked("""
        pipe = pipec.load(TEXT, workers=2)
        batches = iter(pipe)
        next(batches)
        for work in [lambda: next(batches), lambda: iter(pipe), pipe.state_dict, pipe.stats, lambda: len(pipe),
                     lambda: pipe.load_state_dict({}), lambda: pipe.set_epoch(1), pipe.close]:
            assert child(work) != 0
        # Here nothing has changed.
        print(1 + len(list(batches)))
    """)
    lines = told.splitlines()
    assert len(lines) == 9 and lines[-1] == "100"
    assert all(it.startswith("ForkError: PC0701 used-after-fork: ") and "num_workers=0" in it for it in lines[:8])


def test_one_that_has_not_begun_runs_in_the_copy():
    told = forked("""
        pipe = pipec.load(TEXT, seed=7, workers=2)
        len(pipe), pipe.state_dict()
        assert child(lambda: print(sum(1 for _ in pipe), pipe.epoch)) == 0
        print(sum(1 for _ in pipe))
    """)
    assert told.split() == ["100", "1", "100"]


def test_the_copy_ends_though_it_holds_batches_and_pipelines():
    # Dropping what is shared with threads that were not copied must neither hang nor crash.
    forked("""
        pipe = pipec.load(TEXT, workers=2)
        batches = iter(pipe)
        held = [next(batches) for _ in range(5)]
        arrays = [memoryview(it["x"]) for it in held]

        def drop():
            global pipe, batches, held, arrays
            assert arrays[0][0] >= 0
            del pipe, batches, held, arrays
            gc.collect()
            assert len(list(pipec.load(TEXT))) == 100

        for _ in range(20):
            assert child(drop) == 0
    """)


def test_forked_while_another_thread_waits():
    told = forked("""
        import threading
        slow = pipec.load("pipeline p = range(100_000_000) |> where hash(text_of(i)) == 1 |> batch(1)")
        threading.Thread(target=lambda: next(iter(slow)), daemon=True).start()
        time.sleep(0.3)
        assert child(lambda: next(iter(slow))) != 0
        os._exit(0)
    """)
    assert "PC0701" in told
