import { type Time, within } from '../../../cluster/index.js';

/** A check that must pass before a node may accept requests. */
export interface ReadinessCheck {
  readonly name: string;
  /** Throws if the dependency does not work. */
  readonly check: () => Promise<void>;
}

export interface Readiness {
  readonly ready: boolean;
  /** Each check's name with `ok` or its problem. */
  readonly checks: Readonly<Record<string, string>>;
}

const checkMsMax = 2_000;
const keptMs = 500;

/**
 * Returns the reader of the node's readiness. All that ask during a run of the checks, and for 500 ms after it, get its
 * result: anybody may ask as often as they like, and a run takes a connection that sign-ins need.
 */
export function sharedReadiness(time: Time, checks: readonly ReadinessCheck[]): () => Promise<Readiness> {
  let latest: Promise<Readiness> | undefined;
  let keptUntilMs = Infinity;
  return () => {
    if (latest !== undefined && time.monotonicMs() < keptUntilMs) return latest;
    keptUntilMs = Infinity;
    latest = readiness(time, checks).finally(() => {
      keptUntilMs = time.monotonicMs() + keptMs;
    });
    return latest;
  };
}

/** Runs all checks in parallel, each with a time limit. */
async function readiness(time: Time, checks: readonly ReadinessCheck[]): Promise<Readiness> {
  const results = await Promise.all(
    checks.map(async ({ name, check }) => [name, await outcome(time, check)] as const),
  );
  return { ready: results.every(([, result]) => result === 'ok'), checks: Object.fromEntries(results) };
}

async function outcome(time: Time, check: () => Promise<void>): Promise<string> {
  try {
    const passed = check().then(() => 'ok');
    return await within(time, checkMsMax, passed, () => `no answer within ${checkMsMax} ms`);
  } catch {
    // The reason may contain hosts and accounts: it belongs in the log, not in the public answer.
    return 'unavailable';
  }
}
