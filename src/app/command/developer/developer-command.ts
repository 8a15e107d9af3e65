import { ApiError, type Client, ConnectionError, createClient } from '#client';
import type { Environment } from '../../../kernel/config/index.js';
import { type Command, CommandError, reasonsOf, usageError } from '../command.js';
import { describedCommand, usageOf } from '../help.js';
import { type Given, optionRows, type Options, readOptions } from './options.js';
import { type Output, systemOutput } from './output.js';
import { findProfile, type FoundProfile, type Profile } from './profiles.js';

export interface Context {
  readonly given: Given;
  readonly environment: Environment;
  readonly out: Output;
  /** Aborts at the first Ctrl-C; the second ends the process. Until a command reads it, the first one does. */
  readonly signal: AbortSignal;
  /** The client of the chosen profile. */
  client(): Promise<Client>;
  profile(): Promise<FoundProfile>;
  /** An error of the words, with the usage. */
  wrong(message: string): CommandError;
}

export interface DeveloperCommand {
  /** Lines without `troupe`. */
  readonly usage: readonly string[];
  readonly summary: string;
  readonly options: Options;
  /** The first words that it knows, for completion. */
  readonly actions?: readonly string[];
  readonly run: (context: Context) => Promise<void>;
}

const common: Options = {
  profile: { kind: 'text', about: 'the profile of troupe login; TROUPE_PROFILE names it too' },
  json: { kind: 'flag', about: 'print JSON' },
};

/** A command over the public API, in the form of all commands. */
export function developerCommand(described: DeveloperCommand): Command {
  const options = { ...described.options, ...common };
  const usage = usageOf(described);
  return {
    options: Object.keys(options),
    actions: described.actions ?? [],
    help: describedCommand(described.usage, described.summary, optionRows(options)),
    run: async (rest, environment) => {
      const given = readOptions(rest, options, usage);
      const profile = (): Promise<FoundProfile> => findProfile(environment, given.text('profile'));
      const stop = untilInterrupted();
      endWithReader();
      try {
        await described.run({
          given,
          environment,
          out: systemOutput(environment),
          get signal() {
            return stop.taken();
          },
          profile,
          client: async () => clientOf(withCredential(await profile())),
          wrong: (message) => usageError(message, usage),
        });
      } catch (error) {
        if (!stop.signal.aborted) throw readable(error);
      } finally {
        stop.end();
      }
      if (stop.signal.aborted) process.exitCode = interruptedExitCode;
    },
  };
}

export function clientOf({ url, api_key: apiKey, operator_token: operatorToken }: Profile): Client {
  return createClient({ baseUrl: url, apiKey, operatorToken });
}

function withCredential(profile: FoundProfile): Profile {
  if (profile.api_key === undefined && profile.withheld.api_key !== undefined)
    throw new CommandError(profile.withheld.api_key);
  if (profile.api_key !== undefined || profile.operator_token !== undefined) return profile;
  throw new CommandError('An API key is missing. Sign in with: troupe login, or set TROUPE_API_KEY.');
}

/** A reader that has seen enough, such as `head`, ends the command quietly. */
function endWithReader(): void {
  process.stdout.once('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit();
    throw error;
  });
}

/** As shells have it for a program that Ctrl-C ended. */
export const interruptedExitCode = 130;

interface Interruption {
  readonly signal: AbortSignal;
  /** For a command that ends by itself when the signal aborts. */
  taken(): AbortSignal;
  end(): void;
}

function untilInterrupted(): Interruption {
  const controller = new AbortController();
  const { signal } = controller;
  let isTaken = false;
  const interrupt = (): void => {
    // Nothing of the command looks at the signal: it waits for an answer, which may not come.
    if (!isTaken) process.exit(interruptedExitCode);
    controller.abort(new Error('interrupted'));
  };
  // `once`: the second Ctrl-C finds no listener and ends the process.
  process.once('SIGINT', interrupt);
  return {
    signal,
    taken: () => {
      isTaken = true;
      return signal;
    },
    end: () => process.off('SIGINT', interrupt),
  };
}

/** What is wrong, where, and what to do. */
function readable(error: unknown): unknown {
  if (error instanceof ConnectionError) {
    const [, ...causes] = reasonsOf(error);
    const reason = causes.at(-1);
    return new CommandError(
      `${error.message}${reason === undefined ? '' : ` (${reason})`}. Is TROUPE_BASE_URL, or the address of the profile, right?`,
    );
  }
  if (!(error instanceof ApiError)) return error;
  const advice = error.status === 401 ? ' Sign in with: troupe login, or set TROUPE_API_KEY.' : '';
  return new CommandError(`${reasonOf(error)}${advice}`);
}

/** The message of a refusal with its code, and its field where the message does not say what is wrong with it. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  const { field, issue } = error.details ?? {};
  if (typeof issue !== 'string' || error.message.includes(issue)) return `${error.message} (${error.code})`;
  return `${error.message} ${typeof field === 'string' ? `${field}: ` : ''}${issue} (${error.code})`;
}
