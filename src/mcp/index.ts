// The public interface of MCP: the platform's operations as tools, and reference material, over streamable HTTP.
import type { ChatTurns, Sessions } from '../conversations/sessions/index.js';
import type { Admission, IdempotentRequests, Operation, OperationTable } from '../http/operations/index.js';
import type { Platform } from '../infra/platform/index.js';
import type { PlatformError } from '../kernel/errors.js';
import { controllerOfMany } from '../kernel/leave-signal.js';
import { Cancellations } from './cancellations.js';
import { ChatRunner } from './chat/run-chat.js';
import { type EndpointParts, mcpOperations } from './endpoint.js';
import { Completions } from './prompts/completions.js';
import { Resources } from './resources/resources.js';
import { RunningCalls } from './running-calls.js';
import { listHint, type McpServerParts } from './server.js';
import { ToolRunner } from './tools/tool-runner.js';
import { ToolCatalogue } from './tools/catalogue.js';
import { TurnEnds } from './turn-ends.js';

/** Tools that one credential runs at once on a node. */
const callsMax = 50;

type PlatformParts = Pick<Platform, 'store' | 'time' | 'changes' | 'ids' | 'log'>;

export interface McpOptions extends Omit<
  EndpointParts,
  'server' | 'changes' | 'stopping' | 'turnEnds' | 'newId' | 'time'
> {
  readonly version: string;
  readonly chats: ChatTurns;
  readonly sessions: Sessions;
  readonly admission: Admission;
  readonly requests: IdempotentRequests;
  readonly platformErrorOf: (error: unknown) => PlatformError | undefined;
}

export interface McpSubject {
  readonly operations: readonly Operation[];
  /** Called once all operations are declared: the table contains those of MCP too. */
  readonly serve: (table: OperationTable) => void;
  /** Ends the streams of subscriptions. */
  readonly stop: () => void;
}

export function createMcp(platform: PlatformParts, options: McpOptions): McpSubject {
  let server: McpServerParts | undefined;
  const stopping = controllerOfMany();
  const operations = mcpOperations({
    ...options,
    changes: platform.changes,
    time: platform.time,
    turnEnds: new TurnEnds({ sessions: options.sessions, time: platform.time }),
    newId: () => platform.ids.uuid(),
    stopping: stopping.signal,
    server: () => {
      if (server === undefined) throw new Error('MCP was called before the table of operations was complete');
      return server;
    },
  });
  return {
    operations,
    serve: (table) => {
      server = serverParts(platform, options, table);
    },
    stop: () => {
      stopping.abort();
      server?.cancellations.stop();
    },
  };
}

function serverParts(
  { store, changes, time, log: { report } }: PlatformParts,
  options: McpOptions,
  table: OperationTable,
): McpServerParts {
  const { version, chats, requests, admission, platformErrorOf, publicUrl } = options;
  const catalogue = new ToolCatalogue(table);
  const running = new RunningCalls(callsMax);
  const runner = new ToolRunner({ table, admission });
  return {
    version,
    catalogue,
    runner,
    chats: new ChatRunner({ chats, requests, admission, report }),
    resources: new Resources({ table, catalogue, runner, publicUrl }),
    completions: new Completions(catalogue, runner),
    running,
    listHint,
    cancellations: new Cancellations({ store, changes, running }),
    time,
    platformErrorOf,
    report,
  };
}
