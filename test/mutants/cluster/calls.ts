import { mutantsOf } from '../mutant.js';

const calling = {
  tests: [
    'test/unit/cluster/retry.test.ts',
    'test/unit/cluster/effects.test.ts',
    'test/unit/cluster/calls.test.ts',
    'test/unit/cluster/failures.test.ts',
    'test/unit/cluster/store-retries.test.ts',
  ],
};
const streaming = {
  tests: ['test/unit/cluster/stream-epochs.test.ts', 'test/unit/cluster/calls.test.ts'],
};
const linking = {
  tests: [
    'test/unit/cluster/effects.test.ts',
    'test/unit/cluster/links/',
    'test/unit/cluster/failures.test.ts',
  ],
};
const moving = { tests: ['test/unit/cluster/drain.test.ts', 'test/unit/cluster/moving.test.ts'] };

/** Calls on their way to their actors, the links that carry them, and the end of a process. */
export const calls = [
  ...mutantsOf(
    'cluster/routing/retry.ts',
    [
      {
        id: 'non-idempotent-calls-resent',
        rule: 'A call that may have run is repeated only if its method allows it.',
        find: `      return error.notBegun || method.idempotent ? 'pause' : 'end';`,
        replace: `      return 'pause';`,
      },
      {
        id: 'idempotent-calls-not-resent',
        rule: 'A call that no handler can have started is resent.',
        find: `      return error.notBegun || method.idempotent ? 'pause' : 'end';`,
        replace: `      return method.idempotent ? 'pause' : 'end';`,
      },
      {
        id: 'store-failure-repeats-a-call',
        rule: 'A call whose write failed is repeated only if its method allows it.',
        find: `      return error.notBegun || method.idempotent ? 'pause_for_store' : 'end';`,
        replace: `      return 'pause_for_store';`,
      },
    ],
    calling,
  ),
  ...mutantsOf(
    'cluster/routing/router.ts',
    [
      {
        id: 'local-call-without-the-lease',
        rule: 'A process without the right to admit takes no call of its own.',
        find: `if (isNested ? membership.mayAct() : membership.mayAdmit()) this.#attemptLocal`,
        replace: `if (isNested || membership.view().number >= 0) this.#attemptLocal`,
      },
      {
        id: 'hops-unbounded',
        rule: 'A call follows "moved" a bounded number of times.',
        find: `isOver || pending.hops > this.#parts.config.hopsMax) {`,
        replace: `isOver) {`,
      },
      {
        id: 'waits-for-the-store-for-ever',
        rule: 'A call waits for the store no longer than a short failover.',
        find: `    return nowMs - pending.storeAwaySinceMs < config.storeRetryMs;`,
        replace: `    return nowMs - pending.storeAwaySinceMs < config.storeRetryMs * 1_000;`,
      },
      {
        id: 'waiting-calls-not-woken',
        rule: 'A new ring wakes the calls that wait for an owner.',
        find: `      pending.pause?.cancel();
      this.#resume(pending);`,
        replace: ``,
        tests: ['test/unit/cluster/moving.test.ts'],
      },
      {
        id: 'stream-starts-over',
        rule: 'A stream that was moved continues after its last message.',
        find: `    this.#attempt(pending, next.input);`,
        replace: `    this.#attempt(pending, pending.input);`,
      },
      {
        id: 'repeated-under-a-new-id',
        rule: 'A repeat carries the request id of the first attempt.',
        find: `      requestId: pending.requestId,
      repeatable`,
        replace: `      requestId: requestId(\`\${pending.requestId}-\${pending.attempts}\`),
      repeatable`,
      },
    ],
    calling,
  ),
  ...mutantsOf(
    'cluster/routing/receiver.ts',
    [
      {
        id: 'wrong-owner-serves',
        rule: 'A process that does not own the slot answers "moved".',
        find: `    if (!rings.owns(target.slot)) {`,
        replace: `    if (rings.view.number < 0) {`,
        tests: ['test/unit/cluster/moving.test.ts'],
      },
      {
        id: 'remote-call-without-the-lease',
        rule: 'A process without the right to admit takes no call of others.',
        find: `    } else if (call.chain.length > 0 ? !membership.mayAct() : !membership.mayAdmit()) {`,
        replace: `    } else if (membership.view().number < 0) {`,
      },
      {
        id: 'older-view-answers',
        rule: "A receiver with an older view waits for the caller's.",
        find: `    if (incoming.view === undefined || incoming.view.number <= rings.view.number) {`,
        replace: `    if (incoming.view === undefined || rings.view.number > 0) {`,
        tests: ['test/unit/cluster/moving.test.ts'],
      },
    ],
    calling,
  ),
  ...mutantsOf(
    'cluster/routing/ring-keeper.ts',
    [
      {
        id: 'former-members-forgotten',
        rule: 'The process of a running turn is known although it left the view.',
        find: `    return this.#known.get(process);`,
        replace: `    return this.#ring.view.members.find((member) => member.process === process);`,
        tests: ['test/unit/cluster/moving.test.ts'],
      },
    ],
    moving,
  ),
  ...mutantsOf(
    'cluster/routing/pending-call.ts',
    [
      {
        id: 'stream-without-resume-restarts',
        rule: 'A stream that cannot continue ends instead of repeating messages.',
        find: `    if (this.#received === 0) return { input: this.input };`,
        replace: `    if (this.#received === 0 || this.method.resume === undefined) return { input: this.input };`,
        tests: ['test/unit/cluster/stream-epochs.test.ts'],
      },
    ],
    streaming,
  ),
  ...mutantsOf(
    'cluster/streams/stream-epochs.ts',
    [
      {
        id: 'older-stream-goes-on',
        rule: 'An older stream of an actor ends when a newer epoch is seen.',
        find: `      if (stream.epoch < newest) stream.superseded(newest);`,
        replace: ``,
      },
    ],
    streaming,
  ),
  ...mutantsOf(
    'cluster/links/frame-writer.ts',
    [
      {
        id: 'frames-after-the-lease',
        rule: 'No frame leaves after the right to act has run out.',
        find: `    if (!this.#mayAct()) {
      this.#onLapse();
      return;
    }`,
        replace: ``,
      },
      {
        id: 'frames-overtake-a-long-body',
        rule: 'Later frames of a call wait for the end of its long body.',
        find: `    const bulk = id === 0 || this.#bulkById.size === 0 ? undefined : this.#bulkById.get(id);`,
        replace: `    const bulk = id >= 0 ? undefined : this.#bulkById.get(id);`,
        tests: ['test/unit/cluster/links/order.test.ts'],
      },
    ],
    linking,
  ),
  ...mutantsOf(
    'cluster/links/peer-link.ts',
    [
      {
        id: 'refusals-not-reported',
        rule: 'A refused link tells membership that the process may be gone.',
        find: `    if (error.refused || error.tag === 'wrong_process') this.#host.refused(this.#member.process);`,
        replace: ``,
        tests: ['test/unit/cluster/links/simulated-link.test.ts'],
      },
      {
        id: 'unsent-calls-wait-for-a-former-member',
        rule: 'Calls that were not sent yet fail when their peer leaves the view.',
        find: `    this.#failWaiting(new ClusterError('peer_lost', \`\${this.#member.process} has left the view\`, away));`,
        replace: ``,
        tests: ['test/unit/cluster/links/order.test.ts'],
      },
    ],
    linking,
  ),
  ...mutantsOf(
    'cluster/links/liveness.ts',
    [
      {
        id: 'own-pause-counts-as-silence',
        rule: 'Time in which this process itself stood still is no silence of the peer.',
        find: `    if (now - this.#checkedAtMs > 2 * this.#periodMs) this.#heardAtMs = now;`,
        replace: ``,
      },
      {
        id: 'silent-link-kept',
        rule: 'A link whose peer is silent is closed, and its calls fail.',
        find: `    if (silentMs > this.#silenceMs) {`,
        replace: `    if (silentMs > this.#silenceMs * 1_000) {`,
      },
    ],
    linking,
  ),
  ...mutantsOf(
    'cluster/links/caller-session.ts',
    [
      {
        id: 'lost-link-leaves-calls-open',
        rule: 'Every call on a lost link fails.',
        find: `    for (const answer of pending) answer.fail(error);
    this.#host.onClosed(error);`,
        replace: `    for (const answer of pending.slice(1)) answer.fail(error);
    this.#host.onClosed(error);`,
        tests: ['test/unit/cluster/links/simulated-link.test.ts'],
      },
    ],
    linking,
  ),
  ...mutantsOf(
    'cluster/links/server-session.ts',
    [
      {
        id: 'moved-without-the-view',
        rule: 'A caller receives the newer view before it reads "moved".',
        find: `    if (error.tag === 'moved') this.#sendView();`,
        replace: ``,
        tests: ['test/unit/cluster/links/order.test.ts'],
      },
      {
        id: 'streams-without-readers-go-on',
        rule: 'A stream whose caller is gone ends.',
        find: `    for (const handle of this.#running.values()) handle.detach();`,
        replace: ``,
        tests: ['test/unit/cluster/links/simulated-link.test.ts'],
      },
    ],
    linking,
  ),
  ...mutantsOf(
    'cluster/drain/drain.ts',
    [
      {
        id: 'left-before-actors-end',
        rule: 'A process says that it left only after its actors have ended.',
        find: `  table.endAll('drain');
  // A failure to end them must not keep the lease.
  const failure = await beforeLeave?.().catch((error: unknown) => error);
  await membership.leave();`,
        replace: `  await membership.leave();
  table.endAll('drain');
  const failure = await beforeLeave?.().catch((error: unknown) => error);`,
      },
      {
        id: 'drain-cuts-turns-off',
        rule: 'A drain waits for running turns.',
        find: `  while (table.busy > 0 && time`,
        replace: `  while (table.busy < 0 && time`,
      },
      {
        id: 'drain-leaves-effects-open',
        rule: 'Effects that no actor makes end before the lease is released.',
        find: `  const failure = await beforeLeave?.()`,
        replace: `  const failure = beforeLeave?.()`,
      },
    ],
    moving,
  ),
  ...mutantsOf('cluster/streams/outflow.ts', [
    {
      id: 'refused-message-leaves-its-source',
      rule: 'A stream whose message cannot be sent stops its source.',
      find: `      this.#end(error);
      return 0;`,
      replace: `      throw error;`,
      tests: ['test/unit/cluster/streams.test.ts'],
    },
  ]),
];
