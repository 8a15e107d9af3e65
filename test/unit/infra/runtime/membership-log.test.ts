import test from 'ava';
import { createLog } from '../../../../src/infra/diagnostics/index.js';
import { logMembershipEvent } from '../../../../src/infra/runtime/membership-log.js';
import { MemberWorld } from '../../../support/servers/member-world.js';

test('an outage of Redis is told once, and its end', async (t) => {
  const lines: string[] = [];
  const take = (line: string): void => void lines.push(line);
  const { logger } = createLog({
    level: 'info',
    destination: { write: take, writeAscii: take, flushSync: () => undefined },
  });
  const world = new MemberWorld();
  const [node] = await world.settled(1);
  if (node === undefined) throw new Error('no node');
  const outage = async (): Promise<void> => {
    world.storeUp = false;
    await world.time.advance(60_000);
    world.storeUp = true;
    await world.time.advance(10_000);
  };
  await outage();
  await outage();
  for (const event of node.events) logMembershipEvent(logger, event);
  const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  t.deepEqual(
    told
      .filter(({ msg }) => String(msg).includes('membership request'))
      .map(({ level, msg }) => [level, String(msg).slice(0, 37)]),
    [1, 2].flatMap(() => [
      ['warn', 'a membership request to Redis failed;'],
      ['info', 'Redis answers membership requests aga'],
    ]),
  );
});
