import { StdioBridge } from '../../mcp/stdio/bridge.js';
import { roles } from '../../kernel/caller.js';
import { type Command, CommandError, readArguments, usageError } from './command.js';
import { textOptions, usageOf } from './help.js';
import { operatorHelp } from './operator-help.js';

const usage = usageOf(operatorHelp.mcp);

/** The flag may also be written like the header, `--readonly`, and either spelling without a value. */
function withValues(words: readonly string[]): string[] {
  return words.flatMap((word, at) => {
    const flag = /^--read-?only(?<value>=.*)?$/.exec(word);
    if (flag === null) return [word];
    const value = flag.groups?.['value'];
    if (value !== undefined) return [`--read-only${value}`];
    const next = words[at + 1];
    return next === undefined || next.startsWith('--') ? ['--read-only=on'] : ['--read-only'];
  });
}

/** The MCP server of an installation for a client that starts a program and speaks over its pipes. */
export const mcpCommand: Command = {
  run: async (rest, environment) => {
    const { values, positionals } = readArguments(withValues(rest), textOptions(operatorHelp.mcp), usage);
    if (positionals.length > 0) throw usageError(`unexpected argument ${positionals[0] ?? ''}`, usage);
    const readOnly = values['read-only'] ?? 'off';
    // A word that is not understood must not open tools that change something.
    if (readOnly !== 'on' && readOnly !== 'off')
      throw usageError(`--read-only must be on or off, not ${readOnly}`, usage);
    const apiKey = environment['TROUPE_API_KEY'] ?? '';
    if (apiKey === '') {
      throw new CommandError('TROUPE_API_KEY is not set. Set it to an API key of your tenant.', {
        exitCode: 2,
      });
    }
    const role = environment['TROUPE_ROLE'] ?? '';
    if (role !== '' && !roles.some((one) => one === role)) {
      throw new CommandError(`TROUPE_ROLE must be one of ${roles.join(', ')}, not ${role}.`, { exitCode: 2 });
    }
    const bridge = new StdioBridge({
      upstream: {
        baseUrl: baseUrlOf(environment['TROUPE_BASE_URL'] ?? 'http://127.0.0.1:8080'),
        apiKey,
        headers: {
          ...(role === '' ? {} : { 'x-mcp-role': role }),
          ...(values['toolsets'] === undefined ? {} : { 'x-mcp-toolsets': values['toolsets'] }),
          ...(values['tools'] === undefined ? {} : { 'x-mcp-tools': values['tools'] }),
          ...(readOnly === 'on' ? { 'x-mcp-readonly': 'true' } : {}),
        },
      },
      clock: {
        monotonicMs: () => performance.now(),
        after: (ms, run) => {
          const timer = setTimeout(run, ms);
          return { cancel: () => clearTimeout(timer) };
        },
      },
      input: process.stdin,
      write: (line) =>
        new Promise((resolve) => {
          if (process.stdout.write(line)) resolve();
          else process.stdout.once('drain', resolve);
        }),
      log: (line) => void process.stderr.write(`troupe mcp: ${line}\n`),
    });
    // A client that is gone reads nothing more; there is nobody to report to.
    process.stdout.on('error', () => process.exit(0));
    await bridge.run();
    process.exit(0);
  },
};

function baseUrlOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new CommandError(`TROUPE_BASE_URL must be an http or https address, not ${text}.`, { exitCode: 2 });
  }
  return text.replace(/\/+$/, '');
}
