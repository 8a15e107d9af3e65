// A thread of a child process. Ends the process when the node that started it has gone, even in the middle of a task.
import { workerData } from 'node:worker_threads';

const everyMs = 1_000;

setInterval(() => {
  if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL');
}, everyMs);
