import { createHash } from 'node:crypto';
import { ProtocolError, SdkHttpError } from '@modelcontextprotocol/client';
import type { Time } from '../../../cluster/index.js';
import { EgressError } from '../../infra/egress/index.js';
import { limitsOf, type RequestLimits, type ServerAccess, ServerSession } from './server-session.js';

/** Longer than the pauses between the tool calls of a turn; shorter than servers keep idle sessions. */
const idleMs = 60_000;
/** Per tenant, server and credential. Further sessions are opened as needed and end with their call. */
const idleOfOneMax = 8;
/** Per node. The session that was idle longest is closed for a new one. */
const idleMax = 256;

interface IdleSession {
  readonly key: string;
  readonly session: ServerSession;
  readonly timer: { cancel(): void };
}

/**
 * Sessions with MCP servers, kept between calls to save the greeting. A call has its session alone, so an aborted
 * call affects no other. Separated by tenant, server and credential.
 */
export class ServerSessions {
  readonly #time: Time;
  /** In the order in which they became idle. */
  readonly #idle = new Set<IdleSession>();
  #isStopped = false;

  constructor(time: Time) {
    this.#time = time;
  }

  async use<Result>(
    access: ServerAccess,
    work: (session: ServerSession, limits: RequestLimits) => Promise<Result>,
  ): Promise<Result> {
    const key = keyOf(access);
    const kept = this.#take(key);
    if (kept !== undefined) {
      try {
        return await this.#lend(key, kept, access, work);
      } catch (error) {
        // The server has forgotten the session or was not reached, so the call had no effect and can be repeated.
        if (access.signal.aborted || !wasNotTaken(error, kept)) throw error;
      }
    }
    return this.#lend(key, await ServerSession.open(access), access, work);
  }

  /** Closes the idle sessions; lent sessions end with their calls. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const idle = [...this.#idle];
    this.#idle.clear();
    await Promise.all(
      idle.map(({ session, timer }) => {
        timer.cancel();
        return session.close();
      }),
    );
  }

  async #lend<Result>(
    key: string,
    session: ServerSession,
    access: ServerAccess,
    work: (session: ServerSession, limits: RequestLimits) => Promise<Result>,
  ): Promise<Result> {
    session.lendTo(access);
    try {
      const result = await work(session, limitsOf(access));
      this.#keep(key, session);
      return result;
    } catch (error) {
      // A protocol error is an answer. After any other error the state of the session is unknown.
      if (error instanceof ProtocolError) this.#keep(key, session);
      else void session.close();
      throw error;
    }
  }

  #take(key: string): ServerSession | undefined {
    // The server is least likely to have forgotten the most recently used session.
    const found = [...this.#idle].findLast((idle) => idle.key === key);
    if (found === undefined) return undefined;
    this.#remove(found);
    return found.session;
  }

  #keep(key: string, session: ServerSession): void {
    const sameKey = [...this.#idle].filter((idle) => idle.key === key);
    if (this.#isStopped || sameKey.length >= idleOfOneMax) return void session.close();
    const idle: IdleSession = { key, session, timer: this.#time.after(idleMs, () => this.#end(idle)) };
    this.#idle.add(idle);
    const [oldest] = this.#idle;
    if (this.#idle.size > idleMax && oldest !== undefined) this.#end(oldest);
  }

  #end(idle: IdleSession): void {
    this.#remove(idle);
    void idle.session.close();
  }

  #remove(idle: IdleSession): void {
    idle.timer.cancel();
    this.#idle.delete(idle);
  }
}

/** Hashed, so that the credential is not kept in one more place. */
function keyOf({ tenantId, server, headers }: ServerAccess): string {
  return createHash('sha256')
    .update(JSON.stringify([tenantId, server.url, server.transport, headers]))
    .digest('base64url');
}

function wasNotTaken(error: unknown, session: ServerSession): boolean {
  if (error instanceof SdkHttpError) {
    return error.status === 404 || (error.status === 400 && session.isKnownById);
  }
  let inner = error;
  while (inner instanceof Error && !(inner instanceof EgressError)) inner = inner.cause;
  return inner instanceof EgressError && inner.neverSent;
}
