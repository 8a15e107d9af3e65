import { mutantsOf } from '../mutant.js';

/** Who is gone, who may change a view, and how. */
export const views = [
  ...mutantsOf('cluster/membership/electorate.ts', [
    {
      id: 'doubt-ignored',
      rule: 'Silence is certainty only if nobody can have confirmed the process meanwhile.',
      find: `observer.silentMs(process) >= waitMs(config) && this.doubt(seized).processes.length === 0;`,
      replace: `observer.silentMs(process) >= waitMs(config) || this.doubt(seized).newest < 0;`,
    },
    {
      id: 'certain-before-the-margin',
      rule: 'A process counts as gone only after the whole lease.',
      find: `    return observer.silentMs(process) >= waitMs(config) && this.doubt`,
      replace: `    return observer.silentMs(process) >= config.seizeSilenceMs && this.doubt`,
    },
    {
      id: 'refusal-proves-the-end',
      rule: 'A refusal by a process is no proof that it has stopped acting.',
      find: `    if (end === undefined) return false;`,
      replace: `    if (end === undefined) return this.#context.refusedMs(process) !== undefined;`,
    },
    {
      id: 'certainty-from-view-numbers',
      rule: 'Certainty needs the whole lease after a seizure, a change of view only the right to act.',
      find: `  doubt({ forCertainty }: SeizedNumbers): Opposition {`,
      replace: `  doubt({ forViews: forCertainty }: SeizedNumbers): Opposition {`,
    },
    {
      id: 'awaited-doubt-never-seized',
      rule: 'Doubt about an awaited process leads to a seizure.',
      find: `    return isAwaited ? this.doubt(seized)`,
      replace: `    return !isAwaited ? this.doubt(seized)`,
      tests: ['test/unit/cluster/membership/electorate.test.ts'],
    },
    {
      id: 'few-renewals-suffice',
      rule: 'Without PostgreSQL renewals count only while most workers renew in the same Redis.',
      find: `    return renewing.length * 2 > members.length;`,
      replace: `    return renewing.length * 2 > 0;`,
    },
    {
      id: 'promises-end-with-their-process',
      rule: 'The promises of a process that has ended must have expired before it counts as gone.',
      find: `time.monotonicMs() - end.knownMs >= config.leaseActMs + config.leaseMarginMs;`,
      replace: `time.monotonicMs() - end.knownMs >= 0;`,
      tests: ['test/unit/cluster/membership/electorate.test.ts'],
    },
    {
      id: 'removed-lease-proves-the-end',
      rule: 'A removed lease is no proof that its process has stopped acting.',
      find: `    const end = gone.end(process);`,
      replace: `    const end = (observer.vanishedMs(process) ?? 0) > 4_000 ? { wasFree: true, knownMs: 0 } : gone.end(process);`,
      tests: ['test/unit/cluster/membership/electorate.test.ts'],
    },
  ]),
  ...mutantsOf('cluster/membership/gone-processes.ts', [
    {
      id: 'ended-bound-counts-as-free',
      rule: 'A process that ended counts as free only if it had promised nothing.',
      find: `const end = { knownMs, wasFree };`,
      replace: `const end = { knownMs, wasFree: wasFree || true };`,
    },
  ]),
  ...mutantsOf('cluster/membership/quorum.ts', [
    {
      id: 'bound-process-confirms-in-newer-views-only',
      rule: 'A process may still confirm in an older view, unless it was free when it held a newer one.',
      find: `electors.heldFree(process) <= view.number`,
      replace: `electors.holds(process) <= view.number`,
    },
    {
      id: 'no-quorum',
      rule: 'No view changes while unknown processes could be a majority of a view that one may hold.',
      find: `      if (unknownMembers.length * 2 <= view.members.length) continue;`,
      replace: `      if (unknownMembers.length <= view.members.length) continue;`,
    },
    {
      id: 'half-blocks',
      rule: 'Only a majority can go on, so half of a view does not block a change.',
      find: `      if (unknownMembers.length * 2 <= view.members.length) continue;`,
      replace: `      if (unknownMembers.length * 2 < view.members.length) continue;`,
    },
    {
      id: 'only-the-last-view-counts',
      rule: 'Every view that an unknown process may still hold counts.',
      find: `for (const process of unknown) oldestHeld = Math.min(oldestHeld, electors.holds(process));`,
      replace: ``,
    },
    {
      id: 'seized-views-still-count',
      rule: 'Views older than a seized number do not count.',
      find: `      if (view.number < oldestHeld || view.number < seized) continue;`,
      replace: `      if (view.number < oldestHeld) continue;`,
    },
    {
      id: 'free-processes-block',
      rule: 'A process that renews and has promised nothing does not block.',
      find: `if (!electors.isFree(process) && !electors.isGone(process)) unknown.add(process);`,
      replace: `if (!electors.isGone(process)) unknown.add(process);`,
    },
    {
      id: 'gone-processes-block',
      rule: 'A process that gives no more promises does not block.',
      find: `if (!electors.isFree(process) && !electors.isGone(process)) unknown.add(process);`,
      replace: `if (!electors.isFree(process)) unknown.add(process);`,
    },
  ]),
  ...mutantsOf('cluster/membership/seizures.ts', [
    {
      id: 'certain-at-once-after-a-seizure',
      rule: 'After a seizure the whole lease passes before its victims are surely gone.',
      find: `    return this.#after(waitMs(this.#context.config));`,
      replace: `    return this.#after(0 * waitMs(this.#context.config));`,
    },
    {
      id: 'views-change-at-once-after-a-seizure',
      rule: 'After a seizure a view changes only once its victims must have stopped acting.',
      find: `    return this.#after(leaseActMs + leaseMarginMs);`,
      replace: `    return this.#after(0 * (leaseActMs + leaseMarginMs));`,
    },
    {
      id: 'never-seized',
      rule: 'A silent majority is not waited for for ever: a number is seized.',
      find: `void this.#readOrSeize(isBlockedBySilent ? newest : undefined);`,
      replace: `void this.#readOrSeize(isBlockedBySilent && newest < 0 ? newest : undefined);`,
    },
    {
      id: 'seized-although-they-answer',
      rule: 'No number is seized while a blocking process answers probes.',
      find: `time.monotonicMs() - answeredMs > config.leaseRenewMs;`,
      replace: `time.monotonicMs() > answeredMs;`,
    },
    {
      id: 'one-silent-suffices',
      rule: 'Every blocking process must be silent before a number is seized.',
      find: `silent.every((process) => this.#isSilent(process))`,
      replace: `silent.some((process) => this.#isSilent(process))`,
    },
    {
      id: 'seized-again-and-again',
      rule: 'A number is seized only if none above the blocking views was seized yet.',
      find: `if (silent === undefined || seized > silent || !this.#context.mayChange()) return;`,
      replace: `if (silent === undefined || !this.#context.mayChange()) return;`,
    },
    {
      id: 'others-seizures-unread',
      rule: 'A process reads a number that another seized before it died.',
      find: `    if (time.monotonicMs() - this.#readAtMs >= config.seizedReadMs) void this.#readOrSeize(undefined);`,
      replace: ``,
      tests: ['test/unit/cluster/membership/seizures.test.ts'],
    },
    {
      id: 'returned-processes-delay-a-seizure',
      rule: 'A process that renews again and is only bound by a promise does not delay a seizure.',
      find: `observer.silentMs(process) < config.memberStoreAwayMs;`,
      replace: `observer.silentMs(process) < 0;`,
      tests: ['test/unit/cluster/membership/seizures.test.ts'],
    },
  ]),
  ...mutantsOf('cluster/membership/removal.ts', [
    {
      id: 'one-refusal-removes',
      rule: 'Two peers must be refused before a lease is removed early.',
      find: `votesNeeded: workers <= 2 ? 1 : 2, silenceMs`,
      replace: `votesNeeded: 1, silenceMs`,
    },
    {
      id: 'removal-without-silence',
      rule: 'A lease is removed early only after a short silence.',
      find: `silenceMs: config.earlyRemovalSilenceMs };`,
      replace: `silenceMs: 0 };`,
    },
    {
      id: 'silent-lease-removed-early',
      rule: 'A silent lease is removed only after lease and margin.',
      find: `      if (silentMs >= waitMs(config)) {`,
      replace: `      if (silentMs >= config.seizeSilenceMs) {`,
    },
    {
      id: 'removal-despite-opposition',
      rule: 'No lease is removed while its process may be confirming others.',
      find: `      !this.#context.mayChange() ||
      this.#context.opposition().processes.length > 0
    )`,
      replace: `      !this.#context.mayChange()
    )`,
      tests: ['test/unit/cluster/membership/removal.test.ts'],
    },
    {
      id: 'renewal-does-not-refute',
      rule: 'A renewal after a refusal refutes it.',
      find: `    if (refusal === undefined || (lease !== undefined && lease.renewals !== refusal.renewals))`,
      replace: `    if (refusal === undefined || lease?.renewals === -1)`,
      tests: ['test/unit/cluster/membership/removal.test.ts'],
    },
    {
      id: 'suspects-not-probed',
      rule: 'A process that missed a renewal is probed.',
      find: `    else void this.#probe(member);
  }`,
      replace: `  }`,
      tests: ['test/unit/cluster/membership/membership.test.ts'],
    },
    {
      id: 'refused-probe-ignored',
      rule: 'A refused probe is a refusal.',
      find: `      if (answer.outcome === 'refused') this.reportRefused(member.process);
      else this`,
      replace: `      if (answer.outcome !== 'refused') this`,
      tests: ['test/unit/cluster/membership/membership.test.ts'],
    },
    {
      id: 'exit-kept-to-itself',
      rule: 'An observed exit is told to the peers.',
      find: `    this.#context.gone.add(process, 'reported');
    this.#notifyGone(process);
    void`,
      replace: `    this.#context.gone.add(process, 'reported');
    void`,
      tests: ['test/unit/cluster/membership/membership.test.ts'],
    },
    {
      id: 'newcomers-not-notified',
      rule: 'The first two members that shared a view with a dead process notify the others.',
      find: `if (notifiers.some((member) => member.process === this.#context.self.process)) this.#notifyGone(process);`,
      replace: `if (notifiers.length < 0) this.#notifyGone(process);`,
      tests: ['test/unit/cluster/membership/membership.test.ts'],
    },
  ]),
  ...mutantsOf('cluster/membership/view-maker.ts', [
    {
      id: 'generation-settled-at-once',
      rule: 'Under a new generation nothing changes for lease and margin while a process is missing.',
      find: `      return base.members.every(({ process }) => {
        const lease = isOld ? observer.lastLease(process) : observer.lease(process);
        return observer.hasDeparted(process) || (lease !== undefined && lease.holds <= base.number);
      });`,
      replace: `      return isOld || base.members.length > 0;`,
      tests: ['test/unit/cluster/membership/view-maker.test.ts'],
    },
    {
      id: 'newer-view-held-elsewhere',
      rule: 'A new generation is not settled while a lease names a newer view than the one in Redis.',
      find: `(lease !== undefined && lease.holds <= base.number);`,
      replace: `lease !== undefined;`,
      tests: ['test/unit/cluster/membership/view-maker.test.ts'],
    },
    {
      id: 'first-view-without-proof',
      rule: 'A first view under a new generation needs proof that there was none before.',
      find: `    return this.#firstNumber === 1;`,
      replace: `    return this.#firstNumber > 0;`,
      tests: ['test/unit/cluster/membership/view-maker.test.ts'],
    },
    {
      id: 'void-view-kept',
      rule: 'Two views with one number are both void and need a new number.',
      find: `    const isVoid = own.number === base.number && own.hash !== base.hash;`,
      replace: `    const isVoid = own.number < base.number && own.hash === '';`,
      tests: ['test/unit/cluster/membership/view-maker.test.ts'],
    },
    {
      id: 'outdated-number-kept',
      rule: 'After a seizure whose victims came back the view gets a higher number.',
      find: `!isVoid && !this.#isOutdated(base) ? undefined`,
      replace: `!isVoid ? undefined`,
      tests: ['test/unit/cluster/membership/view-maker.test.ts'],
    },
    {
      id: 'opposition-ignored',
      rule: 'A view is made only if nothing opposes it.',
      find: `    if (processes.length > 0) {
      this.#context.emit({ event: 'opposed', by: processes });
      return;
    }`,
      replace: `    if (processes.length > 0) this.#context.emit({ event: 'opposed', by: processes });`,
      tests: ['test/unit/cluster/membership/view-maker.test.ts'],
    },
    {
      id: 'opposition-meanwhile-ignored',
      rule: 'A view is published only if nothing opposes it by the time that its number has come.',
      find: `if (!this.#context.mayChange() || this.#context.opposition().processes.length > 0) return;`,
      replace: `if (!this.#context.mayChange()) return;`,
      tests: ['test/unit/cluster/membership/view-maker.test.ts'],
    },
    {
      id: 'number-from-redis',
      rule: 'View numbers come from PostgreSQL.',
      find: `    const number = await this.#nextNumber(base);`,
      replace: `    const number = viewNumber(base.number + 1);`,
      tests: ['test/unit/cluster/membership/view-maker.test.ts'],
    },
    {
      id: 'old-prepared-number',
      rule: 'A number that was taken long ago is discarded.',
      find: `    return ageMs < this.#context.config.leaseMs ? prepared.number : undefined;`,
      replace: `    return ageMs >= 0 ? prepared.number : undefined;`,
      tests: ['test/unit/cluster/membership/view-maker.test.ts'],
    },
    {
      id: 'silent-member-stays',
      rule: 'A silent process leaves the view.',
      find: `      return !isLeaving && observer.vanishedMs(process) === undefined && !isSilent;`,
      replace: `      return !isLeaving && !isSilent;`,
      tests: ['test/unit/cluster/membership/view-maker.test.ts'],
    },
    {
      id: 'leaving-member-stays',
      rule: 'A leaving process leaves the view.',
      find: `      return !isLeaving && observer.vanishedMs`,
      replace: `      return (!isLeaving || observer.silentMs(process) < 1_000_000) && observer.vanishedMs`,
      tests: ['test/unit/cluster/membership/view-maker.test.ts'],
    },
    {
      id: 'changes-not-gathered',
      rule: 'Changes within a short time share one view.',
      find: `    const delayMs = Math.max(0, Math.min(gatherMs, latestMs)) + this.#rank() * config.viewRankDelayMs;`,
      replace: `    const delayMs = 0 * Math.max(0, Math.min(gatherMs, latestMs)) + this.#rank() * 0;`,
      tests: ['test/unit/cluster/membership/view-maker.test.ts'],
    },
  ]),
  ...mutantsOf('cluster/membership/observer.ts', [
    {
      id: 'silence-to-the-answer',
      rule: 'Silence is measured from the answer that showed a renewal to the start of a later poll.',
      find: `    if (track !== undefined) return this.#last.startedMs - track.changedMs;`,
      replace: `    if (track !== undefined) return this.#last.receivedMs - (track.earlierMs ?? track.changedMs);`,
      tests: ['test/unit/cluster/membership/observer.test.ts'],
    },
    {
      id: 'new-generation-keeps-silence',
      rule: 'Under a new generation silence is measured anew.',
      find: `      this.#tracks.clear();
      this.#unseen.clear();`,
      replace: ``,
      tests: ['test/unit/cluster/membership/observer.test.ts'],
    },
    {
      id: 'unseen-process-silent-at-once',
      rule: 'A process never seen is silent only once a later renewal does not show it.',
      find: `return this.#comparedMs > askedMs;`,
      replace: `return this.#comparedMs > Number.NEGATIVE_INFINITY;`,
      tests: ['test/unit/cluster/membership/observer.test.ts'],
    },
    {
      id: 'gap-counts-as-silence',
      rule: 'Time in which the observer could not poll does not count as silence of others.',
      find: `    return Math.min(this.silentMs(process), this.#last.startedMs - this.#observingSinceMs);`,
      replace: `    return this.silentMs(process);`,
      tests: ['test/unit/cluster/membership/observer.test.ts'],
    },
    {
      id: 'bound-lease-counts-as-free',
      rule: 'A lease that states a promise does not show a free process.',
      find: `    return track.lease.promisedMs === 0 && nowMs`,
      replace: `    return nowMs`,
      tests: ['test/unit/cluster/membership/observer.test.ts'],
    },
    {
      id: 'late-renewal-counts-as-fresh',
      rule: 'The time until Redis executed a renewal does not count.',
      find: `track.earlierMs + awayMs - track.lease.lateMs;`,
      replace: `track.earlierMs + awayMs;`,
      tests: ['test/unit/cluster/membership/observer.test.ts'],
    },
    {
      id: 'free-for-ever',
      rule: 'A renewal shows a free process only as long as its sender would not confirm others.',
      find: ` && nowMs < track.earlierMs + awayMs - track.lease.lateMs;`,
      replace: ` && nowMs >= track.earlierMs;`,
      tests: ['test/unit/cluster/membership/observer.test.ts'],
    },
    {
      id: 'vanished-lease-counts-as-free',
      rule: 'A removed lease shows no free process.',
      find: `    if (track?.earlierMs === undefined || track.vanishedMs !== undefined) return false;`,
      replace: `    if (track?.earlierMs === undefined) return false;`,
      tests: ['test/unit/cluster/membership/observer.test.ts'],
    },
    {
      id: 'departed-but-bound',
      rule: 'Promises of a departed process must expire too.',
      find: `    return departed.promisedMs === 0 || nowMs - departed.seenMs >= departed.promisedMs + marginMs;`,
      replace: `    return nowMs - departed.seenMs >= -marginMs;`,
      tests: ['test/unit/cluster/membership/observer.test.ts'],
    },
    {
      id: 'older-answer-counts',
      rule: 'An answer that was requested before the last one is skipped.',
      find: `    if (this.#last !== undefined && poll.startedMs < this.#last.startedMs) return undefined;`,
      replace: ``,
      tests: ['test/unit/cluster/membership/observer.test.ts'],
    },
  ]),
];
