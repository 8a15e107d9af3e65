// Runs in a thread of its own, which may be ended at any moment.
import { parentPort } from 'node:worker_threads';
import { type JSONValue, search } from '@jmespath-community/jmespath';
import type { Job, Outcome } from './expression-worker.js';

const port = parentPort;
if (port === null) throw new Error('This file is run as a worker');

port.on('message', (job: Job) => port.postMessage(outcomeOf(job)));
port.postMessage('ready');

function outcomeOf({ expression, document, resultCharsMax }: Job): Outcome {
  try {
    const result: unknown = search(JSON.parse(document) as JSONValue, expression);
    const json = JSON.stringify(result ?? null);
    return json.length > resultCharsMax ? { failure: 'too-large' } : { json };
  } catch (error) {
    if (error instanceof RangeError) return { failure: 'too-large' };
    return { failure: 'invalid', reason: error instanceof Error ? error.message.slice(0, 200) : '' };
  }
}
