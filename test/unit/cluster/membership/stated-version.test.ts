import test from 'ava';
import { ClusterError } from '../../../../cluster/errors.js';
import { processId, viewNumber } from '../../../../cluster/ids/ids.js';
import { spokenProtocols, type Protocols } from '../../../../cluster/links/protocol.js';
import type { StoredLease } from '../../../../cluster/membership/member-store.js';
import { leaseText, parseState } from '../../../../cluster/membership/redis/record.js';
import { readVersion, refuseOtherVersions } from '../../../../cluster/membership/stated-version.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

const config = { leaseMs: 5_000, leaseMarginMs: 500, leaseRenewMs: 1_000 };
const self = { version: '0.4.0', protocols: { min: 4, max: 5 } };

function lease(protocols: Protocols | undefined, renewals: number): StoredLease {
  return {
    member: {
      process: processId('other'),
      address: '127.0.0.1:1',
      weight: 1,
      roles: ['worker'],
      host: 'h',
      pid: 1,
      ...(protocols === undefined ? {} : { version: '0.2.0', protocols }),
    },
    renewals,
    promisedMs: 0,
    holds: viewNumber(0),
    leaving: false,
    lateMs: 0,
  };
}

/** The outcome of a start beside a process that renews its lease, or has ended without releasing it. */
async function outcome(protocols: Protocols | undefined, lives: boolean): Promise<string> {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const startedMs = time.monotonicMs();
  const snapshot = () =>
    Promise.resolve({
      generation: 'g',
      generationAgeMs: 0,
      leases: [lease(protocols, lives ? Math.floor((time.monotonicMs() - startedMs) / 1_000) : 7)],
      departed: [],
      view: undefined,
    });
  const ended: string[] = [];
  void refuseOtherVersions({ snapshot }, self, time, config).then(
    () => ended.push('joined'),
    (error: unknown) => ended.push(error instanceof ClusterError ? error.message : String(error)),
  );
  for (let step = 0; ended.length === 0 && step < 1_000; step += 1) {
    // Promises settle between two steps of the clock.
    await new Promise((resolve) => setImmediate(resolve));
    time.advance(100);
  }
  return ended[0] ?? 'no end';
}

test('a process joins others with which it shares a protocol version', async (t) => {
  t.is(await outcome({ min: 3, max: 4 }, true), 'joined');
  t.is(await outcome({ min: 5, max: 6 }, true), 'joined');
});

test('a process does not join running ones of a release too far away, and says what to do', async (t) => {
  t.regex(
    await outcome({ min: 2, max: 3 }, true),
    /^protocol_mismatch: other is running and speaks protocol 2 to 3 \(version 0\.2\.0\), this process 4 to 5 \(version 0\.4\.0\): .*upgrade to the release between/,
  );
  t.regex(await outcome(undefined, true), /^protocol_mismatch: other is running and speaks protocol 2, this/);
});

test('the lease of a process that has ended keeps nobody out', async (t) => {
  t.is(await outcome({ min: 2, max: 3 }, false), 'joined');
});

test('the record of a member holds its version, and one without is read too', (t) => {
  const parsed = (text: string) =>
    parseState(['g', '0', ['lease:other', text]], undefined).snapshot.leases[0]?.member;
  const stated = lease(spokenProtocols, 1);
  t.deepEqual(parsed(`1 0 0 ${leaseText(stated)}`), stated.member);
  const unstated = lease(undefined, 1);
  t.deepEqual(parsed(`1 0 0 ${leaseText(unstated)}`), unstated.member);
});

test('wrong values of a version count as missing', (t) => {
  for (const value of [
    { version: 7, protocols: 'x' },
    { version: 'x'.repeat(101), protocols: { min: 0, max: 0 } },
    { version: '', protocols: { min: '1', max: 2 } },
    { protocols: null },
  ]) {
    t.deepEqual(readVersion(value), {});
  }
});
