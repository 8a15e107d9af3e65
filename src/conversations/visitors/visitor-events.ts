/**
 * What a visitor may read of a turn. The rest stays inside: what the model thinks, the tools with their arguments, the
 * cost, and messages of errors, which may name parts of the tenant's configuration.
 */
import { z } from 'zod';
import { named, type StreamWriter } from '../../http/operations/index.js';

const ids = { session_id: z.uuid(), execution_id: z.uuid() };

/** One event of a visitor's stream. */
export const visitorEventShape = named(
  'VisitorEvent',
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('metadata'), ...ids }),
    z.object({ type: z.literal('status'), state: z.enum(['queued', 'running', 'restarted']) }),
    z.object({ type: z.literal('approval') }).describe("The turn waits for a person's decision."),
    z.object({ type: z.literal('delta'), content: z.string() }),
    z.object({ type: z.literal('response'), content: z.string(), blocks: z.array(z.unknown()).optional() }),
    z.object({ type: z.literal('error'), code: z.string() }),
    z.object({ type: z.literal('done'), outcome: z.string(), ...ids }),
  ]),
);

/** The fields that a visitor gets, by the type of the event; other types are left out. */
const shownFields: Readonly<Record<string, readonly string[]>> = {
  metadata: ['type', 'session_id', 'execution_id'],
  status: ['type', 'state'],
  approval: ['type'],
  delta: ['type', 'content'],
  response: ['type', 'content', 'blocks'],
  error: ['type', 'code', 'timed_out'],
  done: ['type', 'outcome', 'session_id', 'execution_id', 'timed_out'],
};

/** Passes on what a visitor may read. Each chunk of a turn's stream has whole events and comments. */
export function visitorWriter(writer: StreamWriter): StreamWriter {
  return {
    write(chunk) {
      const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
      const frames = text.split('\n\n').map(shownFrame).join('');
      return frames === '' || writer.write(frames);
    },
    drained: () => writer.drained(),
    cut: () => writer.cut?.(),
    get gone() {
      return writer.gone;
    },
  };
}

/** `s`: without it, no text with U+2028 or U+2029 would match, which JSON leaves as they are. */
const eventForm = /^id: (\d+)\nevent: (\w+)\ndata: (.*)$/s;

function shownFrame(frame: string): string {
  if (frame.startsWith(':')) return `${frame}\n\n`;
  const [, id, type = '', data = ''] = eventForm.exec(frame) ?? [];
  const shown = shownFields[type];
  if (shown === undefined) return '';
  const event = JSON.parse(data) as Record<string, unknown>;
  const fields = shown.filter((name) => event[name] !== undefined).map((name) => [name, event[name]]);
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(Object.fromEntries(fields))}\n\n`;
}
