"""Every task is done once, whatever the number of threads; errors come out; a forked process has threads of its own."""

import multiprocessing
import threading

import pytest

from privreg.kernels.threads import share_out


@pytest.mark.parametrize("jobs", [None, 1, 2, 5, -1])
@pytest.mark.parametrize("tasks", [0, 1, 2, 100])
def test_every_task_is_done_once(jobs, tasks):
    done, lock = [], threading.Lock()

    def work(queue):
        for task in queue:
            with lock:
                done.append(task)

    share_out(work, tasks, jobs)
    assert sorted(done) == list(range(tasks))


@pytest.mark.parametrize("jobs", [1, 3])
def test_an_error_in_any_thread_comes_out(jobs):
    def work(queue):
        for task in queue:
            if task == 17:
                raise KeyError(task)

    with pytest.raises(KeyError):
        share_out(work, 40, jobs)
    test_every_task_is_done_once(jobs, 40)  # and the threads are still there


def _in_a_child(pipe):
    done = []
    share_out(lambda queue: done.extend(queue), 50, 3)
    pipe.send(sorted(done))


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_after_a_fork():
    share_out(lambda queue: list(queue), 50, 3)
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_in_a_child, args=(there,))
    child.start()
    assert here.poll(60), "the child waits for threads that only its parent has"
    assert here.recv() == list(range(50))
    child.join()
