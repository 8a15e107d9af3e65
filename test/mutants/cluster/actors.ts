import { mutantsOf } from '../mutant.js';

const moving = {
  tests: [
    'test/unit/cluster/moving.test.ts',
    'test/unit/cluster/effects.test.ts',
    'test/unit/cluster/turns.test.ts',
  ],
};

const evicting = { tests: ['test/unit/cluster/eviction.test.ts'] };

/** Actors in memory, and their moves. */
export const actors = [
  ...mutantsOf(
    'cluster/activation/actor-table.ts',
    [
      {
        id: 'load-outlives-a-move',
        rule: 'A load ends with the change of view that takes its slot away.',
        find: `    if (cell.state === 'loading' || !cell.busy) {`,
        replace: `    if (cell.state !== 'loading' && !cell.busy) {`,
      },
      {
        id: 'actors-stay-after-a-move',
        rule: 'Idle actors of lost slots end with the change of view.',
        find: `if (reason === 'drain' || !this.#host.owns(cell.slot)) this.#moveOut(cell, reason);`,
        replace: `if (reason === 'drain') this.#moveOut(cell, reason);`,
      },
      {
        id: 'moving-actor-takes-turns',
        rule: 'An actor that is moving begins no further turn.',
        find: `    cell.become('ending');
    this.#loop.failWaiting(
      cell,
      new ClusterError('moved', \`\${cell.kind.name} is moving\`, { notBegun: true }),
    );`,
        replace: ``,
      },
      {
        id: 'running-turn-cut-off-by-a-move',
        rule: 'A running turn finishes where it runs, whatever the view says.',
        find: `    if (cell.state === 'loading' || !cell.busy) {
      this.#end(cell, reason);`,
        replace: `    if (cell.state !== undefined) {
      this.#end(cell, reason);`,
      },
      {
        id: 'release-answered-at-once',
        rule: 'A release is answered when the running turn has ended.',
        find: `    return cell.whenGone(action);`,
        replace: `    action();
    return () => undefined;`,
      },
      {
        id: 'own-stamps-only',
        rule: 'The stamp of a process that is surely gone is ignored.',
        find: `        process === this.#host.process || this.#host.surelyGone(process),`,
        replace: `        process === this.#host.process,`,
        tests: ['test/unit/cluster/moving.test.ts'],
      },
      {
        id: 'every-stamp-ignored',
        rule: 'The stamp of a turn that may still run is obeyed.',
        find: `        process === this.#host.process || this.#host.surelyGone(process),`,
        replace: `        process === this.#host.process || process !== undefined,`,
      },
      {
        id: 'released-stamp-still-counts',
        rule: 'A release that was answered ends the wait for the stamp.',
        find: `      if (mayIgnore) released.add(loading.process);`,
        replace: ``,
      },
      {
        id: 'controls-wait-for-the-load',
        rule: 'Control calls go to the process of the running turn.',
        find: `      cell.extra.busyAt = loading.process;
      this.#loop.forwardControls(cell);`,
        replace: ``,
      },
      {
        id: 'abandoned-load-becomes-an-actor',
        rule: 'A load that ends after its cell was given up makes no actor.',
        find: `      if (cell.state !== 'loading' || loading.outcome === 'unwanted') {`,
        replace: `      if (loading.outcome === 'unwanted') {`,
      },
      {
        id: 'fenced-actor-stays',
        rule: 'An actor that lost its fence ends.',
        find: `      this.#counts.fenceRejections += 1;
      this.#end(cell, 'fenced');`,
        replace: `      this.#counts.fenceRejections += 1;`,
      },
      {
        id: 'ended-actor-keeps-writing',
        rule: 'An activation that has ended starts no further write.',
        find: `    cell.holder?.close(failure);`,
        replace: ``,
      },
      {
        id: 'running-calls-left-open',
        rule: 'Calls that run in an actor fail when it ends.',
        find: `    for (const call of cell.runningCalls()) call.fail(failure);`,
        replace: ``,
      },
      {
        id: 'waiting-calls-left-open',
        rule: 'Calls that wait for an actor fail when it ends.',
        find: `    this.#loop.failWaiting(cell, withNotBegun(failure));`,
        replace: ``,
      },
      {
        id: 'cycle-waits',
        rule: 'A call that comes back to a waiting turn is refused.',
        find: `call.chain.includes(\`\${kindName}\\0\${text}\`)`,
        replace: `call.chain.includes(kindName)`,
      },
      {
        id: 'repeats-run-again',
        rule: 'A repeated request joins the running one or receives its answer.',
        find: `if (call.repeatable && !call.method.streams && this.#repeats(cell, call, payload)) return;`,
        replace: `if (!call.repeatable && call.method.streams && this.#repeats(cell, call, payload)) return;`,
      },
      {
        id: 'lost-lease-keeps-actors',
        rule: 'Every actor ends at once when the lease is lost.',
        find: `      for (const cell of cells.values()) this.#end(cell, reason);
    }
    this.#sweep?.cancel();`,
        replace: `      for (const cell of cells.values()) if (!cell.busy) this.#end(cell, reason);
    }
    this.#sweep?.cancel();`,
      },
    ],
    moving,
  ),
  ...mutantsOf(
    'cluster/activation/actor-table.ts',
    [
      {
        id: 'ended-actor-keeps-its-bytes',
        rule: 'An actor that has left memory holds nothing.',
        find: `    this.#bytes.remove(cell);`,
        replace: `    void this.#bytes;`,
      },
      {
        id: 'empty-actors-evicted-for-bytes',
        rule: 'An actor that holds nothing makes no room for bytes.',
        find: `cell.isIdle && cell.bytes > 0;`,
        replace: `cell.isIdle;`,
      },
    ],
    evicting,
  ),
  ...mutantsOf(
    'cluster/activation/resident-bytes.ts',
    [
      {
        id: 'held-bytes-unbounded',
        rule: 'What the actors of a node hold is bounded.',
        find: `    while (this.#sum > this.#max) if`,
        replace: `    while (this.#sum > this.#max * 1_000) if`,
      },
    ],
    evicting,
  ),
  ...mutantsOf(
    'cluster/activation/message-loop.ts',
    [
      {
        id: 'streams-take-places-of-control-calls',
        rule: 'Open streams keep no control call out.',
        find: `    if (cell.besides(call) < `,
        replace: `    if (cell.parallel < `,
        tests: ['test/unit/cluster/control-streams.test.ts'],
      },
      {
        id: 'two-turns-at-once',
        rule: 'The turns of an actor run one at a time.',
        find: `const isFree = cell.state === 'ready' && cell.running === undefined && cell.waiting === 0;`,
        replace: `const isFree = cell.state === 'ready' && cell.waiting === 0;`,
      },
      {
        id: 'turns-in-any-order',
        rule: 'The turns of an actor run in their order of arrival.',
        find: `    if (isFree && this.#dispatcher.mayStartNow()) this.#run(cell, call);`,
        replace: `    if (cell.state === 'ready' && cell.running === undefined) this.#run(cell, call);`,
        tests: ['test/unit/cluster/turns.test.ts'],
      },
      {
        id: 'ending-actor-refuses',
        rule: 'A call for an actor whose slot came back during a turn waits for the end of that turn.',
        find: `    const isFree = cell.state`,
        replace: `    if (cell.state === 'ending') {
      call.fail(new ClusterError('moved', \`\${cell.kind.name} is moving\`, { notBegun: true }));
      return;
    }
    const isFree = cell.state`,
        tests: ['test/unit/cluster/moving.test.ts'],
      },
      {
        id: 'moved-actor-never-ends',
        rule: 'A moving actor ends with its last turn.',
        find: `    if (cell.state === 'ending' && !cell.busy) this.#host.finished(cell);
    else if`,
        replace: `    if`,
      },
      {
        id: 'next-turn-not-started',
        rule: 'The end of a turn starts the next one.',
        find: `    else if (cell.state === 'ready' && cell.running === undefined && cell.waiting > 0) {
      this.#dispatcher.enqueue(cell);
    }`,
        replace: ``,
      },
    ],
    moving,
  ),
  ...mutantsOf(
    'cluster/activation/answer-memory.ts',
    [
      {
        id: 'same-id-other-payload',
        rule: 'A request id with another payload is refused.',
        find: `    if (answer.method !== call.method.name || payloadOf(answer, call) !== (payload || hashOf(call))) {`,
        replace: `    if (answer.method !== call.method.name || payloadOf(answer, call) < 0 * (payload || hashOf(call))) {`,
      },
      {
        id: 'retryable-failure-remembered',
        rule: 'A failure that may be retried is not remembered as the answer.',
        find: `    if (!isFinal) this.#answers.delete(call.requestId);`,
        replace: ``,
      },
      {
        id: 'repeat-ends-with-its-first-caller',
        rule: 'A call goes on for its repeats when its caller cancels, or its deadline passes.',
        find: `    call.awaitedUntilMs = () => latestDeadline(answer.joined);`,
        replace: ``,
        tests: ['test/unit/cluster/left-calls.test.ts'],
      },
      {
        id: 'joined-calls-forgotten',
        rule: 'Calls that joined a running request receive its answer.',
        find: `    for (const other of joined ?? []) {`,
        replace: `    for (const other of joined?.slice(1) ?? []) {`,
      },
    ],
    moving,
  ),
  ...mutantsOf(
    'cluster/routing/handoff.ts',
    [
      {
        id: 'no-wait-for-the-release',
        rule: 'A new owner waits until the running turn has ended, or its process is gone.',
        find: `        if (leftMs <= 0) return false;
        if (membership`,
        replace: `        if (leftMs > 0) return true;
        if (membership`,
      },
      {
        id: 'gone-process-waited-for',
        rule: 'The wait for a release ends when its process is surely gone.',
        find: `        if (membership.surelyGone(process)) {`,
        replace: `        if (remainingMs < 0) {`,
      },
      {
        id: 'failed-question-counts-as-released',
        rule: 'A question that failed is no release.',
        find: `fail: () => settle(false) };`,
        replace: `fail: () => settle(true) };`,
      },
      {
        id: 'forwarded-controls-lost',
        rule: 'Controls that were forwarded to a dead process come back.',
        find: `          links.lose(process);
          return true;`,
        replace: `          return true;`,
      },
    ],
    moving,
  ),
];
