import { SettingsError } from '../../kernel/config/index.js';
import { type Command, CommandError, reasonsOf } from './command.js';

interface Listed {
  readonly name: string;
  /** How it is called, without `troupe`. */
  readonly words: string;
  readonly summary: string;
  /** Only what is called is loaded: the whole product takes seconds, and most commands need little of it. */
  readonly open: () => Promise<Command>;
}

const commands: readonly Listed[] = [
  {
    name: 'start',
    words: 'start',
    summary: 'one node with a database of its own, for trying out and developing',
    open: async () => (await import('./start.js')).startCommand,
  },
  {
    name: 'serve',
    words: 'serve',
    summary: 'one production node; needs DATABASE_URL, REDIS_URL, TROUPE_MASTER_KEY',
    open: async () => (await import('./serve.js')).serveCommand,
  },
  {
    name: 'migrate',
    words: 'migrate',
    summary: 'bring the tables of DATABASE_URL up to date',
    open: async () => (await import('./migrate.js')).migrateCommand,
  },
  {
    name: 'doctor',
    words: 'doctor',
    summary: 'check every dependency and say how to mend what is wrong',
    open: async () => (await import('./doctor.js')).doctorCommand,
  },
  {
    name: 'config',
    words: 'config',
    summary: 'list every setting, its value and meaning',
    open: async () => (await import('./config.js')).configCommand,
  },
  {
    name: 'keys',
    words: 'keys create|list|revoke …',
    summary: 'make, list and revoke API keys, owner keys among them',
    open: async () => (await import('./keys.js')).keysCommand,
  },
  {
    name: 'tenants',
    words: 'tenants list|create|plan …',
    summary: 'list and make tenants, change their plan',
    open: async () => (await import('./tenants.js')).tenantsCommand,
  },
  {
    name: 'vault',
    words: 'vault rotate',
    summary:
      'wrap all data keys anew with TROUPE_MASTER_KEY; the old key stands in TROUPE_MASTER_KEYS_PREVIOUS',
    open: async () => (await import('./vault.js')).vaultCommand,
  },
];

/** Runs one command line. The exit code is 0, 1 for a failure and 2 for words that are wrong. */
export async function run(words: readonly string[]): Promise<void> {
  const [name, ...rest] = words;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    process.stdout.write(usage());
    return;
  }
  const command = commands.find((one) => one.name === name);
  if (command === undefined) {
    process.stderr.write(`troupe: there is no command called ${name}\n\n${usage()}`);
    process.exitCode = 2;
    return;
  }
  try {
    await (await command.open()).run(rest, process.env);
  } catch (error) {
    process.exitCode = error instanceof CommandError ? error.exitCode : 1;
    process.stderr.write(`troupe ${name}: ${messageOf(error)}\n`);
    endSoon();
  }
}

/** What a failed start had opened may hold the process, which must not look as if it served. */
const lingerMs = 5_000;

function endSoon(): void {
  // It counts itself for nothing: a process that nothing holds ends before.
  setTimeout(() => process.exit(), lingerMs).unref();
}

/** The whole chain of causes for the operator; a stack only where nobody foresaw the failure. */
function messageOf(error: unknown): string {
  if (error instanceof CommandError || error instanceof SettingsError) return error.message;
  return reasonsOf(error).join('\n  because: ');
}

function usage(): string {
  const width = Math.max(...commands.map(({ words }) => words.length));
  const lines = commands.map(({ words, summary }) => `  troupe ${words.padEnd(width)}  ${summary}`);
  return `Usage:\n${lines.join('\n')}\n\nSettings come from the environment; troupe config lists them.\n`;
}
