// Only windows: no daily limit and no key quota, so the store is not used.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import fc from 'fast-check';
import type { AnonymousCaller, Caller } from '../../../../src/kernel/caller.js';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import type { Admitted, RateClass } from '../../../../src/http/operations/index.js';
import { limitsOf } from '../../../../src/kernel/plans/index.js';
import { LocalAdmission } from '../../../../src/tenancy/quota/admission.js';
import { Grants } from '../../../../src/tenancy/quota/grants.js';
import { keyOf, userOf } from '../../../support/builders/callers.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

const start = '2026-11-21T10:00:00.250Z';
const startSeconds = Date.parse('2026-11-21T10:00:00Z') / 1_000;

function build() {
  const time = new ManualTime(start);
  const unasked = () => Promise.reject(new Error('no count is asked for in this test'));
  const grants = new Grants(
    { take: unasked, giveBack: unasked },
    {
      time,
      countsMax: 10,
      report: (attempted, error) => {
        throw new Error(attempted, { cause: error });
      },
    },
  );
  const admission = new LocalAdmission({
    time,
    days: grants,
    lives: grants,
    dailyLimits: false,
    windowsMax: 1_000,
  });
  const atOnceAdmission = {
    admitRequest: (caller: Caller, rate: RateClass) => atOnce(admission.admitRequest(caller, rate)),
    admitModelWork: (caller: Caller) => admission.admitModelWork(caller),
    admitTenantWork: (...work: Parameters<LocalAdmission['admitTenantWork']>) =>
      admission.admitTenantWork(...work),
    noteRefusedWork: (caller: Caller, bodyBytes: number) => admission.noteRefusedWork(caller, bodyBytes),
    figuresOfAddress: (address: string) => admission.figuresOfAddress(address),
    dropIdle: () => admission.dropIdle(),
  };
  return { time, admission: atOnceAdmission };
}

function atOnce(admitted: Admitted | Promise<Admitted>): Admitted {
  if (admitted instanceof Promise) throw new Error('admitted only after a wait');
  return admitted;
}

const newScope = () => tenantScope(randomUUID());
const anonymous = (address: string): AnonymousCaller => ({ kind: 'anonymous', address });

test("a key's request shows the key's window and lowers it by one", (t) => {
  const { admission, time } = build();
  const key = keyOf(newScope(), { requestsPerMinute: 10 });
  t.deepEqual(admission.admitRequest(key, 'request'), {
    figures: { limit: 10, remaining: 9, reset: startSeconds + 61 },
  });
  time.advance(20_000);
  t.deepEqual(admission.admitRequest(key, 'request').figures, {
    limit: 10,
    remaining: 8,
    reset: startSeconds + 61,
  });
});

test('a full window refuses with its figures, counts no refusal, and admits again at the stated time', (t) => {
  const { admission, time } = build();
  const key = keyOf(newScope(), { requestsPerMinute: 2 });
  admission.admitRequest(key, 'request');
  time.advance(10_000);
  admission.admitRequest(key, 'request');
  time.advance(10_000);
  for (let repeat = 0; repeat < 5; repeat += 1) {
    const { figures, refusal } = admission.admitRequest(key, 'request');
    t.deepEqual(figures, { limit: 2, remaining: 0, reset: startSeconds + 61 });
    t.is(refusal?.code, 'rate_limit_exceeded');
    t.is(refusal?.status, 429);
    t.is(refusal?.retryAfterSeconds, 40);
    t.deepEqual(refusal?.details, { limit: 2, remaining: 0, reset: startSeconds + 61, retry_after: 40 });
  }
  time.advance(39_999);
  t.is(admission.admitRequest(key, 'request').refusal?.retryAfterSeconds, 1);
  time.advance(1);
  t.is(admission.admitRequest(key, 'request').refusal, undefined);
  t.is(admission.admitRequest(key, 'request').refusal?.retryAfterSeconds, 10);
});

test('a lowered limit applies at once, and the remainder is never below zero', (t) => {
  const { admission } = build();
  const key = keyOf(newScope(), { requestsPerMinute: 50 });
  for (let count = 0; count < 20; count += 1) admission.admitRequest(key, 'request');
  const { figures, refusal } = admission.admitRequest({ ...key, requestsPerMinute: 10 }, 'request');
  t.is(refusal?.code, 'rate_limit_exceeded');
  t.is(figures.limit, 10);
  t.is(figures.remaining, 0);
  const work = atOnce(admission.admitModelWork({ ...key, requestsPerMinute: 10 }));
  t.is(work.refusal, undefined, 'let in before the limit was lowered');
  t.is(work.figures.remaining, 0);
});

test("a user's requests have a window of 300 in each tenant, whatever the plan", (t) => {
  const { admission } = build();
  const user = userOf(newScope(), { limits: limitsOf('free', {}) });
  for (let left = 299; left >= 0; left -= 1) {
    const { figures, refusal } = admission.admitRequest(user, 'request');
    t.is(refusal, undefined);
    t.is(figures.limit, 300);
    t.is(figures.remaining, left);
  }
  t.is(admission.admitRequest(user, 'request').refusal?.code, 'rate_limit_exceeded');
  t.is(admission.admitRequest({ ...user, scope: newScope() }, 'request').refusal, undefined);
  t.is(admission.admitRequest({ ...user, userId: randomUUID() }, 'request').refusal, undefined);
});

test('addresses of one IPv6 network share a window, and an IPv4 address has one however it is spelled', (t) => {
  const { admission } = build();
  for (let count = 0; count < 120; count += 1) {
    const caller = anonymous(`2001:db8:1:2:${count.toString(16)}::${count + 1}`);
    t.is(admission.admitRequest(caller, 'request').refusal, undefined);
    admission.admitRequest(anonymous(count % 2 === 0 ? '192.0.2.7' : '::ffff:192.0.2.7'), 'request');
  }
  const another = anonymous('2001:db8:1:2:ffff::1');
  t.is(admission.admitRequest(another, 'request').refusal?.code, 'rate_limit_exceeded');
  t.is(admission.figuresOfAddress('2001:db8:1:2::').remaining, 0);
  t.is(admission.admitRequest(anonymous('2001:db8:1:3::1'), 'request').refusal, undefined);
  t.is(admission.figuresOfAddress('192.0.2.7').remaining, 0);
});

test('an address has a window of 120, which uncounted requests show without lowering', (t) => {
  const { admission } = build();
  const caller = anonymous('192.0.2.1');
  for (let count = 0; count < 120; count += 1) admission.admitRequest(caller, 'request');
  t.is(admission.admitRequest(caller, 'request').refusal?.code, 'rate_limit_exceeded');
  const uncounted = admission.admitRequest(caller, 'uncounted');
  t.is(uncounted.refusal, undefined);
  t.is(uncounted.figures.remaining, 0);
  t.is(admission.figuresOfAddress('192.0.2.1').limit, 120);
  t.is(admission.figuresOfAddress('192.0.2.2').remaining, 120);
  t.is(admission.figuresOfAddress('192.0.2.2').remaining, 120);
  t.is(admission.figuresOfAddress('192.0.2.2').reset, startSeconds + 61);
});

test("model work by a user checks the tenant's window first and counts only when admitted", (t) => {
  const { admission } = build();
  const limits = { ...limitsOf('free', {}), requestsPerMinute: 3 };
  const user = userOf(newScope(), { limits });
  t.is(admission.admitRequest(user, 'model-work').figures.remaining, 3);
  t.is(admission.admitRequest(user, 'model-work').figures.remaining, 3);
  for (const left of [2, 1, 0]) {
    t.is(atOnce(admission.admitModelWork(user)).figures.remaining, left);
  }
  t.is(admission.admitRequest(user, 'model-work').refusal?.code, 'rate_limit_exceeded');
  t.is(atOnce(admission.admitModelWork(user)).refusal?.code, 'rate_limit_exceeded');
  t.is(
    admission.admitRequest(user, 'request').figures.remaining,
    299,
    'other requests have their own window',
  );
});

test('refused model work of a user fills a window of its own, which then refuses model work alone', (t) => {
  const { admission, time } = build();
  const scope = newScope();
  const user = userOf(scope);
  for (let times = 0; times < 299; times += 1) admission.noteRefusedWork(user, 100);
  t.is(admission.admitRequest(user, 'model-work').refusal, undefined);
  admission.noteRefusedWork(user, 100);
  const { figures, refusal } = admission.admitRequest(user, 'model-work');
  t.is(refusal?.code, 'rate_limit_exceeded');
  t.deepEqual([figures.limit, figures.remaining], [300, 0]);
  t.is(
    admission.admitRequest(user, 'request').figures.remaining,
    299,
    'other requests have their own window',
  );
  t.is(admission.admitRequest(userOf(scope), 'model-work').refusal, undefined, 'another user of the tenant');
  time.advance(61_000);
  t.is(admission.admitRequest(user, 'model-work').refusal, undefined);
});

test('a large body counts once for each megabyte that it begins, at most ten times', (t) => {
  const { admission } = build();
  const megabyte = 1024 * 1024;
  for (const [bytes, requests] of [
    [megabyte, 300],
    [megabyte + 1, 150],
    [20 * megabyte, 30],
  ] as const) {
    const user = userOf(newScope());
    for (let times = 1; times < requests; times += 1) admission.noteRefusedWork(user, bytes);
    t.is(admission.admitRequest(user, 'model-work').refusal, undefined, `${bytes} bytes`);
    admission.noteRefusedWork(user, bytes);
    t.is(admission.admitRequest(user, 'model-work').refusal?.code, 'rate_limit_exceeded', `${bytes} bytes`);
  }
});

test("a key's model work is refused by the tenant's window with the tenant's figures", (t) => {
  const { admission } = build();
  const scope = newScope();
  const limits = { ...limitsOf('free', {}), requestsPerMinute: 2 };
  const key = keyOf(scope, { limits, requestsPerMinute: 50 });
  admission.admitRequest(key, 'model-work');
  t.deepEqual(atOnce(admission.admitModelWork(key)).figures.limit, 50, "admitted: the key's window speaks");
  t.is(atOnce(admission.admitModelWork(userOf(scope, { limits }))).refusal, undefined);
  admission.admitRequest(key, 'model-work');
  const { figures, refusal } = atOnce(admission.admitModelWork(key));
  t.is(refusal?.code, 'rate_limit_exceeded');
  t.is(figures.limit, 2);
  t.is(figures.remaining, 0);
  t.is(atOnce(admission.admitTenantWork(scope, limits)).refusal?.code, 'rate_limit_exceeded');
});

test('a wall clock set back neither opens nor closes a window', (t) => {
  const { admission, time } = build();
  const key = keyOf(newScope(), { requestsPerMinute: 1 });
  admission.admitRequest(key, 'request');
  time.setWall('2026-11-20T09:00:00Z');
  t.is(admission.admitRequest(key, 'request').refusal?.retryAfterSeconds, 60);
  time.advance(60_000);
  t.is(admission.admitRequest(key, 'request').refusal, undefined);
});

test('no window admits more than its limit in any minute, and its figures agree', (t) => {
  const step = fc.record({
    afterMs: fc.oneof(
      fc.constant(0),
      fc.integer({ min: 0, max: 1_500 }),
      fc.integer({ min: 0, max: 62_000 }),
    ),
    who: fc.integer({ min: 0, max: 3 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 8 }), (steps, limit) => {
      const { admission, time } = build();
      const scope = newScope();
      const callers: Caller[] = [
        keyOf(scope, { requestsPerMinute: limit }),
        keyOf(scope, { requestsPerMinute: limit + 1 }),
        userOf(scope),
        anonymous('192.0.2.9'),
      ];
      const limits = [limit, limit + 1, 300, 120];
      const passed: number[][] = [[], [], [], []];
      for (const { afterMs, who } of steps) {
        time.advance(afterMs);
        const nowMs = time.monotonicMs();
        const { figures, refusal } = admission.admitRequest(callers[who] ?? anonymous('x'), 'request');
        const mine = passed[who] ?? [];
        if (refusal === undefined) mine.push(nowMs);
        const withinMinute = mine.filter((at) => at > nowMs - 60_000).length;
        const nowSeconds = time.wallMs() / 1_000;
        if (withinMinute > (limits[who] ?? 0)) return false;
        if (figures.limit !== limits[who] || figures.remaining > figures.limit - withinMinute) return false;
        if (figures.remaining < 0 || figures.reset < nowSeconds || figures.reset > nowSeconds + 62)
          return false;
        if (refusal !== undefined) {
          const wait = refusal.retryAfterSeconds ?? 0;
          if (wait < 1 || Math.abs(nowSeconds + wait - figures.reset) > 1 || figures.remaining !== 0)
            return false;
        }
      }
      return true;
    }),
  );
  t.pass();
});
