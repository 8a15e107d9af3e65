import { mutantsOf } from '../mutant.js';

const counting = { tests: ['test/unit/tenancy/quota/'], simulations: ['quota'] as const };

/** Tokens, costs and requests: reserved, settled, granted, handed over. */
export const quota = [
  ...mutantsOf(
    'src/tenancy/quota/token-ledger.ts',
    [
      {
        id: 'tokens-settled-twice',
        rule: 'A settlement that is repeated counts nothing.',
        find: `    if (this.#isRepeat(attemptId)) return;`,
        replace: ``,
      },
      {
        id: 'reserved-before-the-hold',
        rule: 'Tokens are reserved only once a hold that covers them is durable.',
        find: `    return this.#hold(claim.monthlyLimit, kept.untilMs).then(
      () => reserved,`,
        replace: `    void this.#hold(claim.monthlyLimit, kept.untilMs).catch(() => undefined);
    return Promise.resolve().then(
      () => reserved,`,
      },
      {
        id: 'failed-hold-keeps-the-reservation',
        rule: 'Without a hold the reservation is not admitted.',
        find: `        // Without a hold the reservation is not admitted.
        this.#drop(kept);`,
        replace: ``,
      },
      {
        id: 'hold-without-its-time',
        rule: 'A hold lasts as long as the reservations that it covers.',
        find: `    if (this.#reserved <= this.#held && kept.untilMs <= this.#heldUntilMs) return reserved;`,
        replace: `    if (this.#reserved <= this.#held) return reserved;`,
      },
      {
        id: 'settlement-keeps-the-reservation',
        rule: 'A settlement ends its reservation.',
        find: `    if (kept !== undefined) this.#drop(kept);
    else if`,
        replace: `    if (kept === undefined && this.#reserved < 0) return;
    else if`,
      },
      {
        id: 'settled-tokens-not-counted',
        rule: 'Settled tokens count at once.',
        find: `    this.#settledTokens += tokens;`,
        replace: ``,
      },
      {
        id: 'dead-reservations-stay',
        rule: 'Reservations of a process that is gone end.',
        find: `      if (kept.untilMs > nowMs && !isGone(kept.process)) continue;`,
        replace: `      if (kept.untilMs > nowMs) continue;`,
      },
      {
        id: 'living-reservations-swept',
        rule: 'A reservation lasts until it is settled or its deadline has passed.',
        find: `      if (kept.untilMs > nowMs && !isGone(kept.process)) continue;`,
        replace: `      if (kept.untilMs < 0) continue;`,
      },
      {
        id: 'unsettled-calls-count-nothing',
        rule: 'A call that ended without settling counts until its row is certainly closed.',
        find: `      this.#closing.push({ tokens: kept.tokens, untilMs: nowMs + closingMs });`,
        replace: ``,
      },
      {
        id: 'bound-of-a-lost-owner-ignored',
        rule: 'What a lost owner may have reserved counts until every attempt is known.',
        find: `    if (tokens > 0 && forMs > 0) this.#bound = { tokens, untilMs: this.#sinceMs + forMs };`,
        replace: ``,
      },
      {
        id: 'handed-over-reservations-dropped',
        rule: 'Reservations that an earlier owner hands over count.',
        find: `      if (!this.#kept.has(one.attemptId) && !this.#wasSettled(one.attemptId)) this.#remember(one);
    }
    this.#wake();`,
        replace: `    }
    this.#wake();`,
      },
      {
        id: 'settled-before-the-handover',
        rule: 'A handed-over reservation that was settled meanwhile does not come back.',
        find: `      if (!this.#kept.has(one.attemptId) && !this.#wasSettled(one.attemptId)) this.#remember(one);
    }
    this.#wake();`,
        replace: `      if (!this.#kept.has(one.attemptId)) this.#remember(one);
    }
    this.#wake();`,
      },
      {
        id: 'repeated-reservation-counts-twice',
        rule: 'A repeated reservation counts once.',
        find: `    if (this.#kept.has(attemptId) || this.#wasSettled(attemptId)) return reserved;`,
        replace: ``,
      },
      {
        id: 'concurrent-repeat-decides-again',
        rule: 'A repeat of a request that waits joins it.',
        find: `    if (asked !== undefined) return asked;`,
        replace: ``,
      },
      {
        id: 'room-without-reservations',
        rule: 'Used and reserved tokens together decide whether there is room.',
        find: `this.#mostUsed(stored) + this.reservedTokens < claim.monthlyLimit;`,
        replace: `this.#mostUsed(stored) < claim.monthlyLimit;`,
      },
      {
        id: 'refused-by-an-inexact-figure',
        rule: "A refusal rests on the store's own figure.",
        find: `    if (stored >= claim.monthlyLimit) return`,
        replace: `    if (this.#mostUsed(stored) >= claim.monthlyLimit) return`,
      },
      {
        id: 'late-call-overtakes-the-waiting',
        rule: 'Calls that wait for room are served in their order.',
        find: `      if (this.#waiters.length === 0) {`,
        replace: `      if (this.#waiters.length >= 0) {`,
      },
      {
        id: 'waiting-calls-left-at-the-end',
        rule: 'Calls that wait are answered when the owner ends.',
        find: `      timer.cancel();
      resolve({ outcome: 'busy' });
    }`,
        replace: `      timer.cancel();
    }`,
      },
      {
        id: 'month-of-yesterday',
        rule: 'A new month begins at zero.',
        find: `      this.#month = month;
      this.#stored = undefined;`,
        replace: `      this.#month = month;`,
      },
    ],
    counting,
  ),
  ...mutantsOf(
    'src/tenancy/quota/cost-ledger.ts',
    [
      {
        id: 'costs-settled-twice',
        rule: 'A settlement of costs that is repeated counts nothing.',
        find: `    if (this.#settled.has(attemptId)) return;
    this.#settled.set(attemptId, true);`,
        replace: `    this.#settled.set(attemptId, true);`,
      },
      {
        id: 'settled-cost-stays-reserved',
        rule: 'A settlement of costs ends its reservation.',
        find: `    this.#settled.set(attemptId, true);
    this.#kept.delete(attemptId);`,
        replace: `    this.#settled.set(attemptId, true);`,
      },
      {
        id: 'budget-without-reservations',
        rule: 'Spent and reserved costs together decide whether a budget has room.',
        find: `      if (mostSpent(account) + all < budget.limit) continue;`,
        replace: `      if (mostSpent(account) < budget.limit) continue;`,
      },
      {
        id: 'one-budget-suffices',
        rule: 'Each budget of a call needs room.',
        find: `      if (mostSpent(account) + all < budget.limit) continue;`,
        replace: `      if (mostSpent(account) + all < budget.limit) return 'room';`,
      },
      {
        id: 'costs-decided-before-recovery',
        rule: 'A successor decides only once it knows the attempts of the lost owner.',
        find: `    this.#known = !parts.inherited;`,
        replace: `    this.#known = parts.inherited || !parts.inherited;`,
      },
      {
        id: 'costs-of-the-dead-stay',
        rule: 'Costs that a dead process reserved end once their rows are closed.',
        find: `        if (kept.untilMs <= nowMs) this.#kept.delete(id);`,
        replace: `        if (kept.untilMs < 0) this.#kept.delete(id);`,
      },
      {
        id: 'costs-of-the-dead-freed-at-once',
        rule: 'Costs that a dead process reserved count until their rows are closed.',
        find: `        this.#kept.set(id, { ...kept, closing: true, untilMs: nowMs + closingMs });`,
        replace: `        this.#kept.delete(id);`,
      },
      {
        id: 'handed-over-costs-dropped',
        rule: 'Costs that an earlier owner hands over count.',
        find: `      if (!this.#kept.has(one.attemptId) && !this.#settled.has(one.attemptId)) this.#remember(one);
    }
    if (!all) return;`,
        replace: `    }
    if (!all) return;`,
      },
      {
        id: 'repeated-cost-reserved-twice',
        rule: 'A repeated reservation of costs counts once.',
        find: `      if (this.#kept.has(claim.attemptId) || this.#settled.has(claim.attemptId)) return reserved();`,
        replace: ``,
      },
    ],
    counting,
  ),
  ...mutantsOf(
    'src/tenancy/quota/grants.ts',
    [
      {
        id: 'granted-before-the-block',
        rule: 'Requests are granted only from blocks that the store has committed.',
        find: `      const { block, granted } = await this.#store.take(counted, wanted);
      count.left += block;`,
        replace: `      count.left += wanted;
      const { block, granted } = await this.#store.take(counted, wanted);
      count.left += block - wanted;`,
      },
      {
        id: 'grant-uses-nothing-up',
        rule: 'Each request uses up one grant.',
        find: `    if (count === undefined || count.left < 1) throw new Error('granted without room');
    count.left -= 1;`,
        replace: `    if (count === undefined || count.left < 1) throw new Error('granted without room');`,
      },
      {
        id: 'spent-rest-given-back',
        rule: 'The rest of a block stays spent if this node may no longer write it.',
        find: `    if (count !== undefined && rest === 'spent') count.left = 0;`,
        replace: ``,
      },
      {
        id: 'rest-not-given-back',
        rule: 'An orderly end gives the rest of a block back.',
        find: `    if (rest > 0) this.#giveBackTo(count.scope, count.subject, rest);`,
        replace: ``,
      },
      {
        id: 'lowered-limit-ignored',
        rule: 'A lowered limit counts at once.',
        find: `    if (count.left > 0) return count.granted - count.left < counted.limit ? 'has-room' : 'used-up';`,
        replace: `    if (count.left > 0) return 'has-room';`,
      },
      {
        id: 'late-block-kept',
        rule: 'A block that arrives after its count was dropped is given back.',
        find: `      if (count.dropped) this.#giveBack(count);`,
        replace: ``,
      },
    ],
    counting,
  ),
  ...mutantsOf(
    'src/tenancy/quota/quota-host.ts',
    [
      {
        id: 'handover-dropped',
        rule: 'A quota that moves hands its figures over.',
        find: `    if (isOrderly && isElsewhere) this.#handOver(resident);`,
        replace: `    if (isOrderly && isElsewhere && scope === undefined) this.#handOver(resident);`,
      },
      {
        id: 'hold-dropped-while-reserved',
        rule: 'A hold is dropped only when nothing is reserved.',
        find: `    if (isOrderly && tokens.isIdle && costs.isIdle) {`,
        replace: `    if (isOrderly) {`,
      },
      {
        id: 'lost-owner-gives-back',
        rule: 'An owner that lost its lease gives no blocks back.',
        find: `    counts.forgetTenant(scope, keyIds, isOrderly ? 'given back' : 'spent');`,
        replace: `    counts.forgetTenant(scope, keyIds, 'given back');`,
      },
      {
        id: 'bound-never-replaced',
        rule: 'The bound of a lost owner is replaced by the attempts that are open.',
        find: `      if (resident.tokens.mayRecover) this.#recover(resident);`,
        replace: ``,
      },
    ],
    counting,
  ),
  ...mutantsOf(
    'src/tenancy/quota/residents.ts',
    [
      {
        id: 'counted-without-the-lease',
        rule: 'A node counts a tenant only while it has the right to act.',
        find: `      !this.ended && this.#time.monotonicMs() - this.#calledAtMs < directForMs && this.activation.mayAct()`,
        replace: `      !this.ended && this.#time.monotonicMs() - this.#calledAtMs < directForMs`,
      },
      {
        id: 'unknown-block-granted',
        rule: 'A block whose recording is unknown ends the activation.',
        find: `    this.activation.end('failed');
    throw`,
        replace: `    throw`,
      },
    ],
    counting,
  ),
  ...mutantsOf(
    'src/tenancy/quota/sliding-window.ts',
    [
      {
        id: 'burst-leaves-with-its-first',
        rule: 'A burst leaves the window a minute after its last request.',
        find: `      this.#lastMs[newest] = nowMs;`,
        replace: ``,
      },
      {
        id: 'merged-window-forgets',
        rule: 'The counts of two processes add up.',
        find: `    this.#used = this.#counts.reduce((sum, count) => sum + count, 0);`,
        replace: ``,
      },
    ],
    counting,
  ),
  ...mutantsOf(
    'src/tenancy/quota/quota-actor.store.ts',
    [
      {
        id: 'block-above-the-limit',
        rule: 'A block never exceeds the limit.',
        find: `    set granted = c.granted + greatest(0, least(w.wanted, w.cap - c.granted)),`,
        replace: `    set granted = c.granted + w.wanted,`,
      },
      {
        id: 'expired-hold-counts',
        rule: 'A hold counts until its time has passed.',
        find: `(held > 0 and held_until > clock_timestamp() or reserves_costs)`,
        replace: `(held < 0 and held_until > clock_timestamp() or reserves_costs)`,
      },
    ],
    { tests: ['test/integration/tenancy/quota/'], simulations: [] },
  ),
];
