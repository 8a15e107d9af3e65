// Checks the model in docs/protocol: the rules must hold, and each broken variant must violate an assertion.
import { execFile, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const model = fileURLToPath(new URL('../docs/protocol/ownership.pml', import.meta.url));
const faults = ['LEAVES=0', 'VIEWS=3', 'COMMITS=1', 'EPOCHS=2'];
const moves = ['FIRST=3', 'FLUSHES=0', 'CUTS=0'];

/** Without actors: a node joins, and every kind of fault may occur. */
const renumbered = ['FIRST=3', 'LEAVES=0', 'VIEWS=4', 'EPOCHS=0', 'COMMITS=0'];

const away = ['FLUSHES=0', 'KILLS=0', 'LEAVES=0', 'VIEWS=3', 'COMMITS=1'];

const mustHold = [
  { what: 'a process is killed, Redis is unreachable', definitions: [...faults, 'FLUSHES=0'] },
  { what: 'a process is killed, Redis is flushed', definitions: [...faults, 'CUTS=0'] },
  { what: 'a node joins, another leaves', definitions: [...moves, 'KILLS=0', 'VIEWS=4', 'COMMITS=1'] },
  { what: 'Redis is unreachable, a renewal is in flight', definitions: [...away, 'EPOCHS=2', 'FLIGHTS=1'] },
  {
    what: 'Redis is unreachable, the address of a running process refuses',
    definitions: [...away, 'EPOCHS=2', 'REFUSALS=1'],
  },
  { what: 'views without actors, under all faults at once', definitions: renumbered },
];
const handoff = [...moves, 'KILLS=0', 'VIEWS=3'];
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
  { what: 'LATE_RENEWAL', definitions: [...away, 'FLIGHTS=1'] },
  { what: 'REFUSAL_PROVES', definitions: [...away, 'REFUSALS=1'] },
  { what: 'NO_GENERATION', definitions: flushed },
  { what: 'VIEW_FROM_REDIS', definitions: flushed },
  { what: 'RENUMBER_FROM_REDIS', definitions: renumbered },
];

function need(program, ...args) {
  if (spawnSync(program, args, { stdio: 'ignore' }).error === undefined) return;
  process.stderr.write(
    `check-protocol: ${program} is not installed (Debian, Ubuntu: apt-get install spin gcc)\n`,
  );
  process.exit(2);
}

async function run(folder, program, args) {
  const { stdout } = await promisify(execFile)(program, args, { cwd: folder, maxBuffer: 1 << 26 });
  return stdout;
}

/** Searches every reachable state of the model under these definitions. */
async function check(definitions) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-protocol-'));
  try {
    copyFileSync(model, join(folder, 'ownership.pml'));
    await run(folder, 'spin', [...definitions.map((one) => `-D${one}`), '-a', 'ownership.pml']);
    await run(folder, 'gcc', ['-w', '-O2', '-DSAFETY', '-DMEMLIM=12000', '-o', 'pan', 'pan.c']);
    const startedMs = performance.now();
    const output = await run(folder, './pan', ['-m3000000', '-w24']);
    // A search that ran out of depth or memory is incomplete; one that found a violation may stop early.
    if (
      !/assertion violated/.test(output.split('Full statespace')[0] ?? '') &&
      /max search depth too small|out of memory|search incomplete|not completed/i.test(output)
    ) {
      throw new Error(`the search did not finish:\n${output}`);
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
async function mustBeSafe({ what, definitions }) {
  const { errors, states, violated, seconds } = await check(definitions);
  const verdict = errors === 0 ? 'holds' : `FAILS: ${violated ?? 'see above'}`;
  process.stdout.write(
    `${what}: ${verdict} (${states.toLocaleString('en')} states, ${seconds.toFixed(0)} s)\n`,
  );
  return errors === 0;
}

async function mustBeFound({ what, definitions }) {
  const { errors, violated, seconds } = await check([...definitions, what]);
  const verdict = errors > 0 ? `violation found (${violated ?? 'an error'})` : 'NO VIOLATION FOUND';
  process.stdout.write(`${what}: ${verdict}, ${seconds.toFixed(0)} s\n`);
  return errors > 0;
}

// One worker per core, with the largest searches first, so that the workers finish at about the same time.
const work = [
  ...mustHold.map((one) => () => mustBeSafe(one)),
  ...mustFail.map((one) => () => mustBeFound(one)),
];
const verdicts = [];
const worker = async () => {
  for (let next = work.shift(); next !== undefined; next = work.shift()) verdicts.push(await next());
};
await Promise.all(Array.from({ length: availableParallelism() }, worker));
process.exit(verdicts.every(Boolean) ? 0 : 1);
