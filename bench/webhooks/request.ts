import { createHmac, timingSafeEqual } from 'node:crypto';

/** Each has a session, and so a buffer, of its own: so many that none is full while it is measured, and no turn runs. */
const senders = 6_400;

/** 450 bytes, as chat channels send them. */
function bodyOf(sender: number): string {
  return JSON.stringify({ user: `user-${sender}`, message: 'Where is my order?', filling: 'x'.repeat(380) });
}

/** The requests of one connection of so many, which share the senders out. */
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

/** One message of one sender, signed. */
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

/** The check that every server of this bench makes. */
export function isGenuine(body: Buffer, header: string, secret: string): boolean {
  const expected = createHmac('sha256', secret).update(body).digest();
  const given = Buffer.from(header.slice('sha256='.length), 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
