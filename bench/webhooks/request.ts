import { createHmac, timingSafeEqual } from 'node:crypto';

/** Each sender has its own session and buffer: enough that no buffer fills during the measurement and no turn runs. */
const senders = 6_400;

/** 450 bytes, a typical size for chat channels. */
function bodyOf(sender: number): string {
  return JSON.stringify({ user: `user-${sender}`, message: 'Where is my order?', filling: 'x'.repeat(380) });
}

/** The requests of one connection; the senders are divided among the connections. */
export function requestsOf(
  path: string,
  secret: string,
  connection: number,
  connections: number,
): readonly string[] {
  return Array.from({ length: senders / connections }, (_, round) =>
    requestOf(path, secret, round * connections + connection),
  );
}

/** One signed message of one sender. */
export function requestOf(path: string, secret: string, sender: number): string {
  const body = bodyOf(sender);
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  return [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Content-Type: application/json',
    `X-Webhook-Signature: sha256=${signature}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

/** The signature check of every server in this benchmark. */
export function isGenuine(body: Buffer, header: string, secret: string): boolean {
  const expected = createHmac('sha256', secret).update(body).digest();
  const given = Buffer.from(header.slice('sha256='.length), 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
