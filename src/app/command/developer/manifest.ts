import { open } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { didYouMean } from '../../../kernel/closest-name.js';
import { CommandError } from '../command.js';
import { allOfInput } from './login.js';

/** A field of the file as it is written; what it may hold is the platform's to say. */
export type Fields = Readonly<Record<string, unknown>>;

const name = z.string().min(1);
const fields = z.record(z.string(), z.unknown());

const secret = z.strictObject({
  name,
  kind: z.enum(['generic', 'llm_key', 'basic', 'bearer']).optional(),
  provider: z.string().nullish(),
  allowed_hosts: z.array(z.string()).nullish(),
  /** The environment variable with the value. Without it the secret must be in the vault already. */
  from_env: z.string().min(1).optional(),
});
const tool = z.looseObject({ name, type: z.enum(['api', 'mcp', 'agent']), editor_schema: fields });
const trigger = z.looseObject({
  name,
  trigger_type: z.string(),
  trigger_config: fields.default({}),
  enabled: z.boolean().optional(),
});
const agent = z.looseObject({
  name,
  published: z.boolean().optional(),
  publish_config: fields.optional(),
  tools: z.array(tool).default([]),
  triggers: z.array(trigger).default([]),
});
const database = z.looseObject({ name, connection_config: fields });
const manifest = z.strictObject({
  secrets: z.array(secret).default([]),
  databases: z.array(database).default([]),
  agents: z.array(agent).default([]),
});

export type Manifest = z.output<typeof manifest>;
export type DeclaredAgent = z.output<typeof agent>;
export type DeclaredSecret = z.output<typeof secret>;

const fileBytesMax = 5 * 1024 * 1024;

/** Everything that the files declare; `-` is standard input. */
export async function readManifest(paths: readonly string[]): Promise<Manifest> {
  const files: Manifest[] = [];
  for (const path of paths) {
    const documents = parseAllDocuments(await textOf(path), { prettyErrors: true });
    for (const document of Array.isArray(documents) ? documents : []) {
      const [problem] = document.errors;
      if (problem !== undefined) throw new CommandError(`${path}: ${problem.message}`);
      files.push(checked(path, document.toJS({ maxAliasCount: 100 })));
    }
  }
  const whole: Manifest = {
    secrets: files.flatMap((one) => one.secrets),
    databases: files.flatMap((one) => one.databases),
    agents: files.flatMap((one) => one.agents),
  };
  for (const [kind, items] of Object.entries(whole)) refuseRepeated(kind, items);
  for (const one of whole.agents) {
    refuseRepeated(`tools of the agent ${one.name}`, one.tools);
    refuseRepeated(`triggers of the agent ${one.name}`, one.triggers);
  }
  return whole;
}

function checked(path: string, value: unknown): Manifest {
  const read = manifest.safeParse(value ?? {});
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const where = issue?.path.join('.') || 'the top';
  const [unknown] = issue?.code === 'unrecognized_keys' ? issue.keys : [];
  if (unknown === undefined) throw new CommandError(`${path}: ${where}: ${issue?.message ?? 'is wrong'}`);
  const known = issue?.path[0] === 'secrets' ? Object.keys(secret.shape) : Object.keys(manifest.shape);
  throw new CommandError(`${path}: ${where}: there is no field ${unknown}.${didYouMean(unknown, known)}`);
}

/** Names are how the file and the installation find each other. */
function refuseRepeated(kind: string, items: readonly { readonly name: string }[]): void {
  const seen = new Set<string>();
  for (const item of items) {
    if (seen.has(item.name)) throw new CommandError(`${kind}: ${item.name} is declared twice.`);
    seen.add(item.name);
  }
}

async function textOf(path: string): Promise<string> {
  if (path === '-') return allOfInput();
  const file = await open(path).catch((cause: unknown): never => {
    throw new CommandError(`${path} cannot be read`, { cause });
  });
  try {
    const { size } = await file.stat();
    if (size > fileBytesMax) throw new CommandError(`${path} has ${size} bytes; at most 5 MB are read.`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
