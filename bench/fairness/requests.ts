// The requests of one tenant of `two-tenants.server.ts`, by kind of work.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BenchServer } from '../support/servers.js';
import { requestOf } from '../webhooks/request.js';

export type Who = 'calm' | 'hot';
export type Work = 'calls' | 'turns' | 'webhooks' | 'realtime' | 'reports';

export const statusOf: Readonly<Record<Work, number>> = {
  calls: 200,
  turns: 200,
  webhooks: 202,
  realtime: 200,
  reports: 200,
};

let consumers = 0;

/** `sessions`: over how many the webhooks go. */
export function requestsTo(
  { facts }: BenchServer,
  who: Who,
  work: Work,
  sessions = 6_400,
): (index: number) => string {
  const of = (name: string): string => facts[`${who}${name}`] ?? '';
  switch (work) {
    case 'calls':
      return () =>
        posted('/api/v3/llm/public/call', of('Key'), { model: 'sim.echo', query: 'Say hello to the world.' });
    case 'turns':
      return () =>
        posted(`/api/v2/agents/${of('Agent')}/stream`, of('Key'), { message: 'Say hello to the world.' });
    case 'webhooks':
      return (index) => requestOf(of('Path'), of('Secret'), index % sessions);
    // Each leaves an event for those who follow the tenant.
    case 'realtime':
      return () => posted(`/api/v1/consumers/${who}-${(consumers += 1)}/deny`, of('Key'), {});
    // People read reports, signed in.
    case 'reports':
      return () =>
        `GET /api/telemetry/dashboard HTTP/1.1\r\nHost: 127.0.0.1\r\n` +
        `Authorization: Bearer ${of('Token')}\r\nX-Tenant-Id: ${of('Tenant')}\r\n\r\n`;
  }
}

function posted(path: string, key: string, fields: object): string {
  const body = JSON.stringify(fields);
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `X-Api-Key: ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/** Takes the answers of triggers; the servers find it by BENCH_RECEIVER. */
export async function openReceiver(): Promise<Server> {
  const receiver = createServer((request, response) => {
    request.resume();
    response.writeHead(200).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  process.env['BENCH_RECEIVER'] = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  return receiver;
}
