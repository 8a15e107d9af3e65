// A thread of a child process. It kills the process when the node that started it has gone, even during a task.
import { workerData } from 'node:worker_threads';

const everyMs = 1_000;

setInterval(() => {
  if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL');
}, everyMs);
