import { hash, randomUUID } from 'node:crypto';
import { fastify } from 'fastify';
import { pino } from 'pino';
import { Histogram, Registry } from 'prom-client';
import { serveBench } from '../support/servers.js';
import { benchKey, quotaReply, tokenBucket } from './work.js';

// The work of the platform's edge done with fastify. Per request: a log line, a metric, a request id, rate headers, a
// key hashed and looked up, and a token taken.
const keys = new Map([[hash('sha256', benchKey, 'base64'), tokenBucket()]]);
const durations = new Histogram({
  name: 'request_duration_seconds',
  help: 'Time to answer',
  labelNames: ['operation', 'status'],
  registers: [new Registry()],
});
const app = fastify({
  genReqId: () => randomUUID(),
  loggerInstance: pino(pino.destination({ dest: '/dev/null', sync: false, minLength: 16_000 })),
  disableRequestLogging: true,
});

app.addHook('onResponse', async (request, reply) => {
  durations.observe({ operation: 'quota', status: reply.statusCode }, reply.elapsedTime / 1000);
  request.log.info({ status: reply.statusCode, ms: reply.elapsedTime }, 'request');
});

app.get('/api/quota', (request, reply) => {
  const given = request.headers['x-api-key'];
  const bucket = keys.get(hash('sha256', typeof given === 'string' ? given : '', 'base64'));
  if (bucket === undefined || !bucket.take()) return reply.code(401).send();
  return reply
    .header('X-Request-Id', request.id)
    .header('X-RateLimit-Limit', '1000000000')
    .header('X-RateLimit-Remaining', String(bucket.left()))
    .header('X-RateLimit-Reset', String(Math.ceil(Date.now() / 1000)))
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(quotaReply()));
});

await app.listen({ host: '127.0.0.1', port: 0 });
const address = app.server.address();
if (typeof address !== 'object' || address === null) throw new Error('cannot listen on 127.0.0.1');
serveBench({ port: address.port, facts: { key: benchKey } }, async () => app.close());
