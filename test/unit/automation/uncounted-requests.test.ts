import test from 'ava';
import { UncountedRequests } from '../../../src/automation/intake/uncounted-requests.js';
import { webhookChecks } from '../../../src/automation/intake/pipeline/webhook-checks.js';
import { ClientWindows } from '../../../src/tenancy/quota/index.js';
import { fine, partsIn, webhookDecision, type World } from '../../support/builders/webhook-worlds.js';
import { ManualTime } from '../../support/clocks/manual-time.js';

function requests() {
  const time = new ManualTime('2026-11-30T12:00:00Z');
  return { time, uncounted: new UncountedRequests(new ClientWindows('test', { time, windowsMax: 100 })) };
}

/** How many of the size an address may send in a minute. */
function allowed(bytes: number): number {
  const { uncounted } = requests();
  let sent = 0;
  for (; uncounted.refusal('192.0.2.1') === undefined; sent += 1) uncounted.noteEnded('192.0.2.1', bytes);
  return sent;
}

test('a large request counts as up to ten small ones', (t) => {
  t.deepEqual([0, 9_999, 10_000, 99_999, 20_000_000].map(allowed), [600, 600, 300, 60, 60]);
});

test('addresses count apart, those of an IPv6 network together, until a minute has passed', (t) => {
  const { time, uncounted } = requests();
  for (let sent = 0; sent < 60; sent += 1) uncounted.noteEnded('2001:db8::1', 100_000);
  t.is(uncounted.refusal('2001:db8::2')?.code, 'rate_limit_exceeded');
  t.is(uncounted.refusal('2001:db8:0:1::1'), undefined);
  t.is(uncounted.refusal('192.0.2.1'), undefined);
  time.advance(60_000);
  t.is(uncounted.refusal('2001:db8::2'), undefined);
});

test('requests that the tenant refused count apart, and are told, not refused', (t) => {
  const { time, uncounted } = requests();
  for (let sent = 0; sent < 60; sent += 1) {
    t.false(uncounted.isRefusedOften('2001:db8::1'));
    uncounted.noteRefused('2001:db8::1', 100_000);
  }
  t.true(uncounted.isRefusedOften('2001:db8::2'));
  t.is(uncounted.refusal('2001:db8::2'), undefined);
  t.false(uncounted.isRefusedOften('192.0.2.1'));
  time.advance(60_000);
  t.false(uncounted.isRefusedOften('2001:db8::2'));
});

test('what no tenant counts is noted, if the webhook demands no credential', async (t) => {
  const countedIn = async (faults: Partial<World>) => {
    const world = { ...fine, ...faults };
    const parts = partsIn(world);
    await webhookDecision(world, parts, webhookChecks(parts.deciding));
    return parts.counted();
  };
  const ended = { noted: ['ended'], countedWork: 0 };
  const work = { noted: [], countedWork: 1 };
  const neither = { noted: [], countedWork: 0 };
  const refusedWork = { noted: ['refused'], countedWork: 1 };
  const cases: readonly (readonly [
    Partial<World>,
    { readonly noted: string[]; readonly countedWork: number },
  ])[] = [
    [{}, work],
    [{ noTokens: true }, work],
    [{ denied: true }, work],
    [{ rateFull: true }, refusedWork],
    [{ denied: true, rateFull: true }, refusedWork],
    [{ disabled: true }, ended],
    [{ refusedNames: true }, ended],
    [{ noText: true }, ended],
    [{ channel: true, noSender: true }, ended],
    [{ channel: true, repeated: true }, ended],
    // Another window has them: that of failed credentials, or its own, which is full.
    [{ unknown: true }, neither],
    [{ addressFull: true, noText: true }, neither],
    // The tenant's window is asked first, and once.
    [{ refusedOften: true }, work],
    [{ refusedOften: true, noText: true }, work],
    [
      { refusedOften: true, noText: true, rateFull: true },
      { noted: [], countedWork: 1 },
    ],
  ];
  for (const [faults, wanted] of cases) {
    t.deepEqual(await countedIn(faults), wanted, JSON.stringify(faults));
    const { noted } = await countedIn({ ...faults, signed: true });
    t.deepEqual(noted, [], `signed: ${JSON.stringify(faults)}`);
  }
});
