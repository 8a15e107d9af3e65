// A task for tests: follows its input for the given time, in a child process.
export interface HangInput {
  readonly [name: string]: string | number;
  readonly act: 'answer' | 'spin' | 'burn' | 'crash' | 'exit' | 'throw' | 'fill' | 'tell';
  readonly ms: number;
}

export function run({ act, ms }: HangInput): string {
  switch (act) {
    case 'crash':
      process.abort();
      break;
    case 'exit':
      process.exit(0);
      break;
    case 'throw':
      throw new Error('it does not want to');
    case 'fill':
      return `${Buffer.alloc(ms * 1_000_000, 1).length}${spin(15_000)}`;
    case 'tell':
      return JSON.stringify({ environment: process.env, arguments: process.execArgv });
    case 'spin':
      return spin(ms);
    case 'burn':
      return burn(ms);
    case 'answer':
      return 'done';
  }
  return 'unreachable';
}

/** Uses so much time of a processor, however long it takes to get it. */
function burn(ms: number): string {
  const before = process.cpuUsage();
  while (process.cpuUsage(before).user < ms * 1_000);
  return 'burnt';
}

function spin(ms: number): string {
  const end = performance.now() + ms;
  while (performance.now() < end);
  return 'spun';
}
