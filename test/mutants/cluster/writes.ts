import { mutantsOf } from '../mutant.js';

const fence = 'cluster/fencing/postgres/fence-store.ts';
const fencing = { tests: ['test/integration/cluster/fencing/'] };
const redis = {
  tests: ['test/integration/cluster/membership/redis-member-store.test.ts'],
  simulation: undefined,
};
const recovering = { tests: ['test/unit/cluster/recovery.test.ts'] };
const timing = { tests: ['test/unit/cluster/durable-timers.test.ts'] };

/** What is written under a fence, found again after a fault, and kept in Redis. */
export const writes = [
  ...mutantsOf('cluster/fencing/group-commit.ts', [
    {
      id: 'commit-deadline-ignored',
      rule: 'A write of unknown outcome ends its actor at the deadline.',
      find: `      if (now < giveUpAtMs) return true;`,
      replace: `      if (now < giveUpAtMs * 1_000) return true;`,
    },
    {
      id: 'deadline-keeps-the-actor',
      rule: 'At the deadline of a write the actor ends, because only a fresh load shows what the store holds.',
      find: `      holder.markLost(
        new ClusterError('outcome_unknown', 'the store did not confirm the write in time', { cause }),
      );`,
      replace: `      for (const entry of holder.entries.splice(0)) {
        entry.reject(
          new ClusterError('outcome_unknown', 'the store did not confirm the write in time', { cause }),
        );
      }`,
    },
    {
      id: 'deadline-of-the-last-write',
      rule: 'The oldest write of a merged one sets its deadline.',
      find: `return { holder, entries, giveUpAtMs: first.giveUpAtMs, write, stamp };`,
      replace: `return { holder, entries, giveUpAtMs: entries.at(-1)?.giveUpAtMs ?? 0, write, stamp };`,
    },
    {
      id: 'unknown-outcome-not-repeated',
      rule: 'A write of unknown outcome is submitted again until the store answers.',
      find: `        pending = this.#stillPending(pending, error);
        if (pending.length === 0) return;`,
      replace: `        pending = this.#stillPending(pending, error);
        if (pending.length > 0) {
          for (const flight of pending) flight.holder.markLost(new ClusterError('outcome_unknown', 'lost'));
          return;
        }
        if (pending.length === 0) return;`,
    },
    {
      id: 'unknown-outcome-answered',
      rule: 'Nothing leaves an actor before the write that it rests on is committed.',
      find: `        pending = this.#stillPending(pending, error);
        if (pending.length === 0) return;`,
      replace: `        pending = this.#stillPending(pending, error);
        for (const flight of pending) this.#settle(flight, { outcome: 'written', result: undefined });
        return;`,
    },
    {
      id: 'fenced-write-reported-as-written',
      rule: 'A write whose fence does not match ends the actor.',
      find: `    if (outcome === undefined || outcome.outcome === 'fenced') {`,
      replace: `    if (outcome === undefined) {`,
    },
    {
      id: 'two-writes-in-flight',
      rule: 'An actor has at most one write in flight.',
      find: `      if (!this.inFlight && this.entries.length === 1) this.#submit(this);`,
      replace: `      this.#submit(this);`,
    },
    {
      id: 'closed-holder-answers',
      rule: 'An activation that has ended does not report a write as committed.',
      find: `    for (const entry of this.entries.splice(0)) entry.reject(error);
  }
}`,
      replace: `  }
}`,
    },
    {
      id: 'lost-result-reported-as-known',
      rule: 'A repeat that finds its write made does not know what the statements returned.',
      find: `        result === undefined ? { outcome: 'result_lost' } : { outcome: 'committed', result };`,
      replace: `        result === undefined
          ? { outcome: 'committed', result: {} as Result }
          : { outcome: 'committed', result };`,
    },
    {
      id: 'held-up-write-holds-its-batch',
      rule: 'A write that is held up does not delay the others.',
      find: `      if (outcome?.outcome === 'held_up') this.#holdUp(flight, outcome.error);
      else this`,
      replace: `      if (outcome?.outcome === 'held_up') {
        await this.#pause(4);
        this.#holdUp(flight, outcome.error);
      } else this`,
    },
    {
      id: 'merged-stamp-lost',
      rule: 'The newest stamp of merged writes counts.',
      find: `      stamp = later.stamp ?? stamp;`,
      replace: ``,
    },
    {
      id: 'revision-not-raised',
      rule: 'Each committed write raises the revision that the next one expects.',
      find: `      holder.fence = { ...holder.fence, revision: revision(holder.fence.revision + 1) };`,
      replace: `      holder.fence = { ...holder.fence, revision: revision(holder.fence.revision) };`,
    },
  ]),
  ...mutantsOf(
    fence,
    [
      {
        id: 'batch-claim-without-revision',
        rule: 'A batch is claimed by epoch, activation id and revision.',
        find: `      where a.epoch = w.epoch and a.activation_id = w.activation_id and a.revision = w.revision
      order by`,
        replace: `      where a.epoch = w.epoch and a.activation_id = w.activation_id
      order by`,
      },
      {
        id: 'batch-claim-without-activation',
        rule: 'An epoch that was issued twice is told apart by the activation id.',
        find: `      where a.epoch = w.epoch and a.activation_id = w.activation_id and a.revision = w.revision
      order by`,
        replace: `      where a.epoch = w.epoch and a.revision = w.revision
      order by`,
      },
      {
        id: 'batch-claim-without-epoch',
        rule: 'A batch of an older epoch writes nothing.',
        find: `      where a.epoch = w.epoch and a.activation_id = w.activation_id and a.revision = w.revision
      order by`,
        replace: `      where a.revision = w.revision
      order by`,
      },
      {
        id: 'batch-claim-unlocked',
        rule: 'Rows are locked from the check of the fence to the write.',
        find: `      order by a.tenant_id, a.kind, a.key
      for no key update of a
    ), advanced as (`,
        replace: `      order by a.tenant_id, a.kind, a.key
    ), advanced as (`,
      },
      {
        id: 'partial-batch-claimed',
        rule: 'A batch in one statement writes only if every fence matches.',
        find: `      select 1 / (count(*) = (select count(*) from given))::int as all_match from advanced`,
        replace: `      select 1 / (count(*) > 0)::int as all_match from advanced`,
      },
      {
        id: 'single-claim-without-revision',
        rule: 'A single write is claimed by epoch, activation id and revision.',
        find: `        and epoch = $7::bigint and activation_id = $8 and revision = $9::bigint`,
        replace: `        and epoch = $7::bigint and activation_id = $8 and $9::bigint >= 0`,
      },
      {
        id: 'single-claim-without-epoch',
        rule: 'A single write of an older epoch writes nothing.',
        find: `        and epoch = $7::bigint and activation_id = $8 and revision = $9::bigint`,
        replace: `        and $7::bigint > 0 and $8::text is not null and revision = $9::bigint`,
      },
      {
        id: 'unmatched-claim-passes',
        rule: 'A claim that matches nothing writes nothing.',
        find: `      select 1 / count(*) as all_match from advanced`,
        replace: `      select 1 as all_match from (select count(*) from advanced) as any_number`,
      },
      {
        id: 'one-commit-unchecked',
        rule: 'The checked path reads what COMMIT answered.',
        find: `    // COMMIT of a failed transaction answers ROLLBACK; the failure itself was thrown before.
    if (answers.at(-1)?.command !== 'COMMIT') throw unknownOutcome(new Error('COMMIT was not confirmed'));`,
        replace: ``,
      },
      {
        id: 'claimed-commit-unchecked',
        rule: 'The claiming path reads what COMMIT answered.',
        find: `    if (answers.at(-1)?.command !== 'COMMIT') throw unknownOutcome(new Error('COMMIT was not confirmed'));
    return answers.slice(2, -1)`,
        replace: `    return answers.slice(2, -1)`,
      },
      {
        id: 'epoch-not-raised',
        rule: 'Each activation raises the epoch.',
        find: `do update set epoch = a.epoch + 1, activation_id`,
        replace: `do update set epoch = a.epoch, activation_id`,
      },
      {
        id: 'busy-stamp-ignored',
        rule: 'The epoch is not raised over a running turn.',
        find: `    where a.busy_process is null or a.busy_until <= clock_timestamp() or a.busy_process = any ($6::text[])`,
        replace: `    where a.busy_process is null or a.busy_until is not null or a.busy_process = any ($6::text[])`,
      },
      {
        id: 'stamp-without-deadline',
        rule: 'A stamp counts until its deadline by the clock of the store.',
        find: `    where a.busy_process is null or a.busy_until <= clock_timestamp() or a.busy_process = any ($6::text[])`,
        replace: `    where a.busy_process is null or a.busy_process = any ($6::text[])`,
      },
      {
        id: 'stamp-not-freed',
        rule: 'The last write of a turn frees the stamp.',
        find: `        busy_process = case $4::text when 'busy' then $5::text when 'free' then null else busy_process end,
        busy_until = case $4::text`,
        replace: `        busy_process = case $4::text when 'busy' then $5::text else busy_process end,
        busy_until = case $4::text`,
      },
      {
        id: 'load-before-the-raise',
        rule: 'The load reads a later snapshot than the one that raised the epoch.',
        find: `    const [, raised, loaded] = await pipelined(client, [
      beginActivation,
      raising,
      this.#tables.load(load),
      'commit',
    ]);`,
        replace: `    const [, loaded, raised] = await pipelined(client, [
      beginActivation,
      this.#tables.load(load),
      raising,
      'commit',
    ]);`,
      },
      {
        id: 'made-write-made-again',
        rule: 'A write that an earlier attempt made is not made again.',
        find: `  return ahead === 0 ? 'due' : ahead === 1 ? 'made' : 'fenced';`,
        replace: `  return ahead === 0 || ahead === 1 ? 'due' : 'fenced';`,
      },
      {
        id: 'made-write-counts-as-fenced',
        rule: 'A revision one ahead under the same id is this write, made by an attempt whose answer was lost.',
        find: `  return ahead === 0 ? 'due' : ahead === 1 ? 'made' : 'fenced';`,
        replace: `  return ahead === 0 ? 'due' : 'fenced';`,
      },
      {
        id: 'lost-writes-unnoticed',
        rule: 'A store that lost writes in a failover fences their actors.',
        find: `  return ahead === 0 ? 'due' : ahead === 1 ? 'made' : 'fenced';`,
        replace: `  return ahead <= 0 ? 'due' : ahead === 1 ? 'made' : 'fenced';`,
      },
      {
        id: 'neighbours-rejected',
        rule: 'A write that the store refuses does not fail its neighbours.',
        find: `      if (batch.length === 1) return [{ outcome: isRejected(error) ? 'rejected' : 'held_up', error }];`,
        replace: `      if (batch.length > 0) return batch.map(() => ({ outcome: 'rejected', error }));`,
      },
      {
        id: 'locked-row-ends-neighbours',
        rule: 'A batch that a locked row holds up is halved.',
        find: `      if (!isRejected(error) && !isHeldUp(error)) {`,
        replace: `      if (!isRejected(error)) {`,
      },
      {
        id: 'patient-batches',
        rule: 'A batch waits for a row lock only a short time.',
        find: `      lockTimeoutMs: Math.min(batchLockTimeoutMs, connection.statementTimeoutMs),`,
        replace: `      lockTimeoutMs: connection.statementTimeoutMs,`,
      },
    ],
    fencing,
  ),
  ...mutantsOf(
    'cluster/fencing/postgres/view-numbers.ts',
    [
      {
        id: 'number-issued-twice',
        rule: 'A view number is issued once.',
        find: `    on conflict (cluster) do update set last_number = greatest(c.last_number, $2::bigint) + 1
    returning`,
        replace: `    on conflict (cluster) do update set last_number = greatest(c.last_number, $2::bigint + 1)
    returning`,
      },
      {
        id: 'seized-number-not-kept',
        rule: 'A seized number is read by every process that goes on without Redis.',
        find: `      seized_number = greatest(c.last_number, $2::bigint) + 1`,
        replace: `      seized_number = c.seized_number`,
      },
      {
        id: 'oldest-generation-counts',
        rule: 'The newest named generation counts.',
        find: `where cluster = $1 order by number desc limit 1`,
        replace: `where cluster = $1 order by number asc limit 1`,
      },
    ],
    {
      tests: [
        'test/integration/cluster/membership/redis-member-store.test.ts',
        'test/integration/cluster/fencing/',
        'test/integration/cluster/membership/',
      ],
      simulation: undefined,
    },
  ),
  ...mutantsOf(
    'cluster/recovery/recovery.ts',
    [
      {
        id: 'no-second-look',
        rule: 'After a move the rows are read again once every older lease and statement is over.',
        find: `    this.#scanLater(wasCold ? this.#config.recoveryStableViewMs : 0);
    this.#scanLater(this.#secondScanMs());`,
        replace: `    this.#scanLater(wasCold ? this.#config.recoveryStableViewMs : 0);`,
      },
      {
        id: 'second-look-too-early',
        rule: 'The second look waits for lease, margin and the longest statement.',
        find: `    return this.#config.leaseMs + this.#config.leaseMarginMs + this.#config.statementTimeoutMs;`,
        replace: `    return this.#config.leaseMs;`,
      },
      {
        id: 'no-look-on-gaining-slots',
        rule: 'The rows of gained slots are read at once.',
        find: `    this.#scanLater(wasCold ? this.#config.recoveryStableViewMs : 0);
    this.#scanLater(this.#secondScanMs());`,
        replace: `    void wasCold;
    this.#scanLater(this.#secondScanMs());`,
      },
      {
        id: 'no-sweep',
        rule: 'The rows are read again and again, for ever.',
        find: `      void this.#scan();
      this.#sweepLater();
    });`,
        replace: `      this.#sweepLater();
    });`,
      },
      {
        id: 'cold-start-at-once',
        rule: 'After a cold start nothing is recovered before a view is stable.',
        find: `    this.#scanLater(this.#config.recoveryStableViewMs);
    this.#scanLater(this.#secondScanMs());
    this.#sweepLater();`,
        replace: `    this.#scanLater(0);
    this.#scanLater(this.#secondScanMs());
    this.#sweepLater();`,
      },
      {
        id: 'all-repeats-at-once',
        rule: 'Repeats run one at a time.',
        find: `    if (this.#repeating) return;`,
        replace: ``,
      },
      {
        id: 'repeats-without-a-pause',
        rule: 'Repeats wait a growing time.',
        find: `    this.#after(backoffMs(work.attempts - 1, backoff, this.#random), () => {`,
        replace: `    this.#after(0 * backoffMs(work.attempts - 1, backoff, this.#random), () => {`,
      },
      {
        id: 'repeats-count-as-first-attempts',
        rule: 'Work that was taken up before is a repeat.',
        find: `        (work.attempts === 0 ? this.#fresh : this.#repeats).push(work);`,
        replace: `        this.#fresh.push(work);`,
      },
      {
        id: 'never-given-up',
        rule: 'Work that was taken up too often is given up.',
        find: `      if (attempt > this.#config.recoveryAttempts) {`,
        replace: `      if (attempt > this.#config.recoveryAttempts * 1_000) {`,
      },
      {
        id: 'uncounted-take-up-runs',
        rule: 'Work that is finished or no longer due is not run.',
        find: `      if (attempt === undefined) return;
      if (attempt >`,
        replace: `      if (attempt !== undefined && attempt >`,
      },
      {
        id: 'work-of-lost-slots-runs',
        rule: 'Work of a slot that has moved is left to its new owner.',
        find: `      if (this.#stopped || !this.#node.owns(work.slot) || !this.#node.mayAct()) return;`,
        replace: `      if (this.#stopped) return;`,
      },
      {
        id: 'failed-work-not-looked-for',
        rule: 'Work that failed is found again.',
        find: `      this.#scanLater(this.#config.recoveryRetryMs);`,
        replace: ``,
      },
      {
        id: 'full-look-waits-for-the-sweep',
        rule: 'A full look is followed by the next at once.',
        find: `      if (found.length >= limit && last?.id !== beyond?.id) this.#beyond = last;`,
        replace: `      if (found.length < 0 && last?.id !== beyond?.id) this.#beyond = last;`,
      },
      {
        id: 'taken-up-twice',
        rule: 'A look does not take up work that is being handled.',
        find: `        if (this.#takenUp.has(work.id) || !this.#node.owns(work.slot)) continue;`,
        replace: `        if (!this.#node.owns(work.slot)) continue;`,
      },
    ],
    recovering,
  ),
  ...mutantsOf(
    'cluster/recovery/durable-timers.ts',
    [
      {
        id: 'timers-unread-on-a-move',
        rule: 'The timers of gained slots are read at once.',
        find: `    this.#unsubscribe = this.#node.onRing(() => void this.#read());`,
        replace: `    this.#unsubscribe = this.#node.onRing(() => undefined);`,
      },
      {
        id: 'timers-not-refreshed',
        rule: 'Timers are read again and again.',
        find: `      void this.#read();
      this.#refreshLater();`,
        replace: `      this.#refreshLater();`,
      },
      {
        id: 'timer-of-lost-slot-fires',
        rule: 'A timer fires only at the owner of its slot that may act.',
        find: `      if (!this.#node.owns(next.slot) || !this.#node.mayAct()) continue;`,
        replace: ``,
      },
      {
        id: 'early-timer-forgotten',
        rule: 'A timer that is not due yet by the clock of the store fires later.',
        find: `      else this.armed({ id: entry.id, slot: entry.slot, dueInMs: retryInMs });`,
        replace: ``,
      },
      {
        id: 'failed-firing-forgotten',
        rule: 'A firing that failed is repeated.',
        find: `      this.armed({ id: entry.id, slot: entry.slot, dueInMs: this.#config.recoveryRetryMs });`,
        replace: ``,
      },
      {
        id: 'disarmed-timer-fires',
        rule: 'A timer that was moved or removed does not fire.',
        find: `      if (this.#known.get(next.id) !== next) continue;`,
        replace: ``,
      },
      {
        id: 'timers-without-bound',
        rule: 'At most so many timers fire at once.',
        find: `next.atMs <= nowMs + 1 && this.#firing < this.#config.timerConcurrency;`,
        replace: `next.atMs <= nowMs + 1;`,
      },
    ],
    timing,
  ),
  ...mutantsOf(
    'cluster/membership/redis/renew.lua',
    [
      {
        id: 'late-renewal-executed',
        rule: 'Redis refuses a renewal whose sender has given up.',
        find: `if late > tonumber(ARGV[8]) then`,
        replace: `if late > tonumber(ARGV[8]) * 1000000 then`,
      },
      {
        id: 'removed-lease-created-again',
        rule: 'A lease that was removed is not created again.',
        find: `elseif not before and ARGV[4] == mark then`,
        replace: `elseif not before and ARGV[4] == 'never' then`,
      },
      {
        id: 'older-renewal-overwrites',
        rule: 'A renewal that arrives after a later one changes nothing.',
        find: `elseif not before or tonumber(ARGV[2]) >= tonumber(string.match(before, '^%d+')) then`,
        replace: `elseif true then`,
      },
      {
        id: 'replica-keeps-the-mark',
        rule: 'A promoted replica gets a new generation mark.',
        find: `if not mark or replaced or redis.call('HGET', KEYS[1], 'mark-server') ~= server then`,
        replace: `if not mark or replaced then`,
      },
    ],
    redis,
  ),
  ...mutantsOf(
    'cluster/membership/redis/remove.lua',
    [
      {
        id: 'late-vote-executed',
        rule: 'Redis refuses a vote whose sender has given up.',
        find: `if now - tonumber(ARGV[9]) > tonumber(ARGV[10]) then`,
        replace: `if now < 0 then`,
      },
      {
        id: 'renewed-lease-removed',
        rule: 'A lease that was renewed since the vote is not removed.',
        find: `if renewals ~= ARGV[3] then`,
        replace: `if renewals == '' then`,
      },
      {
        id: 'votes-not-counted',
        rule: 'A lease is removed only with enough votes.',
        find: `if votes < tonumber(ARGV[5]) then`,
        replace: `if votes < 1 then`,
      },
      {
        id: 'old-votes-count',
        rule: 'Votes count for a bounded time.',
        find: `  if counts and now - tonumber(raised[index + 1]) <= tonumber(ARGV[6]) then`,
        replace: `  if counts then`,
      },
      {
        id: 'removed-before-the-silence',
        rule: 'A lease is removed only after the required silence.',
        find: `if silent < tonumber(ARGV[7]) then`,
        replace: `if silent < 0 then`,
      },
      {
        id: 'vote-of-another-generation',
        rule: 'A vote of another generation removes nothing.',
        find: `if not lease or mark ~= ARGV[1] then`,
        replace: `if not lease then`,
      },
    ],
    redis,
  ),
  ...mutantsOf(
    'cluster/membership/redis/publish.lua',
    [
      {
        id: 'view-over-another-view',
        rule: 'A view is published only on top of the one that it was made from.',
        find: `  fits = current and string.match(current, '^%d+ %x+') == ARGV[3]`,
        replace: `  fits = current`,
      },
      {
        id: 'restored-over-a-newer-view',
        rule: 'A restored view does not replace a newer one.',
        find: `  fits = not current or tonumber(string.match(current, '^%d+')) < tonumber(string.match(ARGV[2], '^%d+'))`,
        replace: `  fits = true`,
      },
      {
        id: 'late-publication-executed',
        rule: 'Redis refuses a view whose maker has given up.',
        find: `if now - tonumber(ARGV[5]) > tonumber(ARGV[6]) then`,
        replace: `if now < 0 then`,
      },
      {
        id: 'view-of-another-generation',
        rule: 'A view of another generation is not published.',
        find: `if redis.call('HGET', KEYS[1], 'mark') ~= ARGV[1] or redis.call`,
        replace: `if redis.call`,
      },
    ],
    redis,
  ),
  ...mutantsOf(
    'cluster/membership/redis/release.lua',
    [
      {
        id: 'departure-not-recorded',
        rule: 'A released lease leaves a departure record.',
        find: `redis.call('HSET', KEYS[1], 'left:' .. ARGV[1], ARGV[2] .. ' ' .. string.format('%.0f', now))`,
        replace: ``,
      },
    ],
    redis,
  ),
];
