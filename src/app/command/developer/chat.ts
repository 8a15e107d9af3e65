import { createInterface, type Interface } from 'node:readline/promises';
import type { Client, Turn, TurnEvent, TurnOptions } from '#client';
import { CommandError, isId } from '../command.js';
import { type Context, developerCommand, interruptedExitCode } from './developer-command.js';
import { agentNamed } from './names.js';
import { allOfInput } from './login.js';
import { type Output, shown } from './output.js';
import { TypedLines } from './terminal.js';

export const chatCommand = developerCommand({
  usage: ['chat <agent> [message …]'],
  summary:
    'Talks to an agent, by name or id. Without a message it reads lines from a terminal, or one message from standard\n' +
    'input. The answer goes to standard output, all else to standard error. Exit code 1: the turn did not complete.',
  options: {
    session: { kind: 'text', about: 'continue this session' },
    consumer: { kind: 'text', about: 'the consumer_key of the person who speaks' },
    context: { kind: 'list', about: 'NAME=VALUE that the agent may read; several times' },
    thinking: { kind: 'flag', about: 'show what the model thinks, where it says so' },
    quiet: { kind: 'flag', short: 'q', about: 'print the answer alone' },
  },
  run: async (context) => {
    const { given } = context;
    const [agent, ...words] = given.words;
    if (agent === undefined) throw context.wrong('an agent is missing');
    const client = await context.client();
    const agentId = isId(agent) ? agent : (await agentNamed(client, agent)).id;
    const conversation = new Conversation(context, client, agentId);
    if (words.length > 0) await conversation.say(words.join(' '));
    else if (process.stdin.isTTY) await conversation.talk();
    else await conversation.say(await allOfInput());
  },
});

class Conversation {
  readonly #context: Context;
  readonly #client: Client;
  readonly #agentId: string;
  #sessionId: string | undefined;
  #asking: Interface | undefined;
  #lines: TypedLines | undefined;

  constructor(context: Context, client: Client, agentId: string) {
    this.#context = context;
    this.#client = client;
    this.#agentId = agentId;
    this.#sessionId = context.given.text('session');
  }

  /** Line by line, until the end of the input or `/quit`. */
  async talk(): Promise<void> {
    const { out } = this.#context;
    const asking = createInterface({ input: process.stdin, output: process.stderr });
    // Nothing can be asked where the input has ended.
    asking.once('close', () => (this.#asking = undefined));
    this.#asking = asking;
    this.#lines = new TypedLines(asking, out.style('bold', '› '));
    try {
      for (;;) {
        const text = await this.#lines.next();
        if (text === undefined || text === '/quit') return;
        if (text.trim() !== '') await this.say(text);
      }
    } finally {
      asking.close();
    }
  }

  async say(message: string): Promise<void> {
    const { given, out, signal } = this.#context;
    const stop = new AbortController();
    const turn = this.#client.agents.chat(this.#agentId, this.#inputOf(message), this.#options(stop.signal));
    const interrupted = new AbortController();
    // The first Ctrl-C cancels the turn, whose end is still read.
    const cancel = (): void => {
      interrupted.abort();
      this.#lines?.drop();
      turn.cancel().catch((error: unknown) => stop.abort(error instanceof Error ? error : undefined));
    };
    signal.addEventListener('abort', cancel, { once: true });
    const end = this.#onCtrlC(cancel);
    const screen = new Screen(out, { isQuiet: given.flag('quiet'), thinks: given.flag('thinking') });
    try {
      for await (const event of turn) {
        this.#sessionId = turn.sessionId ?? this.#sessionId;
        if (given.flag('json')) out.json(event);
        else screen.show(event);
        if (event.type === 'approval') await this.#decide(event, turn, interrupted.signal);
        if (event.type === 'done' && event.outcome !== 'COMPLETED') process.exitCode = 1;
      }
    } finally {
      signal.removeEventListener('abort', cancel);
      end();
    }
    if (!given.flag('json') && !given.flag('quiet')) screen.end(turn);
  }

  /** While readline reads lines of a terminal it takes Ctrl-C: the process gets no signal, and without a listener readline closes. */
  #onCtrlC(cancel: () => void): () => void {
    const asking = this.#asking;
    let isFirst = true;
    const pressed = (): void => {
      if (isFirst) cancel();
      else {
        asking?.close();
        process.exit(interruptedExitCode);
      }
      isFirst = false;
    };
    asking?.on('SIGINT', pressed);
    return () => void asking?.off('SIGINT', pressed);
  }

  #options(signal: AbortSignal): TurnOptions {
    const { out, given } = this.#context;
    let isLost = false;
    return {
      signal,
      onConnection: (state) => {
        if (state === 'lost' && !isLost && !given.flag('json') && !given.flag('quiet'))
          out.note(out.style('dim', 'reconnecting …'));
        isLost = state === 'lost';
      },
    };
  }

  #inputOf(message: string) {
    const { given } = this.#context;
    const consumer = given.text('consumer');
    const context = Object.fromEntries(given.list('context').map((pair) => this.#pairOf(pair)));
    return {
      message,
      ...(this.#sessionId !== undefined && { session_id: this.#sessionId }),
      ...(consumer !== undefined && { consumer_key: consumer }),
      ...(given.list('context').length > 0 && { context }),
    };
  }

  #pairOf(pair: string): readonly [string, string] {
    const at = pair.indexOf('=');
    if (at < 1) throw this.#context.wrong(`--context ${pair} is not NAME=VALUE`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  }

  /** Asks the person at the terminal; elsewhere it says how to decide, and leaves the turn waiting. */
  async #decide(
    event: TurnEvent & { readonly type: 'approval' },
    turn: Turn,
    interrupted: AbortSignal,
  ): Promise<void> {
    const { out } = this.#context;
    const id = event.approval_id;
    const undecided = new CommandError(
      `The turn waits for a decision on ${event.tool}, and execution ${turn.executionId ?? ''} goes on after it: ` +
        `POST /api/v1/approvals/${id} {"decision": "approve" | "deny"}`,
    );
    if (this.#asking === undefined) throw undecided;
    const question = `${shown(event.tool)} ${shown(JSON.stringify(event.arguments))}: approve? [y/N] `;
    const asked = this.#asking.question(out.style('yellow', question), { signal: interrupted });
    const answer = await asked.catch((error: unknown) => {
      if (interrupted.aborted) return undefined;
      // Ctrl-D.
      throw error instanceof Error && error.name === 'AbortError' ? undecided : error;
    });
    // The turn is cancelled, and its approval with it.
    if (answer === undefined) return;
    const decision = /^y(?:es)?$/i.test(answer.trim()) ? 'approve' : 'deny';
    await this.#client.approvals.decide({ path: { id }, body: { decision } });
  }
}

/** A turn as a person reads it: the answer as it comes, with the tools beside it. */
class Screen {
  readonly #out: Output;
  readonly #isQuiet: boolean;
  readonly #thinks: boolean;
  #isInText = false;
  #hasText = false;

  constructor(out: Output, options: { readonly isQuiet: boolean; readonly thinks: boolean }) {
    this.#out = out;
    this.#isQuiet = options.isQuiet;
    this.#thinks = options.thinks;
  }

  show(event: TurnEvent): void {
    switch (event.type) {
      case 'delta':
        this.#out.write(shown(event.content));
        this.#isInText = true;
        this.#hasText = true;
        return;
      case 'response':
        if (!this.#hasText && event.content !== '') this.#out.write(shown(event.content));
        this.#isInText ||= event.content !== '';
        this.#endText();
        for (const block of event.blocks ?? [])
          this.#note('cyan', block.data.labels.map((label) => `[${shown(label)}]`).join(' '));
        return;
      case 'status':
        if (event.state === 'running') return;
        this.#note(
          'dim',
          event.state === 'queued' ? 'waiting for an earlier turn …' : 'started again on another node:',
        );
        if (event.state === 'restarted') this.#hasText = false;
        return;
      case 'tool':
        this.#note(event.state === 'failed' || event.state === 'timeout' ? 'red' : 'cyan', toolLine(event));
        return;
      case 'thinking':
        if (this.#thinks) this.#note('dim', shown(event.content));
        return;
      case 'error':
        this.#note('red', `${shown(event.message)} (${event.code})`);
        return;
      case 'done':
        this.#endText();
        if (event.outcome !== 'COMPLETED') this.#note('red', event.outcome);
        return;
      case 'metadata':
        for (const { field, reason } of event.ignored_fields)
          this.#note('yellow', `${field} was ignored: ${reason}`);
        return;
      case 'metrics':
      case 'phase':
      case 'approval':
    }
  }

  end(turn: Turn): void {
    this.#note('dim', `session ${turn.sessionId ?? ''}  execution ${turn.executionId ?? ''}`);
  }

  #note(style: Parameters<Output['style']>[0], text: string): void {
    this.#endText();
    if (!this.#isQuiet) this.#out.note(this.#out.style(style, text));
  }

  #endText(): void {
    if (this.#isInText) this.#out.write('\n');
    this.#isInText = false;
  }
}

function toolLine(event: TurnEvent & { readonly type: 'tool' }): string {
  const time = event.latency_ms === undefined ? '' : ` ${event.latency_ms} ms`;
  return `⚙ ${shown(event.name)} ${event.state}${time}`;
}
