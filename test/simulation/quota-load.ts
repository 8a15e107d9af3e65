import { sleep } from '../../cluster/time/time.js';
import type { KeyCaller, TenantLimits } from '../../src/kernel/caller.js';
import { type TenantScope, tenantScope } from '../../src/kernel/tenant-scope.js';
import { PlatformError } from '../../src/kernel/errors.js';
import type { QuotaGuest, QuotaNode } from './quota-guest.js';
import { countName } from './quota-tables.js';
import type { World } from './world.js';

export interface SimulatedTenant {
  readonly name: string;
  readonly scope: TenantScope;
  readonly caller: KeyCaller;
}

/** On the simulation's clock; no run crosses midnight. */
const day = '2023-11-14';
const estimateMax = 20;
const attemptMs = 8_000;
/** The longest a call may take: two quota requests, two reservations, two attempts and their rows. */
const callMsMax = 90_000;

function tenant(
  nth: number,
  name: string,
  caps: { life?: number; day?: number; month?: number },
): SimulatedTenant {
  const scope = tenantScope(`00000000-0000-4000-8000-00000000000${nth}`);
  const limits: TenantLimits = {
    plan: 'enterprise',
    requestsPerMinute: 1_000_000,
    requestsPerDay: caps.day ?? 1_000_000,
    monthlyTokens: caps.month ?? 1_000_000,
    keyRpmMax: 1_000_000,
  };
  const caller: KeyCaller = {
    kind: 'key',
    keyId: `key-${nth}`,
    address: '127.0.0.1',
    scope,
    role: 'admin',
    limits,
    requestsPerMinute: 1_000_000,
    quotaLimit: caps.life ?? null,
  };
  return { name, scope, caller };
}

export const tenants: readonly SimulatedTenant[] = [
  tenant(1, 'by life', { life: 25 }),
  tenant(2, 'by day', { day: 30 }),
  tenant(3, 'by month', { life: 2_000, month: 250 }),
  tenant(4, 'without end', { life: 5_000 }),
];

interface Sent {
  readonly id: string;
  readonly origin: { readonly isDead: boolean };
  readonly atMs: number;
  ended: boolean;
}

/** Model calls from all nodes, made as the edge and the ledger make them, with all checks. */
export class QuotaLoad {
  /** Admitted model calls by tenant. */
  readonly begun = new Map<SimulatedTenant, number>();
  refused = 0;
  unavailable = 0;
  reserved = 0;
  readonly #world: World;
  readonly #guest: QuotaGuest;
  readonly #sent: Sent[] = [];
  #isOn = true;

  constructor(world: World, guest: QuotaGuest) {
    this.#world = world;
    this.#guest = guest;
  }

  get total(): number {
    return [...this.begun.values()].reduce((sum, count) => sum + count, 0);
  }

  start(): void {
    this.#world.time.after(this.#world.random.between(10, 160), () => {
      if (!this.#isOn) return;
      this.#send();
      this.start();
    });
  }

  stop(): void {
    this.#isOn = false;
  }

  /** Each process closes the rows that lost processes left open, as its ledger does. */
  sweep(): void {
    this.#world.time.after(3_000, () => {
      const [any] = this.#open();
      any
        ?.transit(() => this.#guest.tables.closeOrphans(any.isGone))
        .catch(() => {
          this.unavailable += 1;
        });
      this.sweep();
    });
  }

  #open(): QuotaNode[] {
    return this.#world.living.flatMap(({ host }) => {
      const node = this.#guest.nodes.get(host);
      return node?.isOpen === true ? [node] : [];
    });
  }

  #send(): void {
    const { random } = this.#world;
    const open = this.#open();
    if (open.length === 0) return;
    const node = random.pick(open);
    const by = random.pick(tenants);
    const sent = {
      id: `c${this.#sent.length + 1}`,
      origin: node.host,
      atMs: this.#world.time.monotonicMs(),
      ended: false,
    };
    this.#sent.push(sent);
    node.calls += 1;
    this.#call(node, by, sent.id)
      .catch((error: unknown) => {
        if (error instanceof PlatformError && error.code === 'service_unavailable') this.unavailable += 1;
        else this.#world.violations.push(`call ${sent.id} ended untyped: ${String(error)}`);
      })
      .finally(() => {
        sent.ended = true;
        node.calls -= 1;
      });
  }

  async #call(node: QuotaNode, by: SimulatedTenant, id: string): Promise<void> {
    const { random } = this.#world;
    const { admission } = node.quota;
    const first = await admission.admitRequest(by.caller, 'model-work');
    if (first.refusal !== undefined) return void (this.refused += 1);
    if (random.chance(0.15)) return first.ahead?.refund();
    const work = await admission.admitModelWork(by.caller, first.ahead);
    if (work.refusal !== undefined) return void (this.refused += 1);
    this.#began(by);
    const attempts = random.chance(0.2) ? 2 : 1;
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      if (!(await this.#attempt(node, by, `${id}-${attempt}`))) return;
    }
  }

  #began(by: SimulatedTenant): void {
    const count = (this.begun.get(by) ?? 0) + 1;
    this.begun.set(by, count);
    const { quotaLimit, limits } = by.caller;
    const cap = Math.min(quotaLimit ?? Infinity, limits.requestsPerDay);
    if (count > cap && !this.#guest.storeForgot) {
      this.#world.violations.push(`${by.name}: ${count} were admitted of ${cap}`);
    }
  }

  /** False if the reservation was refused. */
  async #attempt(node: QuotaNode, { scope, caller }: SimulatedTenant, attemptId: string): Promise<boolean> {
    const { random } = this.#world;
    const { host, quota, transit } = node;
    const { tables } = this.#guest;
    const estimate = random.between(1, estimateMax);
    const wish = {
      attemptId,
      tokens: estimate,
      withinMs: this.#guest.withinMs(attemptMs),
      limits: caller.limits,
      alreadyAdmitted: false,
    };
    const ask = async () => quota.reserveTokens(scope, wish);
    const asked = [ask()];
    if (random.chance(0.2)) asked.push(ask());
    const settled = await Promise.allSettled(asked);
    const answers = settled.map((one) =>
      one.status === 'fulfilled' ? (one.value?.code ?? 'reserved') : 'failed',
    );
    if (answers.includes('reserved') && answers.includes('quota_exceeded')) {
      this.#world.violations.push(`${attemptId} was answered ${answers.join(' and ')}`);
    }
    if (!answers.includes('reserved')) {
      this.refused += 1;
      return false;
    }
    this.reserved += 1;
    const settle = (tokens: number): void =>
      quota.settleTokens(scope, { attemptId, reserved: estimate, tokens });
    const untilMs = host.time.monotonicMs() + attemptMs;
    const row = {
      attemptId,
      estimate,
      tenantId: scope.tenantId,
      process: host.name,
      deadlineMs: this.#world.time.monotonicMs() + attemptMs,
    };
    try {
      await transit(() => tables.open(row));
    } catch {
      // It is unknown whether the row was opened, so it is closed as never sent.
      await this.#closed(node, attemptId, 0);
      settle(0);
      return false;
    }
    await sleep(host.time, random.between(20, 3_000));
    const used = random.between(0, estimate);
    await this.#closed(node, attemptId, used);
    settle(used);
    if (random.chance(0.1)) settle(used);
    return host.time.monotonicMs() < untilMs;
  }

  /** Repeated until confirmed, as the ledger does. */
  async #closed({ host, transit }: QuotaNode, attemptId: string, used: number): Promise<void> {
    for (;;) {
      try {
        await transit(() => this.#guest.tables.close(attemptId, used));
        return;
      } catch {
        // The outcome is unknown: repeat it; it counts only once.
        await sleep(host.time, 300);
      }
    }
  }

  /** Checks after recovery. `isGentle`: the only faults were orderly stops and a slow network. */
  async check({ isPatient, isGentle }: { isPatient: boolean; isGentle: boolean }): Promise<void> {
    const { violations, time } = this.#world;
    const { tables } = this.#guest;
    const now = time.monotonicMs();
    for (const { id, origin, atMs, ended } of this.#sent) {
      if (!ended && !origin.isDead && now - atMs > callMsMax) violations.push(`call ${id} never ended`);
    }
    if (tables.openRows() > 0) violations.push(`${tables.openRows()} attempts are never closed`);
    for (const node of this.#open()) {
      for (const by of tenants) await this.#checkMonth(node, by, isPatient);
    }
    for (const by of tenants) this.#checkCounts(by, isGentle);
  }

  async #checkMonth(
    { host, quota }: QuotaNode,
    { name, scope, caller }: SimulatedTenant,
    isPatient: boolean,
  ): Promise<void> {
    const { violations, time } = this.#world;
    const { tables } = this.#guest;
    const sum = tables.sumOf(scope);
    const monthly = { ...caller.limits, monthlyTokens: 0 };
    const where = `${name} at ${host.name}`;
    let shown: unknown = 'no answer';
    void Promise.resolve(quota.monthlyRefusal(scope, monthly)).then(
      (refusal) => (shown = refusal?.details?.['used']),
      (error: unknown) => (shown = error),
    );
    await time.advance(500);
    if (shown !== sum) violations.push(`${where}: used is ${String(shown)}, the rows sum to ${sum}`);
    if (isPatient && !(await this.#hasRoom(quota, `${name}-${host.name}`, { scope, caller, sum }))) {
      violations.push(`${where}: a reservation is never released`);
    }
  }

  /** One token below the limit there is room for one more, unless a reservation is never released. */
  async #hasRoom(
    quota: QuotaNode['quota'],
    name: string,
    { scope, caller, sum }: Pick<SimulatedTenant, 'scope' | 'caller'> & { readonly sum: number },
  ): Promise<boolean> {
    const { time } = this.#world;
    const limits = { ...caller.limits, monthlyTokens: sum + 1 };
    // An owner that rebuilds its counts after a loss learns of running attempts only once each has its row.
    for (const untilMs = time.monotonicMs() + 45_000; time.monotonicMs() < untilMs;) {
      const attemptId = `probe-${name}-${time.monotonicMs()}`;
      const answers: unknown[] = [];
      void Promise.resolve(
        quota.reserveTokens(scope, {
          attemptId,
          tokens: 1,
          withinMs: 30_000,
          limits,
          alreadyAdmitted: false,
        }),
      ).then(
        (refusal) => answers.push(refusal?.code ?? 'reserved'),
        (error: unknown) => answers.push(error),
      );
      for (let waits = 0; answers.length === 0 && waits < 80; waits += 1) await time.advance(200);
      quota.settleTokens(scope, { attemptId, reserved: 1, tokens: 0 });
      await time.advance(100);
      if (answers[0] === 'reserved') return true;
    }
    return false;
  }

  #checkCounts(by: SimulatedTenant, gentle: boolean): void {
    if (this.#guest.storeForgot) return;
    const { violations } = this.#world;
    const { tables } = this.#guest;
    const { scope, caller } = by;
    const begun = this.begun.get(by) ?? 0;
    const month = caller.limits.monthlyTokens;
    const sum = tables.sumOf(scope);
    if (sum >= month + estimateMax) violations.push(`${by.name}: ${sum} tokens were used of ${month}`);
    const counts = [
      ['day', day],
      ...(caller.quotaLimit === null ? [] : [['key', caller.keyId] as const]),
    ] as const;
    for (const [kind, subject] of counts) {
      const granted = tables.granted.get(countName(scope.tenantId, kind, subject)) ?? 0;
      if (gentle ? granted !== begun : granted < begun) {
        violations.push(`${by.name}: ${begun} began, but the count of the ${kind} is ${granted}`);
      }
    }
  }
}
