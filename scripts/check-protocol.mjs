// Checks the model in docs/protocol: the rules must hold, and each broken variant must be found out.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const model = fileURLToPath(new URL('../docs/protocol/ownership.pml', import.meta.url));
const faults = ['LEAVES=0', 'VIEWS=3', 'COMMITS=1', 'EPOCHS=2'];
const moves = ['FIRST=3', 'FLUSHES=0', 'CUTS=0'];

const mustHold = [
  { what: 'a process killed, Redis away', definitions: [...faults, 'FLUSHES=0'] },
  { what: 'a process killed, Redis flushed', definitions: [...faults, 'CUTS=0'] },
  { what: 'a node joins, another leaves', definitions: [...moves, 'KILLS=0', 'VIEWS=4', 'COMMITS=1'] },
];
const mustHoldDeep = [
  { what: 'Redis away and flushed', definitions: [...faults, 'KILLS=0'] },
  { what: 'a process killed while nodes join and leave', definitions: [...moves, 'VIEWS=4', 'COMMITS=1'] },
  { what: 'two commits while nodes join and leave', definitions: [...moves, 'KILLS=0', 'VIEWS=4'] },
  { what: 'all faults at once', definitions: faults },
];
const handoff = [...moves, 'KILLS=0', 'VIEWS=3'];
const away = ['FLUSHES=0', 'KILLS=0', 'LEAVES=0', 'VIEWS=3', 'COMMITS=1'];
const flushed = ['CUTS=0', 'KILLS=0', 'LEAVES=0', 'VIEWS=3', 'COMMITS=1'];
const mustFail = [
  { what: 'NO_FENCE', definitions: handoff },
  { what: 'NO_LOCK', definitions: handoff },
  { what: 'ONE_STATEMENT', definitions: handoff },
  { what: 'IGNORE_BUSY', definitions: handoff },
  { what: 'LEASE_EARLY', definitions: away },
  { what: 'NO_QUORUM', definitions: away },
  { what: 'NO_PROMISE', definitions: away },
  { what: 'NO_NUMBER_CHECK', definitions: away },
  { what: 'NO_GENERATION', definitions: flushed },
  { what: 'VIEW_FROM_REDIS', definitions: flushed },
];

function need(program, ...args) {
  if (spawnSync(program, args, { stdio: 'ignore' }).error === undefined) return;
  process.stderr.write(`check-protocol: ${program} is missing (Debian, Ubuntu: apt-get install spin gcc)\n`);
  process.exit(2);
}

function run(folder, program, args) {
  const result = spawnSync(program, args, { cwd: folder, encoding: 'utf8', maxBuffer: 1 << 26 });
  if (result.status === 0) return result.stdout;
  throw new Error(`${program} failed: ${result.error?.message ?? result.stderr ?? ''}${result.stdout}`);
}

/** Every reachable state of the model under these definitions. */
function check(definitions) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-protocol-'));
  try {
    copyFileSync(model, join(folder, 'ownership.pml'));
    run(folder, 'spin', [...definitions.map((one) => `-D${one}`), '-a', 'ownership.pml']);
    run(folder, 'gcc', ['-w', '-O2', '-DSAFETY', '-DMEMLIM=12000', '-o', 'pan', 'pan.c']);
    const startedMs = performance.now();
    const output = run(folder, './pan', ['-m3000000', '-w24']);
    // A search that ran out of depth or memory has not seen every state; one that found something may stop.
    if (
      !/assertion violated/.test(output.split('Full statespace')[0] ?? '') &&
      /max search depth too small|out of memory|search incomplete|not completed/i.test(output)
    ) {
      throw new Error(`the search was cut short:\n${output}`);
    }
    return {
      errors: Number(/errors: (\d+)/.exec(output)?.[1] ?? Number.NaN),
      states: Number(/([\d.e+]+) states, stored/.exec(output)?.[1] ?? 0),
      violated: /assertion violated .*/.exec(output)?.[0],
      seconds: (performance.now() - startedMs) / 1000,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

need('spin', '-V');
need('gcc', '--version');
let failures = 0;
const deep = process.argv.includes('--deep') ? mustHoldDeep : [];
for (const { what, definitions } of [...mustHold, ...deep]) {
  const { errors, states, violated, seconds } = check(definitions);
  const verdict = errors === 0 ? 'holds' : `FAILS: ${violated ?? 'see above'}`;
  process.stdout.write(
    `${what}: ${verdict} (${states.toLocaleString('en')} states, ${seconds.toFixed(0)} s)\n`,
  );
  if (errors !== 0) failures += 1;
}
for (const { what, definitions } of mustFail) {
  const { errors, violated, seconds } = check([...definitions, what]);
  const verdict = errors > 0 ? `found out (${violated ?? 'an error'})` : 'NOT FOUND OUT';
  process.stdout.write(`${what}: ${verdict}, ${seconds.toFixed(0)} s\n`);
  if (!(errors > 0)) failures += 1;
}
process.exit(failures === 0 ? 0 : 1);
