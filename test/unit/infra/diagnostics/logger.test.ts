import test from 'ava';
import { createLog } from '../../../../src/infra/diagnostics/index.js';

function recording() {
  const lines: string[] = [];
  const take = (line: string): void => void lines.push(line);
  const log = createLog({
    level: 'debug',
    fields: { node: 'n1' },
    destination: { write: take, writeAscii: take, flushSync: () => undefined },
  });
  return { log, events: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>), lines };
}

const key = `sk-${'a1'.repeat(12)}`;

test('an event is logged with its fields, and an error with its causes', (t) => {
  const { log, events } = recording();
  const cause = new Error('the socket broke');
  log.logger.warn({ attempt: 2, error: new Error('sending failed', { cause }) }, 'mail %s waits', 'm1');
  const [event] = events();
  t.like(event, {
    level: 'warn',
    node: 'n1',
    msg: 'mail m1 waits',
    attempt: 2,
    error: { name: 'Error', message: 'sending failed', cause: { message: 'the socket broke' } },
  });
  t.regex(JSON.stringify(event?.['error']), /"stack":"Error: sending failed.*logger\.test/);
});

test('no secret is logged, in whatever part of an event it hides', (t) => {
  const { log, lines } = recording();
  const cause = new Error(`connecting to postgres://app:planted-password@db/x with ${key}`);
  const error = Object.assign(new Error('failed', { cause }), { password: 'planted-password' });
  log.logger.error(
    { error, headers: { Authorization: `Bearer ${key}` }, token: 'planted-password' },
    `with ${key}`,
  );
  log.logger.error(error, 'argument %s', key);
  log.logger.error(`only text: ${key}`);
  log.logger.info({ secret: { deep: 'planted-password' } });
  log.logger.info('%o and %j', { password: 'planted-password' }, { note: key });
  t.is(lines.length, 5);
  for (const line of lines) {
    t.notThrows(() => void JSON.parse(line), line);
    t.false(line.includes(key), line);
    t.false(line.includes('planted-password'), line);
  }
});

test('a hostile event does not stop the logger', (t) => {
  const { log, events } = recording();
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  log.logger.info(
    { circle, big: 'x'.repeat(1_000_000), list: Array.from({ length: 100_000 }, () => 1) },
    'odd',
  );
  const [event] = events();
  t.is(event?.['msg'], 'odd');
  t.true(JSON.stringify(event).length < 10_000);
});
