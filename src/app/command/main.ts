import { didYouMean } from '../../kernel/closest-name.js';
import { type Command, CommandError, reasonsOf, refuseArguments } from './command.js';
import { columns, type CommandHelp, helpText } from './help.js';
import { operatorHelp } from './operator-help.js';

interface Listed {
  readonly name: string;
  readonly summary: string;
  /** Where it is here, the command need not be loaded to be described. */
  readonly help?: CommandHelp;
  /** Loads only the called command: the whole product takes seconds to load, and most commands need little of it. */
  readonly open: () => Promise<Command>;
}

const developerCommands: readonly Listed[] = [
  {
    name: 'login',
    summary: 'keep the address and API key of an installation',
    open: async () => (await import('./developer/login.js')).loginCommand,
  },
  {
    name: 'logout',
    summary: 'forget the API key of a profile',
    open: async () => (await import('./developer/login.js')).logoutCommand,
  },
  {
    name: 'chat',
    summary: 'talk to an agent: the answer streams, with its tools',
    open: async () => (await import('./developer/chat.js')).chatCommand,
  },
  {
    name: 'apply',
    summary: 'bring agents, tools, triggers and databases to what files declare, after a plan',
    open: async () => (await import('./developer/apply.js')).applyCommand,
  },
  {
    name: 'export',
    summary: 'write agents with their tools and triggers into a file for apply',
    open: async () => (await import('./developer/export.js')).exportCommand,
  },
  {
    name: 'sessions',
    summary: 'conversations: list, read, take over, write, erase',
    open: async () => (await import('./developer/sessions.js')).sessionsCommand,
  },
  {
    name: 'executions',
    summary: 'turns with their steps, and their events as they come',
    open: async () => (await import('./developer/executions.js')).executionsCommand,
  },
  {
    name: 'triggers',
    summary: 'triggers and their executions; try one, run one',
    open: async () => (await import('./developer/triggers.js')).triggersCommand,
  },
  {
    name: 'logs',
    summary: 'the calls of models, as they end',
    open: async () => (await import('./developer/logs.js')).logsCommand,
  },
  {
    name: 'webhooks',
    summary: 'send a signed payload to a webhook trigger',
    open: async () => (await import('./developer/webhooks.js')).webhooksCommand,
  },
  {
    name: 'top',
    summary: 'a live table of nodes and tenants, with the operator token',
    open: async () => (await import('./developer/top.js')).topCommand,
  },
  {
    name: 'completion',
    summary: 'a script that completes these commands in a shell',
    open: async () => (await import('./developer/completion.js')).completionCommand(completed),
  },
];

const operatorCommands: readonly Listed[] = [
  {
    name: 'start',
    summary: 'run one node with its own database, for trying out and developing',
    help: operatorHelp.start,
    open: async () => (await import('./start.js')).startCommand,
  },
  {
    name: 'serve',
    summary: 'run one production node; needs DATABASE_URL, REDIS_URL, TROUPE_MASTER_KEY',
    help: operatorHelp.serve,
    open: async () => (await import('./serve.js')).serveCommand,
  },
  {
    name: 'migrate',
    summary: 'apply pending migrations to DATABASE_URL',
    help: operatorHelp.migrate,
    open: async () => (await import('./migrate.js')).migrateCommand,
  },
  {
    name: 'doctor',
    summary: 'check every dependency and suggest fixes; --vendors asks each vendor whether its keys work',
    help: operatorHelp.doctor,
    open: async () => (await import('./doctor.js')).doctorCommand,
  },
  {
    name: 'config',
    summary: 'list every setting, its value and meaning',
    help: operatorHelp.config,
    open: async () => (await import('./config.js')).configCommand,
  },
  {
    name: 'keys',
    summary: 'create, list and revoke API keys, including owner keys',
    help: operatorHelp.keys,
    open: async () => (await import('./keys.js')).keysCommand,
  },
  {
    name: 'tenants',
    summary: 'list, create, suspend, resume and delete tenants, change their plan',
    help: operatorHelp.tenants,
    open: async () => (await import('./tenants.js')).tenantsCommand,
  },
  {
    name: 'users',
    summary: 'list, disable, create and invite users',
    help: operatorHelp.users,
    open: async () => (await import('./users.js')).usersCommand,
  },
  {
    name: 'usage',
    summary: 'calls, tokens and cost of all tenants, by tenant, model or day',
    help: operatorHelp.usage,
    open: async () => (await import('./usage.js')).usageCommand,
  },
  {
    name: 'backup',
    summary: 'copy all data into a new folder, while nodes serve',
    help: operatorHelp.backup,
    open: async () => (await import('./backup.js')).backupCommand,
  },
  {
    name: 'restore',
    summary: 'load a backup into an empty database, with its master key',
    help: operatorHelp.restore,
    open: async () => (await import('./restore.js')).restoreCommand,
  },
  {
    name: 'mcp',
    summary: 'serve MCP over stdio, with TROUPE_API_KEY, TROUPE_BASE_URL and TROUPE_ROLE',
    help: operatorHelp.mcp,
    open: async () => (await import('./mcp.js')).mcpCommand,
  },
  {
    name: 'vault',
    summary: 'wrap all data keys again with TROUPE_MASTER_KEY; with --tenant, give it a new data key',
    help: operatorHelp.vault,
    open: async () => (await import('./vault.js')).vaultCommand,
  },
];

const commands: readonly Listed[] = [...operatorCommands, ...developerCommands];

/** What a shell may offer. The operator's commands load the whole product, so they are described beside it. */
async function completed() {
  return Promise.all(
    commands.map(async ({ name, summary, help, open }) => {
      if (help !== undefined) {
        return { name, summary, actions: help.actions ?? [], options: Object.keys(help.options) };
      }
      const { actions = [], options = [] } = await open();
      return { name, summary, actions, options };
    }),
  );
}

/** Runs one command line. The exit code is 0, 1 for a failure, 2 for wrong arguments. */
export async function run(args: readonly string[]): Promise<void> {
  // `troupe help keys` is `troupe keys --help`.
  const [name, ...rest] = args[0] === 'help' && args[1] !== undefined ? [args[1], '--help'] : args;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    process.stdout.write(usage());
    return;
  }
  if (name === '--version' || name === '-v' || name === 'version') {
    process.stdout.write(`${(await import('../../kernel/config/version.js')).version}\n`);
    return;
  }
  const command = commands.find((one) => one.name === name);
  if (command === undefined) {
    const meant = didYouMean(name, [...commands.map((one) => one.name), 'help']);
    process.stderr.write(`troupe: there is no command ${name}.${meant}\n\n${usage()}`);
    process.exitCode = 2;
    return;
  }
  if (rest.includes('--help') || rest.includes('-h')) {
    const text = command.help === undefined ? (await command.open()).help : helpText(command.help);
    process.stdout.write(text ?? '');
    return;
  }
  try {
    // For commands of one word, settings come from the environment.
    if (command.help?.usage.join() === name) refuseArguments(rest, name);
    await (await command.open()).run(rest, process.env);
  } catch (error) {
    process.exitCode = error instanceof CommandError ? error.exitCode : 1;
    process.stderr.write(`troupe ${name}: ${await messageOf(error)}\n`);
    endSoon();
  }
}

/** Resources of a failed start may keep the process alive; it must not look as if it served. */
const lingerMs = 5_000;

function endSoon(): void {
  // The timer is unreferenced: a process without open resources ends before.
  setTimeout(() => process.exit(), lingerMs).unref();
}

/** The whole chain of causes for the operator, without a stack. */
async function messageOf(error: unknown): Promise<string> {
  // Loaded only here: the settings load a schema library, which takes longer than the rest of a small command.
  const { SettingsError } = await import('../../kernel/config/index.js');
  if (error instanceof CommandError || error instanceof SettingsError) return error.message;
  return reasonsOf(error).join('\n  because: ');
}

function usage(): string {
  const width = commands.reduce((widest, { name }) => Math.max(widest, name.length), 0);
  const lines = (listed: readonly Listed[]): string =>
    columns(listed.map(({ name, summary }) => [`troupe ${name.padEnd(width)}`, summary]));
  return `Usage: an installation
${lines(operatorCommands)}

Usage: an installation over its API, with the key of troupe login or
TROUPE_API_KEY
${lines(developerCommands)}

Settings come from the environment; troupe config lists them. troupe help
COMMAND tells its arguments and options.
Exit codes: 0 done, 1 failed, 2 wrong arguments, 130 ended by Ctrl-C; others are
told by the help of their command.
`;
}
