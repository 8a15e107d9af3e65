// A minimal gateway: passes the request and the answer on unchanged.
import { Pool } from 'undici';
import * as uWS from 'uWebSockets.js';
import { serveBench } from '../support/servers.js';

const vendor = process.env['BENCH_VENDOR'];
if (vendor === undefined) throw new Error('BENCH_VENDOR must be the address of the vendor');
const pool = new Pool(vendor, { connections: 1024, pipelining: 1 });

uWS
  .App()
  .post('/v1/chat/completions', (response) => {
    const chunks: Buffer[] = [];
    let aborted = false;
    response.onAborted(() => {
      aborted = true;
    });
    response.onData((bytes, last) => {
      chunks.push(Buffer.from(Buffer.from(bytes)));
      if (last) forward(Buffer.concat(chunks));
    });

    function forward(body: Buffer): void {
      let contentType = 'application/json';
      const answer: Buffer[] = [];
      pool.dispatch(
        {
          path: '/v1/chat/completions',
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: 'Bearer key' },
          body,
        },
        {
          onRequestStart: () => undefined,
          onResponseStart: (_controller, _status, headers) => {
            contentType = String(headers['content-type']);
          },
          onResponseData: (_controller, chunk) => {
            answer.push(chunk);
          },
          onResponseEnd: () => {
            if (aborted) return;
            response.cork(() => {
              response.writeHeader('content-type', contentType).end(Buffer.concat(answer));
            });
          },
          onResponseError: () => {
            if (!aborted) response.writeStatus('502 Bad Gateway').end();
          },
        },
      );
    }
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (socket === false) throw new Error('cannot listen on 127.0.0.1');
    serveBench({ port: uWS.us_socket_local_port(socket) }, () => pool.destroy());
  });
