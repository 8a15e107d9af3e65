import { randomBytes } from 'node:crypto';
import type { TestFn } from 'ava';
import { z } from 'zod';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import type { Caller, Role } from '../../../src/kernel/caller.js';
import type { TenantScope } from '../../../src/kernel/tenant-scope.js';
import { openStore, type Store } from '../../../src/infra/storage/index.js';
import { createVault, type SecretReference, type Vault } from '../../../src/tenancy/vault/index.js';
import { insertTenant, userOf } from '../builders/callers.js';
import { databaseOfFile } from '../database/database.js';
import { startEdge } from './edge.js';

export const secretShape = z.object({
  id: z.uuid(),
  name: z.string(),
  version: z.number(),
  allowed_hosts: z.array(z.string()).nullable(),
  previous_value_accepted_until: z.string().nullable(),
  references: z.array(z.unknown()),
});

/** A vault behind a real server, for the tests of one file, which run one after the other. */
export class VaultRig {
  /** The result of this vault's one reference finder. */
  readonly references: SecretReference[] = [];
  readonly #database;
  #store: Store | undefined;
  #vault: Vault | undefined;
  #caller: Caller | undefined;
  #edge: Awaited<ReturnType<typeof startEdge>> | undefined;

  constructor(test: TestFn) {
    this.#database = databaseOfFile(test);
    test.serial.before('a vault for this file', () => this.#start());
  }

  get databaseUrl(): string {
    return this.#database.url;
  }

  get store(): Store {
    return there(this.#store);
  }

  get vault(): Vault {
    return there(this.#vault);
  }

  get reports() {
    return there(this.#edge).reports;
  }

  /** The caller of the next requests: a user in a new tenant. */
  async enter(role: Role = 'admin'): Promise<TenantScope> {
    const scope = await insertTenant(this.store);
    this.#caller = userOf(scope, { role });
    return scope;
  }

  async call(method: string, path: string, body?: unknown) {
    const json = { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const response = await fetch(there(this.#edge).url + path, {
      method,
      ...(body === undefined ? {} : json),
    });
    const text = await response.text();
    return { status: response.status, text, body: JSON.parse(text) as Record<string, unknown> };
  }

  async create(body: Record<string, unknown>) {
    const answer = await this.call('POST', '/api/secrets', { kind: 'generic', ...body });
    return { ...answer, data: secretShape.optional().catch(undefined).parse(answer.body['data']) };
  }

  async made(body: Record<string, unknown>) {
    return there((await this.create(body)).data);
  }

  async #start(): Promise<void> {
    const store = await openStore({ databaseUrl: this.databaseUrl });
    const vault = createVault(
      { ...systemPlatform, store },
      { masterKey: randomBytes(32), providers: () => ['openai', 'anthropic'] },
    );
    await vault.prepare();
    vault.addReferenceFinder((_scope, _tx, secrets) =>
      Promise.resolve(this.references.filter(({ secretId }) => secrets.some(({ id }) => id === secretId))),
    );
    const edge = await startEdge(vault.operations, {
      authenticator: { authenticate: () => there(this.#caller) },
    });
    this.#store = store;
    this.#vault = vault;
    this.#edge = edge;
    this.#database.atEnd(async () => {
      await edge.close();
      await store.close();
    });
  }
}

function there<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('not there (yet)');
  return value;
}
