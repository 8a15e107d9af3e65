import { SettingsError } from '../config/index.js';
import { type Command, CommandError, reasonsOf } from './command.js';
import { configCommand } from './config.js';
import { doctorCommand } from './doctor.js';
import { keysCommand } from './keys.js';
import { migrateCommand } from './migrate.js';
import { serveCommand } from './serve.js';
import { startCommand } from './start.js';
import { tenantsCommand } from './tenants.js';
import { vaultCommand } from './vault.js';

const commands: readonly Command[] = [
  startCommand,
  serveCommand,
  migrateCommand,
  doctorCommand,
  configCommand,
  keysCommand,
  tenantsCommand,
  vaultCommand,
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
    await command.run(rest, process.env);
  } catch (error) {
    process.exitCode = error instanceof CommandError ? error.exitCode : 1;
    process.stderr.write(`troupe ${name}: ${messageOf(error)}\n`);
  }
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
