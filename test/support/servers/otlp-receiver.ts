// An OTLP receiver over HTTP: reads what a collector would, from protobuf and from JSON.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

export interface SeenSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly kind: number;
  readonly status: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface SeenLog {
  readonly body: unknown;
  readonly severity: string;
  readonly traceId: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface SeenMetric {
  readonly name: string;
  readonly unit: string;
  readonly kind: 'gauge' | 'sum' | 'histogram';
  readonly points: readonly {
    readonly attributes: Readonly<Record<string, unknown>>;
    readonly value: number;
  }[];
}

/** `refuse` answers 503, `silent` never answers. */
type Manner = 'take' | 'refuse' | 'silent';

export class OtlpReceiver {
  readonly spans: SeenSpan[] = [];
  readonly logs: SeenLog[] = [];
  readonly metrics: SeenMetric[] = [];
  readonly resources: Readonly<Record<string, unknown>>[] = [];
  readonly requests: { readonly path: string; readonly headers: IncomingMessage['headers'] }[] = [];
  /** Everything that came, for searches of planted texts. */
  raw = '';
  manner: Manner = 'take';
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const { url: path = '', headers } = request;
        this.requests.push({ path, headers });
        if (this.manner === 'silent') return;
        if (this.manner === 'refuse') return void response.writeHead(503).end();
        const sent = Buffer.concat(pieces);
        this.#take(path, headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent, headers);
        response.writeHead(200, { 'content-type': headers['content-type'] ?? '' });
        response.end(headers['content-type'] === 'application/json' ? '{}' : '');
      });
    });
  }

  static async start(t: { teardown(fn: () => Promise<void>): void }): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    t.teardown(async () => {
      receiver.#server.closeAllConnections();
      receiver.#server.close();
    });
    return receiver;
  }

  connections(): Promise<number> {
    return new Promise((resolve, reject) =>
      this.#server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
    );
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #take(path: string, bytes: Buffer, headers: IncomingMessage['headers']): void {
    this.raw += bytes.toString('latin1');
    const signal = path.split('/').at(-1) ?? '';
    const isJson = headers['content-type'] === 'application/json';
    const read = isJson ? (JSON.parse(bytes.toString()) as Message) : messageOf(bytes, requestFields(signal));
    for (const of of list(read[`resource${capital(signal === 'traces' ? 'spans' : signal)}`])) {
      this.resources.push(attributesOf(object(of['resource'])['attributes']));
      for (const scope of list(of[`scope${capital(signal === 'traces' ? 'spans' : signal)}`])) {
        for (const span of list(scope['spans'])) this.spans.push(spanOf(span));
        for (const log of list(scope['logRecords'])) this.logs.push(logOf(log));
        for (const metric of list(scope['metrics'])) this.metrics.push(metricOf(metric));
      }
    }
  }
}

type Message = Readonly<Record<string, unknown>>;

function list(value: unknown): readonly Message[] {
  return Array.isArray(value) ? (value as readonly Message[]) : [];
}

function object(value: unknown): Message {
  return (value ?? {}) as Message;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

function spanOf(span: Message): SeenSpan {
  return {
    name: textOf(span['name']),
    traceId: textOf(span['traceId']),
    spanId: textOf(span['spanId']),
    parentSpanId: textOf(span['parentSpanId']),
    kind: Number(span['kind']),
    status: Number(object(span['status'])['code'] ?? 0),
    attributes: attributesOf(span['attributes']),
  };
}

function logOf(log: Message): SeenLog {
  return {
    body: valueOf(object(log['body'])),
    severity: textOf(log['severityText']),
    traceId: textOf(log['traceId']),
    attributes: attributesOf(log['attributes']),
  };
}

function metricOf(metric: Message): SeenMetric {
  const kind = (['gauge', 'sum', 'histogram'] as const).find((name) => metric[name] !== undefined) ?? 'gauge';
  const points = list(object(metric[kind])['dataPoints']).map((point) => ({
    attributes: attributesOf(point['attributes']),
    value: Number(point['asDouble'] ?? point['asInt'] ?? point['count'] ?? 0),
  }));
  return { name: textOf(metric['name']), unit: textOf(metric['unit']), kind, points };
}

function attributesOf(pairs: unknown): Readonly<Record<string, unknown>> {
  return Object.fromEntries(list(pairs).map(({ key, value }) => [String(key), valueOf(object(value))]));
}

function valueOf(value: Message): unknown {
  const { stringValue, boolValue, intValue, doubleValue, arrayValue } = value;
  if (arrayValue !== undefined) return list(object(arrayValue)['values']).map(valueOf);
  if (intValue !== undefined) return Number(intValue);
  return stringValue ?? boolValue ?? doubleValue;
}

type Field = readonly [
  name: string,
  kind: 'text' | 'hex' | 'int' | 'double' | 'bool' | Fields,
  repeated?: true,
];
type Fields = { readonly [number: number]: Field };

const anyValue: { [number: number]: Field } = {
  1: ['stringValue', 'text'],
  2: ['boolValue', 'bool'],
  3: ['intValue', 'int'],
  4: ['doubleValue', 'double'],
};
anyValue[5] = ['arrayValue', { 1: ['values', anyValue, true] }];
const attribute: Field = ['attributes', { 1: ['key', 'text'], 2: ['value', anyValue] }, true];
const attributesAt = (number: number): Fields => ({ [number]: attribute });
const numberPoints: Field = [
  'dataPoints',
  { ...attributesAt(7), 4: ['asDouble', 'double'], 6: ['asInt', 'int'] },
  true,
];

/** The fields of the requests that are read, by their numbers in opentelemetry-proto. */
function requestFields(signal: string): Fields {
  const items: Readonly<Record<string, Field>> = {
    traces: [
      'spans',
      {
        1: ['traceId', 'hex'],
        2: ['spanId', 'hex'],
        4: ['parentSpanId', 'hex'],
        5: ['name', 'text'],
        6: ['kind', 'int'],
        ...attributesAt(9),
        15: ['status', { 3: ['code', 'int'] }],
      },
      true,
    ],
    logs: [
      'logRecords',
      { 3: ['severityText', 'text'], 5: ['body', anyValue], ...attributesAt(6), 9: ['traceId', 'hex'] },
      true,
    ],
    metrics: [
      'metrics',
      {
        1: ['name', 'text'],
        3: ['unit', 'text'],
        5: ['gauge', { 1: numberPoints }],
        7: ['sum', { 1: numberPoints }],
        9: ['histogram', { 1: ['dataPoints', { ...attributesAt(9), 4: ['count', 'int'] }, true] }],
      },
      true,
    ],
  };
  const name = capital(signal === 'traces' ? 'spans' : signal);
  const resource: Field = ['resource', attributesAt(1)];
  const scopes: Field = [`scope${name}`, { 2: items[signal] ?? ['none', 'text'] }, true];
  return { 1: [`resource${name}`, { 1: resource, 2: scopes }, true] };
}

function messageOf(bytes: Uint8Array, fields: Fields): Message {
  const reader = new BinaryReader(bytes);
  const message: Record<string, unknown> = {};
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const field = fields[number];
    if (field === undefined) {
      reader.skip(type);
      continue;
    }
    const [name, kind, repeated] = field;
    const value = valueIn(reader, type, kind);
    if (repeated === true) ((message[name] ??= []) as unknown[]).push(value);
    else message[name] = value;
  }
  return message;
}

function valueIn(reader: BinaryReader, type: WireType, kind: Field[1]): unknown {
  if (typeof kind === 'object') return messageOf(reader.bytes(), kind);
  if (kind === 'text') return reader.string();
  if (kind === 'hex') return Buffer.from(reader.bytes()).toString('hex');
  if (kind === 'bool') return reader.bool();
  if (kind === 'double') return reader.double();
  return Number(type === WireType.Bit64 ? reader.fixed64() : reader.int64());
}
