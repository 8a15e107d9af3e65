import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Settings } from '../../kernel/config/index.js';
import { CommandError } from './command.js';

const remedies: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there. Stop it',
  EACCES: 'this account may not listen there: ports below 1024 need an extra permission. Grant it',
  EADDRNOTAVAIL: 'this machine does not have this address. Correct the address',
  ENOTFOUND: 'the host name is unknown. Correct the name',
};

/** Tries every port that the node will listen on, so that a taken port is reported before anything starts. */
export async function requirePorts(settings: Settings): Promise<void> {
  await requirePort('TROUPE_HTTP_HOST', settings.httpHost, 'TROUPE_HTTP_PORT', settings.httpPort);
  await requirePort('TROUPE_GRPC_HOST', settings.grpcHost, 'TROUPE_GRPC_PORT', settings.grpcPort);
  if (settings.smtpInPort !== undefined) {
    await requirePort('TROUPE_HTTP_HOST', settings.httpHost, 'TROUPE_SMTP_IN_PORT', settings.smtpInPort);
  }
}

async function requirePort(
  hostVariable: string,
  host: string,
  portVariable: string,
  port: number,
): Promise<void> {
  if (port === 0) return;
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
  } catch (cause) {
    const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined;
    const reason = typeof code === 'string' ? (remedies[code] ?? code) : String(cause);
    throw new CommandError(
      `cannot listen on ${host}:${port}: ${reason}, or set ${portVariable} or ${hostVariable} to another value. (${String(code)})`,
      { cause },
    );
  }
}
