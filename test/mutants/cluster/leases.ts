import { mutantsOf } from '../mutant.js';

const effects = { tests: ['test/unit/cluster/effects.test.ts'] };

/** The right to act: leases, promises, and the effects and frames that depend on them. */
export const leases = [
  ...mutantsOf('cluster/membership/cluster-membership.ts', [
    {
      id: 'effects-ignore-the-lease',
      rule: 'An effect looks at the lease right before it happens.',
      find: `    if (this.#lease.ageMs() < this.#parts.config.leaseActMs) return true;
    this.#fence('no renewal was confirmed in time');
    return false;`,
      replace: `    return true;`,
    },
    {
      id: 'act-for-the-whole-lease',
      rule: 'Acting stops before a successor may begin.',
      find: `    if (this.#lease.ageMs() < this.#parts.config.leaseActMs) return true;`,
      replace: `    if (this.#lease.ageMs() < this.#parts.config.leaseMs + 2_000) return true;`,
    },
    {
      id: 'expired-lease-comes-back',
      rule: 'A process whose right to act has run out is never a member again.',
      find: `    this.#fence('no renewal was confirmed in time');`,
      replace: ``,
    },
    {
      id: 'admit-until-the-end',
      rule: 'Admission of new work stops at half a lease.',
      find: `this.#lease.ageMs() < this.#parts.config.leaseAdmitMs;`,
      replace: `this.mayAct();`,
    },
    {
      id: 'admit-while-leaving',
      rule: 'A leaving process admits no new work.',
      find: `if (this.#leaving || !this.mayAct()) return false;`,
      replace: `if (!this.mayAct()) return false;`,
    },
    {
      id: 'removed-lease-ignored',
      rule: 'A process whose lease others removed ends its actors.',
      find: `if (this.#isWorker()) this.#fence('other processes removed the lease');`,
      replace: `if (this.#isWorker()) this.#contact.forgetGeneration();`,
    },
    {
      id: 'excluded-by-a-view-ignored',
      rule: 'A member that a new view excludes ends its actors.',
      find: `      this.#fence('a new view excludes this process');
      return;`,
      replace: ``,
    },
    {
      id: 'promise-ignored-at-adoption',
      rule: 'A process adopts no view without a process that it has promised to wait for.',
      find: `    if (this.#promises.bind([this.#view], view)) return;`,
      replace: ``,
    },
    {
      id: 'promise-not-published',
      rule: 'A renewal states how long its sender is bound by promises.',
      find: `        promisedMs: this.#promises.statedMs(this.#isMember() && this.#contact.isAway()),
        holds`,
      replace: `        promisedMs: 0,
        holds`,
    },
    {
      id: 'free-while-it-may-promise',
      rule: 'A renewal sent while its sender may promise does not call it free.',
      find: `this.#promises.statedMs(this.#isMember() && this.#contact.isAway())`,
      replace: `this.#promises.statedMs(!this.#isMember() && this.#contact.isAway())`,
      tests: ['test/unit/cluster/membership/confirming.test.ts'],
    },
    {
      id: 'promise-not-in-departure',
      rule: 'A departure record states how long promises still bind.',
      find: `return { process: this.self.process, promisedMs: this.#promises.remainingMs() };`,
      replace: `return { process: this.self.process, promisedMs: 0 };`,
    },
    {
      id: 'held-view-not-reported',
      rule: 'A renewal states which view its sender holds.',
      find: `        holds: this.#view.number,`,
      replace: `        holds: viewNumber(1_000_000),`,
    },
    {
      id: 'confirm-while-reaching-redis',
      rule: 'Only a process that cannot reach Redis itself confirms others.',
      find: `      this.#contact.isAway() &&
      this.#isMember() &&`,
      replace: `      this.#isMember() &&`,
    },
    {
      id: 'confirm-any-view',
      rule: 'A process confirms only peers that hold its own view.',
      find: `      sameView(request.view, this.#view) &&
`,
      replace: ``,
    },
    {
      id: 'confirm-without-right-to-act',
      rule: 'A process without the right to act confirms nobody.',
      find: `      sameView(request.view, this.#view) &&
      this.mayAct()`,
      replace: `      sameView(request.view, this.#view)`,
    },
    {
      id: 'confirm-while-excluded',
      rule: 'Only a member of the view confirms others.',
      find: `      this.#isMember() &&
      includes(this.#view, this.self.process) &&`,
      replace: ``,
    },
    {
      id: 'confirmed-for-an-older-view',
      rule: 'Confirmations count only for the view that they were asked for.',
      find: `if (this.#isOver() || !sameView(view, this.#view)) return;`,
      replace: `if (this.#isOver()) return;`,
      tests: ['test/unit/cluster/membership/confirming.test.ts'],
    },
    {
      id: 'confirmed-after-the-right-ended',
      rule: 'A confirmation does not bring back a right to act that has run out.',
      find: `if (!confirmed || !this.mayAct()) return;`,
      replace: `if (!confirmed || this.#standing === 'fenced') return;`,
      tests: ['test/unit/cluster/membership/confirming.test.ts'],
    },
    {
      id: 'confirmation-counts-from-its-end',
      rule: 'The asker counts a confirmed lease from the start of its question.',
      find: `      this.#lease.extend(start);
      this.#parts.trace?.record({ event: 'confirm'`,
      replace: `      this.#lease.extend(instantOf(time));
      this.#parts.trace?.record({ event: 'confirm'`,
    },
    {
      id: 'unconfirmed-goes-on',
      rule: 'Without a majority of confirmations a process does not go on.',
      find: `if (!confirmed || !this.mayAct()) return;`,
      replace: `if (!this.mayAct()) return;`,
    },
    {
      id: 'renewal-counts-from-its-answer',
      rule: 'The right to act counts from the start of a renewal, not from its answer.',
      find: `        this.#lease.extend(start);
        this.#parts.trace?.record({ event: 'renew'`,
      replace: `        this.#lease.extend(instantOf(this.#parts.time));
        this.#parts.trace?.record({ event: 'renew'`,
    },
    {
      id: 'own-view-not-restored',
      rule: 'A store that lost the view gets it back from its holders.',
      find: `    else if (this.#view.number > 0 && this.#isWorker())`,
      replace: `    else if (this.#view.number < 0)`,
    },
    {
      id: 'older-view-adopted',
      rule: 'A view is followed only if its number is higher.',
      find: `if (view.number <= this.#view.number || this.#isOver()) return;`,
      replace: `if (view.number === this.#view.number || this.#isOver()) return;`,
      tests: ['test/unit/cluster/membership/who-changes-the-view.test.ts'],
    },
    {
      id: 'member-counts-as-gone',
      rule: 'A member of the view is not gone.',
      find: `    if (process === this.self.process || includes(this.#view, process)) return false;`,
      replace: `    if (process === this.self.process) return false;`,
      tests: ['test/unit/cluster/membership/who-changes-the-view.test.ts'],
    },
    {
      id: 'gone-without-certainty',
      rule: 'A process that left the view counts as gone only after the whole lease.',
      find: `    if (!this.#observer.hasDeparted(process) && !this.#electorate.isSilentForGood(process, this.#seizures))
      return false;`,
      replace: ``,
    },
    {
      id: 'departure-waits-for-the-lease',
      rule: 'A departure record ends the wait for a lease.',
      find: `!this.#observer.hasDeparted(process) && !this.#electorate`,
      replace: `!this.#electorate`,
    },
    {
      id: 'certainty-kept-to-itself',
      rule: 'Members that know a process to be gone tell those that joined later.',
      find: `    this.#removal.surelyGone(process);
    return true;`,
      replace: `    return true;`,
    },
    {
      id: 'lease-not-released-when-fenced',
      rule: 'A process that lost its right to act releases its lease, so that nobody waits for it.',
      find: `    this.#parts.store
      .release(this.#departing())
      .catch(`,
      replace: `    Promise.resolve()
      .catch(`,
    },
    {
      id: 'others-away-only',
      rule: 'A view changes only while the process that changes it reaches Redis.',
      find: `!this.#isOver() && !this.#contact.isAway() && this.mayAct(),`,
      replace: `!this.#isOver() && this.mayAct(),`,
      tests: ['test/unit/cluster/membership/who-changes-the-view.test.ts'],
    },
    {
      id: 'leaver-changes-the-view',
      rule: 'A leaving process does not change the view.',
      find: `this.#isWorker() && !this.#leaving && !this.#isOver() && !this.#contact`,
      replace: `this.#isWorker() && !this.#isOver() && !this.#contact`,
      tests: ['test/unit/cluster/membership/who-changes-the-view.test.ts'],
    },
    {
      id: 'bound-process-counts-as-free',
      rule: 'A process with an unexpired promise is not free itself.',
      find: `!this.#contact.isAway() && this.#promises.remainingMs() === 0;`,
      replace: `!this.#contact.isAway();`,
      tests: ['test/unit/cluster/membership/who-changes-the-view.test.ts'],
    },
  ]),
  ...mutantsOf('cluster/membership/promises.ts', [
    {
      id: 'promise-not-kept',
      rule: 'A confirmation is a promise for one lease.',
      find: `    this.#untilMs.set(process, this.#time.monotonicMs() + forMs);`,
      replace: `    void [process, forMs];`,
    },
    {
      id: 'promise-ends-early',
      rule: 'A promise lasts as long as the lease that it confirms.',
      find: `this.#time.monotonicMs() + forMs);`,
      replace: `this.#time.monotonicMs() + forMs / 2);`,
    },
    {
      id: 'promise-never-ends',
      rule: 'A promise expires.',
      find: `if (untilMs <= nowMs) this.#untilMs.delete(process);`,
      replace: `if (untilMs <= nowMs - 3_600_000) this.#untilMs.delete(process);`,
    },
  ]),
  ...mutantsOf('cluster/membership/lease-clock.ts', [
    {
      id: 'monotonic-clock-alone',
      rule: 'The clock that counted more time decides: the monotonic clock stands still in a pause.',
      find: `Math.max(time.monotonicMs() - from.monotonicMs, time.wallMs() - from.wallMs)`,
      replace: `time.monotonicMs() - from.monotonicMs`,
    },
    {
      id: 'wall-clock-alone',
      rule: 'The clock that counted more time decides: the wall clock may be set back.',
      find: `Math.max(time.monotonicMs() - from.monotonicMs, time.wallMs() - from.wallMs)`,
      replace: `time.wallMs() - from.wallMs`,
    },
    {
      id: 'late-answer-shortens-the-lease',
      rule: 'An answer that arrives out of order does not shorten the right to act.',
      find: `if (this.#from === undefined || from.monotonicMs > this.#from.monotonicMs) this.#from = from;`,
      replace: `this.#from = from;`,
      tests: ['test/unit/cluster/membership/lease-clock.test.ts'],
    },
  ]),
  ...mutantsOf('cluster/membership/peer-confirmation.ts', [
    {
      id: 'half-confirms',
      rule: 'More than half of the workers of the view must confirm.',
      find: `!seized && promises * 2 > workers;`,
      replace: `!seized && promises * 2 >= workers;`,
    },
    {
      id: 'confirmed-without-the-seized-number',
      rule: 'A process that goes on without Redis has read the seized number before.',
      find: `        seized = number > view.number;`,
      replace: `        seized = number < 0;`,
    },
    {
      id: 'unknown-number-counts-as-unseized',
      rule: 'If PostgreSQL does not answer either, all workers must confirm.',
      find: `        outdated = false;
        settle();`,
      replace: `        outdated = false;
        seized = false;
        settle();`,
    },
    {
      id: 'all-promises-outweigh-a-seized-number',
      rule: 'A number that was read to be seized counts even if all workers confirm: a process that joined may have seized it.',
      find: `seized === 'unknown' ? promises === workers : !seized && promises * 2 > workers;`,
      replace: `promises === workers || (seized === false && promises * 2 > workers);`,
    },
    {
      id: 'confirmed-in-an-outdated-generation',
      rule: 'A process does not go on once another generation of Redis was named.',
      find: `        outdated = newest !== undefined && newest.generation !== generation;`,
      replace: `        outdated = newest === undefined && generation === '';`,
    },
    {
      id: 'confirmed-by-another-process',
      rule: 'Only the asked process itself can confirm.',
      find: `answer.reply.confirmed && answer.reply.from === peer.process;`,
      replace: `answer.reply.confirmed;`,
      tests: ['test/unit/cluster/membership/peer-confirmation.test.ts'],
    },
    {
      id: 'any-reply-confirms',
      rule: 'A reply without a promise is no confirmation.',
      find: `answer.reply.confirmed && answer.reply.from`,
      replace: `answer.reply.from`,
    },
  ]),
  ...mutantsOf(
    'cluster/membership/departures.ts',
    [
      {
        id: 'effects-clear-does-nothing',
        rule: 'Effects of a successor wait until its predecessor is surely gone.',
        find: `      if (!this.#membership.surelyGone(process)) await this.#membership.whenSurelyGone(process, signal);`,
        replace: `      void signal;`,
      },
      {
        id: 'leaving-process-not-asked',
        rule: 'Effects of a successor wait until a process that leaves in order has ended the actor.',
        find: `        await released(process);`,
        replace: `        void released;`,
      },
      {
        id: 'leaving-process-waited-for',
        rule: 'Effects do not wait for the end of a drain.',
        find: `      if (this.#leavesInOrder(process)) {`,
        replace: `      if (this.#leavesInOrder(process) && this.#membership.surelyGone(process)) {`,
      },
      {
        id: 'departures-forgotten',
        rule: 'Every process that left the view early is waited for.',
        find: `      if (!members.has(process) && process !== this.#membership.self.process) this.#departed.add(process);`,
        replace: `      if (!members.has(process) && process === this.#membership.self.process) this.#departed.add(process);`,
      },
    ],
    effects,
  ),
  ...mutantsOf(
    'cluster/activation/cell-activation.ts',
    [
      {
        id: 'activation-ignores-the-lease',
        rule: 'An actor may act only while its process has the right to.',
        find: `this.#cell.state !== 'gone' && this.#context.mayAct();`,
        replace: `this.#cell.state !== 'gone';`,
      },
      {
        id: 'ended-activation-acts',
        rule: 'An activation that has ended may not act.',
        find: `this.#cell.state !== 'gone' && this.#context.mayAct();`,
        replace: `this.#context.mayAct();`,
      },
      {
        id: 'activation-effects-clear-at-once',
        rule: 'An actor learns when its predecessor can have no more effects.',
        find: `    return this.#context.effectsClear(this.address, signal);`,
        replace: `    void signal;
    return Promise.resolve();`,
      },
    ],
    effects,
  ),
  ...mutantsOf('cluster/membership/view-maker.ts', [
    {
      id: 'departed-process-joins',
      rule: 'A process that has departed does not join.',
      find: `!gone.has(process) && !observer.hasDeparted(process)`,
      replace: `!gone.has(process)`,
      tests: ['test/unit/cluster/membership/view-maker.test.ts'],
    },
  ]),
];
