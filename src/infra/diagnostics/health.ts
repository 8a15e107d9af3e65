/** One thing that must work before a node may take requests. */
export interface ReadinessCheck {
  readonly name: string;
  /** Throws when the part does not work. */
  readonly check: () => Promise<void>;
}

export interface Readiness {
  readonly ready: boolean;
  /** Part to `ok`, or what is wrong with it. */
  readonly checks: Readonly<Record<string, string>>;
}

const checkMsMax = 2_000;

/** Asks every part at once, each within its time. */
export async function readiness(checks: readonly ReadinessCheck[]): Promise<Readiness> {
  const results = await Promise.all(
    checks.map(async ({ name, check }) => [name, await outcome(check)] as const),
  );
  return { ready: results.every(([, result]) => result === 'ok'), checks: Object.fromEntries(results) };
}

async function outcome(check: () => Promise<void>): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer within ${checkMsMax} ms`), checkMsMax);
  });
  try {
    return await Promise.race([check().then(() => 'ok'), late]);
  } catch {
    // The reason may name hosts and accounts; the log has it, the public answer names only the part.
    return 'unavailable';
  } finally {
    clearTimeout(timer);
  }
}
