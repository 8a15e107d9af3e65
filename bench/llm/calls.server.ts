// What the platform does to a call between its doors: parse, check, translate, call, translate back. Without
// authentication, admission and ledger, which are measured where they live.
import { randomUUID } from 'node:crypto';
import * as uWS from 'uWebSockets.js';
import { systemTime } from '../../cluster/index.js';
import {
  adaptersByVendor,
  AnswerBuilder,
  builtInModels,
  Catalogue,
  ChatFrames,
  CircuitBreakers,
  fromChatRequest,
  Leaving,
  Observations,
  resolveAtDoor,
  runCall,
  toChatReply,
  VendorKeys,
  VendorPools,
  zeroUsage,
  type CallPorts,
} from '../../src/llm/index.js';
import { serveBench } from '../support/servers.js';

const vendor = process.env['BENCH_VENDOR'];
if (vendor === undefined) throw new Error('BENCH_VENDOR names the address of the vendor');
const catalogue = new Catalogue(builtInModels());
const keys = new VendorKeys({ openai: { apiKey: 'sk-bench-0000000000000000', baseUrl: `${vendor}/v1` } }, []);
const adapters = adaptersByVendor([]);
const ports: CallPorts = {
  time: systemTime,
  chance: Math.random,
  newId: randomUUID,
  pools: new VendorPools(),
  breakers: new CircuitBreakers(),
  observations: new Observations(),
  adapterOf: (name) => adapters.get(name),
};

async function serve(response: uWS.HttpResponse, body: string, signal: Leaving): Promise<void> {
  const { model: name, request, wantsUsage } = fromChatRequest(JSON.parse(body) as unknown);
  const found = resolveAtDoor(catalogue, name, 'openai');
  const credential = keys.platform('openai');
  if (!('model' in found) || credential === undefined) throw new Error('no such model');
  const { model } = found;
  const head = { id: randomUUID(), createdSeconds: Math.floor(systemTime.wallMs() / 1000), model: model.id };
  const frames = request.stream ? new ChatFrames(head, wantsUsage) : undefined;
  const builder = new AnswerBuilder();
  const plan = { targets: [{ model, credential }], mayEnlarge: false };
  const run = runCall({ plan, request, signal }, ports);
  let begun = false;
  for (;;) {
    const step = await run.next();
    if (signal.aborted) return;
    if (step.done === true) {
      response.cork(() => {
        if (step.value.error !== undefined) response.writeStatus('502 Bad Gateway').end();
        else if (frames !== undefined) response.end(frames.end());
        else {
          const answer = builder.build({
            vendor: model.vendor,
            model: model.id,
            credentialId: credential.id,
          });
          const reply = toChatReply(answer, answer.usage ?? zeroUsage, head);
          response.writeHeader('content-type', 'application/json').end(JSON.stringify(reply));
        }
      });
      return;
    }
    if (frames === undefined) for (const event of step.value) builder.add(event);
    else {
      const text = frames.write(step.value);
      response.cork(() => {
        if (!begun) response.writeHeader('content-type', 'text/event-stream');
        begun = true;
        response.write(text);
      });
    }
  }
}

uWS
  .App()
  .post('/v1/chat/completions', (response) => {
    const left = new Leaving();
    const chunks: Buffer[] = [];
    response.onAborted(() => left.leave());
    response.onData((bytes, last) => {
      chunks.push(Buffer.from(Buffer.from(bytes)));
      if (!last) return;
      serve(response, Buffer.concat(chunks).toString('utf8'), left).catch((error: unknown) => {
        console.error(error);
        if (!left.aborted) response.writeStatus('500 Internal Server Error').end();
      });
    });
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (socket === false) throw new Error('no port');
    serveBench({ port: uWS.us_socket_local_port(socket) }, () => ports.pools.close());
  });
