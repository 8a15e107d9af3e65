import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { requestOrigin, withOrigin } from '../../../src/kernel/request-origin.js';

const run = promisify(execFile);
const origin = (requestId: string) => ({ requestId, address: '192.0.2.1' });

test('overlapping operations each see their own origin until they end, whichever ends first', async (t) => {
  const seen: string[] = [];
  const look = async (name: string, steps: number): Promise<void> => {
    for (let step = 0; step < steps; step += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(`${name}:${requestOrigin()?.requestId ?? 'none'}`);
    }
  };
  await Promise.all([
    withOrigin(origin('one'), () => look('one', 2)),
    withOrigin(origin('two'), () => look('two', 5)),
  ]);
  t.deepEqual(seen.toSorted(), [...Array(2).fill('one:one'), ...Array(5).fill('two:two')]);
  t.is(requestOrigin(), undefined);
});

test('an operation that fails, at once or later, ends like any other', async (t) => {
  t.throws(() =>
    withOrigin(origin('at once'), () => {
      throw new Error('refused');
    }),
  );
  const later = withOrigin(origin('later'), async () => {
    await Promise.resolve();
    throw new Error(requestOrigin()?.requestId);
  });
  await t.throwsAsync(later, { message: 'later' });
  t.is(
    withOrigin(origin('again'), () => requestOrigin()?.requestId),
    'again',
  );
});

// In a process of its own: a test runner may have hooks too. With hooks, the code after an
// `await` has an id; without, it has none.
test('promises have no hooks before and after an operation', async (t) => {
  const module = new URL('../../../src/kernel/request-origin.js', import.meta.url).href;
  const program = `
    import { executionAsyncId } from 'node:async_hooks';
    const { withOrigin } = await import(${JSON.stringify(module)});
    const hooked = async () => { await null; return executionAsyncId() !== 0; };
    const fromTheLoop = () => new Promise((resolve) => setImmediate(() => hooked().then(resolve)));
    const before = await fromTheLoop();
    const within = await withOrigin({ requestId: 'r', address: 'a' }, hooked);
    console.log(JSON.stringify([before, within, await fromTheLoop()]));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
  });
  t.deepEqual(JSON.parse(stdout), [false, true, false]);
});
