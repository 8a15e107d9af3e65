import { hash } from 'node:crypto';
import * as uWS from 'uWebSockets.js';
import { serveBench } from '../support/servers.js';
import { benchKey, quotaReply, tokenBucket } from './work.js';

// A minimal authenticated call: hash the key, find it, take a token, answer JSON.
const keys = new Map([[hash('sha256', benchKey, 'base64'), tokenBucket()]]);

uWS
  .App()
  .get('/api/quota', (response, request) => {
    const bucket = keys.get(hash('sha256', request.getHeader('x-api-key'), 'base64'));
    if (bucket === undefined || !bucket.take()) {
      response.writeStatus('401 Unauthorized').end();
      return;
    }
    response.cork(() => {
      response
        .writeHeader('Content-Type', 'application/json; charset=utf-8')
        .writeHeader('X-RateLimit-Remaining', String(bucket.left()))
        .end(JSON.stringify(quotaReply()));
    });
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (socket === false) throw new Error('cannot listen on 127.0.0.1');
    serveBench({ port: uWS.us_socket_local_port(socket), facts: { key: benchKey } }, async () => undefined);
  });
