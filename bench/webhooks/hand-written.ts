import * as uWS from 'uWebSockets.js';
import { serveBench } from '../support/servers.js';
import { isGenuine } from './request.js';

const secret = 'secret of the bench';
const path = '/webhook';

/** A minimal intake: check, parse, store, answer 202. */
export function serveIntake(
  store: (body: string) => Promise<void> | undefined,
  stop: () => Promise<void>,
): void {
  uWS
    .App()
    .post(path, (response, request) => {
      const signature = request.getHeader('x-webhook-signature');
      let gone = false;
      const chunks: Buffer[] = [];
      response.onAborted(() => {
        gone = true;
      });
      response.onData((chunk, isLast) => {
        chunks.push(Buffer.from(chunk.slice(0)));
        if (!isLast) return;
        const body = Buffer.concat(chunks);
        if (!isGenuine(body, signature, secret)) {
          response.writeStatus('401 Unauthorized').end();
          return;
        }
        const text = body.toString('utf8');
        JSON.parse(text);
        const accept = (): void => {
          if (gone) return;
          response.cork(() => {
            response
              .writeStatus('202 Accepted')
              .writeHeader('Content-Type', 'application/json; charset=utf-8')
              .end('{"success":true,"status":"buffered"}');
          });
        };
        const stored = store(text);
        if (stored === undefined) accept();
        else void stored.then(accept);
      });
    })
    .listen('127.0.0.1', 0, (socket) => {
      if (socket === false) throw new Error('cannot listen on 127.0.0.1');
      serveBench({ port: uWS.us_socket_local_port(socket), facts: { path, secret } }, stop);
    });
}
