// One node for all tests of a file, and a tenant for each test.
import { randomUUID } from 'node:crypto';
import type { TestFn } from 'ava';
import { publishAgent } from '../builders/published-agents.js';
import { Client, type Json } from '../clients/client.js';
import {
  operatorToken,
  startTestNode,
  type TenantNode,
  type TestNode,
  type TestNodeOptions,
} from './node.js';
import { type PlaceUser, takePlace } from './places.js';

interface AtEnd {
  teardown(fn: () => Promise<void>): void;
}

/** May start what the node needs before it, and end it after it. */
export type NodeOptions = (atEnd: AtEnd) => TestNodeOptions | Promise<TestNodeOptions>;

export interface SharedNode {
  /**
   * The node as a new tenant sees it, with an owner, a key, an agent and a client address of its own. A test waits until
   * few others use the node.
   */
  tenant(t: PlaceUser & { readonly title: string }): Promise<TenantNode>;
}

/**
 * Starts the node before the first test and stops it after the last. The tests of the file share its database, log,
 * clock and settings: a test that changes one of these, or counts what all tenants have, starts a node of its own.
 * Files without options that run in one process have one node together.
 */
export function sharedNode<Context>(test: TestFn<Context>, options?: NodeOptions): SharedNode {
  const use = options === undefined ? (plain ??= new NodeUse()) : new NodeUse(options);
  use.files += 1;
  let node: TestNode | undefined;
  test.serial.before('the node of this file', async () => {
    node = await use.start();
  });
  test.serial.after.always('the node of this file is stopped', () => use.leave());
  return {
    async tenant(t) {
      if (node === undefined) throw new Error('The node is there once the hooks run');
      await takePlace(t);
      return tenantOf(node, t.title);
    },
  };
}

/** A node from the first file that uses it until the last has left. */
class NodeUse {
  /** That have not left. */
  files = 0;
  readonly #options: NodeOptions;
  readonly #endings: (() => Promise<void>)[] = [];
  #started?: Promise<TestNode>;

  constructor(options: NodeOptions = () => ({})) {
    this.#options = options;
  }

  start(): Promise<TestNode> {
    this.#started ??= this.#start();
    return this.#started;
  }

  async leave(): Promise<void> {
    this.files -= 1;
    if (this.files > 0) return;
    for (const ending of this.#endings.toReversed()) await ending();
  }

  async #start(): Promise<TestNode> {
    const atEnd = { teardown: (fn: () => Promise<void>) => void this.#endings.push(fn) };
    const { environment, ...others } = await this.#options(atEnd);
    return startTestNode(
      atEnd,
      // So that each tenant has an address, and limits of addresses do not couple tests.
      { ...others, environment: { TROUPE_TRUSTED_PROXIES: '127.0.0.0/8', ...environment } },
    );
  }
}

let plain: NodeUse | undefined;
let tenants = 0;

/** The node as a new tenant sees it. */
export async function tenantOf(node: TestNode, title: string): Promise<TenantNode> {
  tenants += 1;
  const { node: running, databaseUrl, dataDir, log } = node;
  const clientIn = (network: string): Client => {
    const address = { 'x-forwarded-for': `${network}.${tenants >> 8}.${tenants & 255}` };
    return new Client(running.baseUrl, running.table, address);
  };
  // Made from another address, so that the test's own begins with full windows.
  const [maker, client] = [clientIn('10.1'), clientIn('10.0')];
  const bootstrap = { ...node.bootstrap, ...(await makeTenant(maker, title)) };
  return { node: running, databaseUrl, dataDir, log, client, bootstrap };
}

/** A tenant as the demo seed makes it, under the name of the test. */
async function makeTenant(client: Client, title: string) {
  const post = async (path: string, body: object, more: object = {}, method = 'POST'): Promise<Json> => {
    const { status, json, text } = await client.call(method, path, { ...more, body });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return json.data;
  };
  const owner = { email: `owner-${randomUUID()}@test.example`, password: 'correct horse battery' };
  const account = { ...owner, name: 'Owner', tenant_name: title.slice(0, 60) };
  const { tenants, access_token } = await post('/api/auth/register', account);
  const tenant_id = String(tenants[0].id);
  const operator = { token: operatorToken };
  await post(`/api/tenants/${tenant_id}/plan`, { plan: 'enterprise' }, operator, 'PATCH');
  const asOwner = { token: access_token, tenant: tenant_id };
  const { api_key } = await post('/api/keys', { name: 'Key of the test', role: 'admin' }, asOwner);
  const agent_id = await publishAgent(client, { access_token, tenant_id }, { model: 'sim.echo' });
  return { tenant_id, owner, access_token, api_key, agent_id };
}
