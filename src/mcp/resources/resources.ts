import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplateType,
} from '@modelcontextprotocol/server';
import { didYouMean } from '../../kernel/closest-name.js';
import { PlatformError } from '../../kernel/errors.js';
import type { ClientRequest } from '../client-request.js';
import { boundedAnswer } from '../tools/bounded-answer.js';
import type { ToolRunner } from '../tools/tool-runner.js';
import { catalogDocuments } from './catalogs.js';
import type { Document, DocumentParts } from './document.js';
import { guideDocuments } from './guides.js';
import { schemaDocuments } from './schemas.js';

export interface ResourcesParts extends DocumentParts {
  readonly runner: ToolRunner;
}

/** Rows of the tenant that clients can read and subscribe to: the tool that reads one, and its argument. */
const rows = {
  agents: { tool: 'get_agent', argument: 'agent_id' },
  sessions: { tool: 'get_session', argument: 'session_id' },
  executions: { tool: 'get_execution', argument: 'execution_id' },
} as const;
export type RowKind = keyof typeof rows;

export interface RowAddress {
  readonly kind: RowKind;
  readonly id: string;
}

const rowAddress = /^platform:\/\/(agents|sessions|executions)\/([0-9a-f-]{36})(?:\?(.*))?$/;
const never = new AbortController().signal;

export function rowUri(kind: RowKind, id: string): string {
  return `platform://${kind}/${id}`;
}

/** The row that an address names, if it names one. */
export function rowIn(uri: string): RowAddress | undefined {
  const [, kind, id] = rowAddress.exec(uri) ?? [];
  return kind === undefined || id === undefined ? undefined : { kind: kind as RowKind, id };
}

/** The reference material, the same for every role, and rows of the tenant as templates. */
export class Resources {
  readonly list: readonly Resource[];
  readonly templates: readonly ResourceTemplateType[] = [
    template('agents', '{id}', 'An agent', 'One agent in full, as get_agent returns it.'),
    template('sessions', '{id}{?cursor,limit}', 'A session', 'A conversation and a page of its transcript.'),
    template('executions', '{id}', 'An execution', 'One turn with its steps, as get_execution returns it.'),
  ];
  readonly #parts: ResourcesParts;
  readonly #documents: ReadonlyMap<string, Document>;

  constructor(parts: ResourcesParts) {
    this.#parts = parts;
    const all = [...guideDocuments(parts), ...schemaDocuments(parts.table), ...catalogDocuments(parts.table)];
    this.#documents = new Map(all.map((one) => [one.uri, one]));
    this.list = all.map(({ uri, name, title, description, mimeType }) => {
      return { uri, name, title, description, mimeType };
    });
  }

  async read(request: ClientRequest, uri: string): Promise<ReadResourceResult> {
    const document = this.#documents.get(uri);
    if (document !== undefined) {
      return { contents: [{ uri, mimeType: document.mimeType, text: await document.read(request) }] };
    }
    const row = rowAddress.exec(uri);
    if (row !== null) return this.#readRow(request, uri, row);
    const hint = didYouMean(uri, this.#documents.keys());
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `There is no resource ${uri.slice(0, 200)}.${hint} resources/list has them all.`,
    );
  }

  /** Reads with the rights and the bounds of the tool. */
  async #readRow(
    { caller, requestId }: ClientRequest,
    uri: string,
    [, kind, id, query]: RegExpExecArray,
  ): Promise<ReadResourceResult> {
    const { catalogue, runner } = this.#parts;
    const { tool: name, argument } = rows[kind as RowKind];
    const tool = catalogue.named(name);
    if (tool === undefined) throw new Error(`there is no tool ${name}`);
    const args = { ...Object.fromEntries(new URLSearchParams(query ?? '')), [argument]: id };
    try {
      const { text } = await boundedAnswer(tool.plan, args, (given) =>
        runner.run(tool, given, { caller, requestId, signal: never }),
      );
      return { contents: [{ uri, mimeType: 'application/json', text }] };
    } catch (error) {
      if (!(error instanceof PlatformError) || !wrongAddress.has(error.status)) throw error;
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `${uri.slice(0, 200)}: ${error.message}`);
    }
  }
}

/** The statuses of refusals that another address mends: no such row, or a wrong cursor or limit. */
const wrongAddress: ReadonlySet<number> = new Set([400, 404]);

function template(kind: RowKind, rest: string, title: string, description: string): ResourceTemplateType {
  return { uriTemplate: rowUri(kind, rest), name: kind, title, description, mimeType: 'application/json' };
}
