import type { Client } from '#client';
import { CommandError } from '../command.js';
import { type Context, developerCommand, reasonOf } from './developer-command.js';
import { type Fields, readManifest } from './manifest.js';
import { line, type Output, type Style } from './output.js';
import { type Change, type Plan, planOf, resolved } from './plan.js';
import { answerTo } from './terminal.js';
import { readState, type Stored, type TenantState } from './tenant-state.js';

export const applyCommand = developerCommand({
  usage: ['apply -f FILE [-f FILE …] [--plan | --yes]'],
  summary:
    'Brings agents, tools, triggers, databases and secrets to what YAML files declare: shows a plan, asks, applies it.\n' +
    'Fields that a file leaves out stay as they are. Values of secrets come from variables, never from files. troupe\n' +
    'export writes such a file. Exit code 3: with --plan, something would change.',
  options: {
    file: { kind: 'list', short: 'f', about: 'a file; several times; - is standard input' },
    plan: { kind: 'flag', about: 'show the plan alone' },
    yes: { kind: 'flag', short: 'y', about: 'do not ask' },
    'rotate-secrets': {
      kind: 'flag',
      about: 'send the values of secrets that are there already, from the variables that are set',
    },
    prune: { kind: 'flag', about: 'delete tools and triggers of the declared agents that no file has' },
  },
  run: async (context) => {
    const { given, environment, out } = context;
    const files = given.list('file');
    if (files.length === 0) throw context.wrong('a file is missing: -f FILE');
    if (given.words.length > 0) throw context.wrong(`${given.words.join(' ')} is not expected`);
    const manifest = await readManifest(files);
    const client = await context.client();
    const state = await readState(client, new Set(manifest.agents.map(({ name }) => name)));
    const hasVariable = (name: string): boolean => (environment[name] ?? '') !== '';
    const [prunes, rotates] = [given.flag('prune'), given.flag('rotate-secrets')];
    const plan = planOf(manifest, state, { prunes, rotates, hasVariable });
    if (given.flag('json') && given.flag('plan')) out.json(plan);
    else if (!given.flag('json')) show(plan, out);
    if (plan.problems.length > 0) throw new CommandError(plan.problems.join('\n'));
    if (given.flag('plan')) {
      if (plan.changes.length > 0) process.exitCode = 3;
      return;
    }
    if (plan.changes.length > 0 && !(await isAgreed(context))) return;
    const progress = given.flag('json') ? new ListedProgress() : new ShownProgress(out);
    const application = new Application(client, state, environment, progress);
    const { signal } = context;
    signal.addEventListener('abort', () => out.note('Ends after this step. Ctrl-C again ends at once.'));
    try {
      await application.carryOut(plan, signal);
    } finally {
      if (progress instanceof ListedProgress) out.json(progress);
    }
  },
});

export interface MadeWebhook {
  readonly name: string;
  readonly url: string | undefined;
  readonly secret: string | undefined;
}

/** Reports each step as soon as it is done. A later step may fail, and the secret of a webhook is in no later answer. */
interface Progress {
  done(change: Change): void;
  made(webhook: MadeWebhook): void;
}

class ShownProgress implements Progress {
  readonly #out: Output;

  constructor(out: Output) {
    this.#out = out;
  }

  done(change: Change): void {
    this.#out.print(`${this.#out.style('green', 'done')}  ${titleOf(change)}`);
  }

  made({ name, url, secret }: MadeWebhook): void {
    this.#out.print(url === undefined ? name : `${name}: ${url}`);
    if (secret !== undefined) this.#out.print(`  webhook_secret, shown once: ${secret}`);
  }
}

/** One document of JSON. */
class ListedProgress implements Progress {
  readonly changes: string[] = [];
  readonly webhooks: MadeWebhook[] = [];

  done(change: Change): void {
    this.changes.push(titleOf(change));
  }

  made(webhook: MadeWebhook): void {
    this.webhooks.push(webhook);
  }
}

const marks: Readonly<Record<Change['action'], readonly [mark: string, style: Style]>> = {
  create: ['+', 'green'],
  update: ['~', 'yellow'],
  delete: ['-', 'red'],
  publish: ['↑', 'cyan'],
  rotate: ['↻', 'yellow'],
};

function show({ changes, problems }: Plan, out: Output): void {
  for (const change of changes) {
    const [mark, style] = marks[change.action];
    out.print(out.style(style, `${mark} ${titleOf(change)}`));
    for (const one of change.lines) out.print(`    ${line(one, 160)}`);
  }
  if (changes.length === 0 && problems.length === 0) out.print('Nothing changes.');
}

function titleOf({ action, kind, agent, name }: Change): string {
  return `${action} ${kind} ${agent === undefined ? '' : `${agent}/`}${name}`;
}

async function isAgreed({ given, out }: Context): Promise<boolean> {
  if (given.flag('yes')) return true;
  if (!out.isTerminal || !process.stdin.isTTY) {
    throw new CommandError('Nobody can be asked here. Apply the plan with --yes, or show it with --plan.', {
      exitCode: 2,
    });
  }
  const answer = await answerTo('Apply? [y/N] ', { output: process.stderr });
  return /^y(?:es)?$/i.test(answer?.trim() ?? '');
}

/** Takes the steps of a plan, in order. A failure names its step; applying again goes on from there. */
class Application {
  readonly #client: Client;
  readonly #state: { -readonly [Kind in keyof TenantState]: TenantState[Kind] };
  readonly #environment: Readonly<Record<string, string | undefined>>;
  readonly #progress: Progress;

  constructor(
    client: Client,
    state: TenantState,
    environment: Readonly<Record<string, string | undefined>>,
    progress: Progress,
  ) {
    this.#client = client;
    this.#state = { ...state };
    this.#environment = environment;
    this.#progress = progress;
  }

  async carryOut({ changes }: Plan, signal: AbortSignal): Promise<void> {
    for (const change of changes) {
      signal.throwIfAborted();
      try {
        await this.#take(change);
      } catch (cause) {
        throw new CommandError(`${titleOf(change)}: ${reasonOf(cause)}`, { cause });
      }
      this.#progress.done(change);
    }
  }

  #take(change: Change): Promise<unknown> {
    switch (change.kind) {
      case 'secret':
        return this.#secret(change);
      case 'database':
        return this.#database(change);
      case 'agent':
        return this.#agent(change);
      case 'tool':
        return this.#tool(change);
      case 'trigger':
        return this.#trigger(change);
    }
  }

  async #secret({ action, id = '', fields }: Change): Promise<void> {
    const { from_env: variable, ...body } = fields;
    const value = this.#environment[String(variable)] ?? '';
    if (action === 'create') {
      await this.#client.secrets.create({ body: { kind: 'generic', ...body, value } as never });
    } else if (action === 'rotate') {
      await this.#client.secrets.setValue({ path: { id }, body: { value } });
    } else {
      const { provider: _, kind: __, name: ___, ...changeable } = body;
      await this.#client.secrets.update({ path: { id }, body: changeable });
    }
  }

  async #database({ action, id = '', name, fields }: Change): Promise<void> {
    if (action === 'update') {
      await this.#client.databases.update({ path: { id }, body: fields });
      return;
    }
    const { data } = await this.#client.databases.create({ body: fields as never });
    this.#state.databases = [...this.#state.databases, { id: data.id, name, fields }];
  }

  async #agent({ action, id = '', name, fields }: Change): Promise<void> {
    if (action === 'create') {
      const { data } = await this.#client.agents.create({ body: fields as never });
      const made = { id: data.id, name, fields, status: 'draft', hasVersions: false };
      this.#state.agents = [...this.#state.agents, { ...made, publishConfig: {}, tools: [], triggers: [] }];
    } else if (action === 'update') {
      await this.#client.agents.update({ path: { id }, body: fields });
    } else {
      await this.#client.agents.publish({ path: { id: this.#agentId(name) }, body: fields });
    }
  }

  async #tool({ action, id = '', agent, fields }: Change): Promise<void> {
    const body = resolved(fields, this.#state) as never;
    const path = { id: this.#agentId(agent) };
    if (action === 'create') await this.#client.agentSchemas.create({ path, body });
    else if (action === 'update') {
      await this.#client.agentSchemas.update({ path: { ...path, schemaId: id }, body });
    } else await this.#client.agentSchemas.delete({ path: { ...path, schemaId: id } });
  }

  async #trigger({ action, id = '', agent, name, fields }: Change): Promise<void> {
    const { enabled, ...rest } = resolved(fields, this.#state);
    if (action === 'delete') {
      await this.#client.triggers.delete({ path: { id } });
    } else if (action === 'update') {
      const { trigger_type: _, ...body } = { ...rest, enabled } as Fields;
      const { data } = await this.#client.triggers.update({ path: { id }, body: body });
      const { webhook_secret: secret, webhook_url: url } = data;
      if (secret !== undefined) this.#progress.made({ name, url, secret });
    } else {
      const body = { ...rest, agent_id: this.#agentId(agent) } as never;
      const { data, webhook_url: url } = await this.#client.triggers.create({ body });
      const { webhook_secret: secret } = data;
      if (url !== undefined || secret !== undefined) this.#progress.made({ name, url, secret });
      if (enabled === false) await this.#client.triggers.disable({ path: { id: data.id } });
    }
  }

  #agentId(name: string | undefined): string {
    const all: readonly Stored[] = this.#state.agents;
    return all.find((one) => one.name === name)?.id ?? '';
  }
}
