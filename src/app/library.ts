// What a program that imports the package gets: a whole node in its own process.
import { randomUUID } from 'node:crypto';
import { createLog } from '../infra/diagnostics/index.js';
import { type Environment, readSettings } from '../kernel/config/index.js';
import { startNode as start } from './main.js';

export { SettingsError } from '../kernel/config/index.js';

export interface EmbeddedNodeOptions {
  /** The settings that `troupe config` lists, by name; `DATABASE_URL` and `TROUPE_MASTER_KEY` are needed. */
  readonly settings: Environment;
  /** Takes each line of the log, a JSON text; default: standard output. */
  readonly log?: (line: string) => void;
}

export interface EmbeddedNode {
  readonly baseUrl: string;
  /** Resolves when this process has lost its lease: stop the node, then end the process. */
  readonly lost: Promise<void>;
  /** Lets running requests finish for `drainMs` (default 25,000), hands actors over, closes everything. */
  stop(options?: { readonly drainMs?: number }): Promise<void>;
}

const drainMsMax = 25_000;

/** Starts a node as `troupe serve` does. It handles no signals and ends no process: that is the host's part. */
export async function startNode({ settings: given, log }: EmbeddedNodeOptions): Promise<EmbeddedNode> {
  const settings = readSettings(given, {
    required: ['databaseUrl', 'masterKey'],
    defaults: { seed: 'none', egressAllow: '', mailSenderCheck: 'dmarc', verifyEmail: 'on' },
  });
  const nodeId = settings.nodeId ?? randomUUID();
  const created = createLog({
    level: settings.logLevel,
    fields: { node: nodeId },
    ...(log !== undefined && { destination: { write: log, writeAscii: log, flushSync: () => undefined } }),
  });
  const node = await start({ settings, nodeId, log: created });
  return {
    baseUrl: node.baseUrl,
    lost: node.lost,
    stop: async ({ drainMs = drainMsMax } = {}) => {
      await node.stop(AbortSignal.timeout(drainMs));
      created.flush();
    },
  };
}
