import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { LookUpRecords } from '../../infra/egress/index.js';
import { codeOf } from './bounded-dns.js';
import type { ReadOutcome, SenderCheck } from './parsed-mail.js';
import { type FromReader, fromReader, type ToReader } from './protocol.js';

/** Memory for a mail of 10 MB, its decoded text and the copies in between. */
const heapMb = 256;
const program = fileURLToPath(new URL('reader.process.js', import.meta.url));

interface Running {
  readonly lookUp: LookUpRecords;
  readonly resolve: (outcome: ReadOutcome) => void;
  readonly reject: (error: Error) => void;
}

/** The process ended, out of memory or killed from outside: a mail that causes this twice is not read. */
export class ReaderGone extends Error {
  override readonly name = 'ReaderGone';
}

/** One process that reads one mail at a time. It protects the node from any mail. */
export class ReaderProcess {
  readonly #child: ChildProcess;
  readonly ready: Promise<void>;
  #running: Running | undefined;
  #isGone = false;
  #resolveReady: () => void = () => undefined;

  constructor() {
    this.#child = fork(program, [], {
      serialization: 'advanced',
      execArgv: [`--max-old-space-size=${heapMb}`],
      // The process inherits nothing of the node's environment, which holds its keys.
      env: {},
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    let fail: (error: Error) => void = () => undefined;
    this.ready = new Promise((resolve, reject) => {
      this.#resolveReady = resolve;
      fail = reject;
    });
    // The error is reported to the next caller.
    this.ready.catch(() => undefined);
    this.#child.on('message', (message) => this.#hear(message));
    const end = (): void => {
      this.#isGone = true;
      const gone = new ReaderGone('The process that reads mails ended');
      fail(gone);
      this.#settle()?.reject(gone);
    };
    this.#child.once('exit', end);
    this.#child.once('error', end);
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** One call at a time. Rejects with `ReaderGone` if the process ends meanwhile. */
  read(raw: Uint8Array, check: SenderCheck | undefined, lookUp: LookUpRecords): Promise<ReadOutcome> {
    return new Promise((resolve, reject) => {
      this.#running = { lookUp, resolve, reject };
      this.#tell({ kind: 'read', raw, check });
    });
  }

  kill(): void {
    this.#isGone = true;
    this.#child.kill('SIGKILL');
  }

  #tell(message: ToReader): void {
    // A process that has ended reports it by its exit event.
    this.#child.send(message, () => undefined);
  }

  #settle(): Running | undefined {
    const running = this.#running;
    this.#running = undefined;
    return running;
  }

  #hear(given: unknown): void {
    const message = fromReader.safeParse(given);
    if (!message.success) this.kill();
    else if (message.data.kind === 'ready') this.#resolveReady();
    else if (message.data.kind === 'done') this.#settle()?.resolve(message.data.outcome);
    else this.#lookUp(message.data);
  }

  #lookUp({ query, name, type }: Extract<FromReader, { kind: 'query' }>): void {
    this.#running?.lookUp(name, type).then(
      (records) => this.#tell({ kind: 'records', query, records }),
      (error: unknown) => this.#tell({ kind: 'no-records', query, code: codeOf(error) }),
    );
  }
}
