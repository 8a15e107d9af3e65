import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSettings } from '../../src/kernel/config/index.js';
import { createLog, LogDestination } from '../../src/infra/diagnostics/index.js';
import { startNode } from '../../src/app/main.js';

export interface WholeNode {
  readonly port: number;
  /** An API key with limits too high to matter. */
  readonly key: string;
  readonly owner: { readonly token: string; readonly tenantId: string; readonly agentId: string };
  stop(): Promise<void>;
}

export const operatorToken = 'operator-token-of-the-bench-of-whole-nodes';

/** Starts the whole platform with all features on the given database. */
export async function startWholeNode(
  databaseUrl: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<WholeNode> {
  const dataDir = await mkdtemp(join(tmpdir(), 'troupe-bench-node-'));
  const settings = readSettings({
    DATABASE_URL: databaseUrl,
    TROUPE_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    TROUPE_DATA_DIR: dataDir,
    TROUPE_HTTP_PORT: '0',
    TROUPE_SEED: 'demo',
    TROUPE_OPERATOR_TOKEN: operatorToken,
    ...environment,
  });
  const log = createLog({ level: 'info', destination: new LogDestination('/dev/null') });
  const node = await startNode({ settings, nodeId: 'bench', log });
  const { bootstrap } = node;
  if (bootstrap === undefined) throw new Error('the node was not seeded with TROUPE_SEED=demo');
  const limits = {
    key_rpm_max: 1_000_000_000,
    requests_per_minute: 1_000_000,
    requests_per_day: 1_000_000_000,
    monthly_tokens: 1_000_000_000_000,
  };
  await json(`${node.baseUrl}/api/tenants/${bootstrap.tenant_id}/plan`, 'PATCH', { settings: limits }, [
    ['authorization', `Bearer ${operatorToken}`],
  ]);
  const made = await json(
    `${node.baseUrl}/api/keys`,
    'POST',
    { name: 'bench', rateLimitPerMinute: limits.key_rpm_max },
    [
      ['authorization', `Bearer ${bootstrap.access_token}`],
      ['x-tenant-id', bootstrap.tenant_id],
    ],
  );
  return {
    port: Number(new URL(node.baseUrl).port),
    key: (made as { data: { api_key: string } }).data.api_key,
    owner: {
      token: bootstrap.access_token,
      tenantId: bootstrap.tenant_id,
      agentId: bootstrap.agent_id,
    },
    stop: async () => {
      await node.stop(AbortSignal.timeout(5_000));
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function json(
  url: string,
  method: string,
  body: object,
  headers: readonly [string, string][],
): Promise<unknown> {
  const response = await fetch(url, {
    method,
    headers: [...headers, ['content-type', 'application/json']],
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return response.json();
}
