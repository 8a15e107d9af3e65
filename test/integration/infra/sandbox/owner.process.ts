// A node that is killed in a test: has one child process, idle or in the middle of a task, and tells its number.
import { systemTime } from '../../../../cluster/index.js';
import { createSandbox, type SandboxTask } from '../../../../src/infra/sandbox/index.js';
import type { HangInput } from './hang.task.js';

const task: SandboxTask<HangInput, string> = {
  module: new URL('./hang.task.js', import.meta.url),
  timeoutMs: 100_000,
};
const sandbox = createSandbox({
  time: systemTime,
  processes: 1,
  cpuMsPerMinute: 60_000,
  report: (attempted, error) => {
    throw new Error(attempted, { cause: error });
  },
});

await sandbox.run('a', task, (): HangInput => ({ act: 'answer', ms: 0 }));
if (process.argv[2] === 'busy') void sandbox.run('a', task, (): HangInput => ({ act: 'spin', ms: 90_000 }));
// Otherwise the process would end.
setInterval(() => {}, 60_000);
process.send?.(sandbox.pids[0]);
