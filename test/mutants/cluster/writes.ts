import { mutantsOf } from '../mutant.js';

const fence = 'cluster/fencing/postgres/fence-store.ts';
const fencing = { tests: ['test/integration/cluster/fencing/postgres-fence-store.test.ts'] };

/** What is written under a fence. */
export const writes = [
  ...mutantsOf(
    'cluster/fencing/group-commit.ts',
    [
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
        id: 'batch-of-any-bytes',
        rule: 'A batch is bounded in bytes.',
        find: `      if (flights.length > 0 && bytes > writeBatchBytesMax) break;`,
        replace: `      if (flights.length > 0 && bytes > writeBatchBytesMax * 1_000) break;`,
      },
      {
        id: 'revision-not-raised',
        rule: 'Each committed write raises the revision that the next one expects.',
        find: `      holder.fence = { ...holder.fence, revision: revision(holder.fence.revision + 1) };`,
        replace: `      holder.fence = { ...holder.fence, revision: revision(holder.fence.revision) };`,
      },
    ],
    { tests: ['test/unit/cluster/group-commit.test.ts'] },
  ),
  ...mutantsOf(
    'cluster/fencing/postgres/activations.ts',
    [
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
        id: 'load-before-the-raise',
        rule: 'The load reads a later snapshot than the one that raised the epoch.',
        find: `    return [begin, raising, this.#tables.load(load), 'commit'];
  }

  #activated(
    { address, activationId, load }: ActivateRequest<Load>,
    [, raised, loaded]`,
        replace: `    return [begin, this.#tables.load(load), raising, 'commit'];
  }

  #activated(
    { address, activationId, load }: ActivateRequest<Load>,
    [, loaded, raised]`,
      },
      {
        id: 'patient-activations',
        rule: 'Activations that are sent together wait for a row lock only a short time.',
        find: `this.#statements(beginTogether, request, [])`,
        replace: `this.#statements(beginActivation, request, [])`,
      },
      {
        id: 'failed-activation-fails-all',
        rule: 'An activation that fails among others fails alone.',
        find: `      if (!isStatementError(failure.reason)) throw failure.reason;`,
        replace: `      throw failure.reason;`,
      },
    ],
    { ...fencing, tests: ['test/integration/cluster/fencing/activations.test.ts', ...fencing.tests] },
  ),
  ...mutantsOf(
    'cluster/fencing/postgres/failures.ts',
    [
      {
        id: 'refused-statement-repeated',
        rule: 'A statement that the store refuses is not repeated with the whole batch.',
        find: `  return !transientClass.test(code);`,
        replace: `  return /^(?:22|23|42|44|P0)/.test(code) && !transientClass.test(code);`,
      },
    ],
    fencing,
  ),
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
        id: 'stamp-not-freed',
        rule: 'The last write of a turn frees the stamp.',
        find: `        busy_process = case $4::text when 'busy' then $5::text when 'free' then null else busy_process end,
        busy_until = case $4::text`,
        replace: `        busy_process = case $4::text when 'busy' then $5::text else busy_process end,
        busy_until = case $4::text`,
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
];
