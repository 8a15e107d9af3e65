// Runs in a separate process that may be killed at any time. It gets no environment, so it has no secrets.
import { writeFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { Order, Report, TaskModule } from './protocol.js';

const reasonCharsMax = 200;
const modules = new Map<string, TaskModule>();

makeFirstToGo();
guardAgainstOrphanhood();
process.on('disconnect', () => process.exit(0));
process.on('message', (order: Order) => {
  if (order.kind === 'load') void load(order.module);
  else send(reportOf(order));
});

/** A module that cannot be loaded is a build defect: the rejection ends this process, and the node reports it. */
async function load(module: string): Promise<void> {
  modules.set(module, (await import(module)) as TaskModule);
  send({ kind: 'loaded', module });
}

function reportOf({ module, input }: Extract<Order, { kind: 'run' }>): Report {
  const before = process.cpuUsage();
  try {
    const task = modules.get(module);
    if (task === undefined) throw new TypeError(`the module ${module} was not loaded`);
    const output = task.run(input as never);
    return { kind: 'done', output, cpuMs: cpuMsSince(before) };
  } catch (error) {
    // A RangeError means a stack overflow or a text above the maximum length: the input is too deep or too long.
    const failure = error instanceof RangeError ? 'too-large' : 'failed';
    const reason = error instanceof Error ? error.message.slice(0, reasonCharsMax) : '';
    return { kind: 'failed', failure, reason, cpuMs: cpuMsSince(before) };
  }
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function send(report: Report): void {
  process.send?.(report);
}

/**
 * When memory runs out, the kernel ends this process before the node. A crash writes no core file: it would contain
 * documents of tenants, and a tenant that crashes one process after another would fill the disk.
 */
function makeFirstToGo(): void {
  if (process.platform !== 'linux') return;
  for (const [file, value] of [
    ['/proc/self/oom_score_adj', '1000'],
    ['/proc/self/coredump_filter', '0'],
  ] as const) {
    try {
      writeFileSync(file, value);
    } catch {
      // Containers may forbid it. The limits that the node enforces do not depend on it.
    }
  }
}

/** A busy process does not notice that the node has gone, so a separate thread checks. */
function guardAgainstOrphanhood(): void {
  new Worker(new URL('./orphan-guard.worker.js', import.meta.url), {
    workerData: process.ppid,
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 },
  }).unref();
}
